// TLS of the listener on uWebSockets.js, which uses its own library (BoringSSL): TLS 1.2 or newer;
// it cannot request clients' certificates or use another minimum version
// (ts/listeners/http/kind.ts). Control plane; the listener's thread.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as uws from 'uWebSockets.js';
import { OWN_FILE_MODE } from '../../base/own-file.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import type { Expires, ListenerTls } from './settings.js';
import { PemFiles, expiryOf, type Pems } from './pem-files.js';
import { TLS12_CIPHERS } from './settings.js';

export class UwsTls {
  /** Called after files were reloaded, with the problem if it failed. */
  readonly changed: (problem: string | undefined) => void;
  readonly #files: PemFiles;
  readonly #expires: Expires;
  #cert = '';

  /** `files`: called when files have changed. */
  constructor({ settings, changed, expires }: ListenerTls, files: () => void) {
    this.changed = changed;
    this.#expires = expires ?? (() => undefined);
    this.#files = new PemFiles({ settings, what: 'HTTP', changed: files });
  }

  /**
   * An app with the current contents of the files. Errors: InvalidArgument naming the file and the
   * reason.
   */
  app(make: typeof uws.SSLApp): uws.TemplatedApp {
    const pems = this.#files.read();
    this.#cert = pems.cert;
    try {
      return withFiles(pems, (cert_file_name, key_file_name) =>
        make({ cert_file_name, key_file_name, ssl_ciphers: TLS12_CIPHERS }),
      );
    } catch (error) {
      const why = `HTTP cannot use TLS: ${reasonOf(error)}`;
      throw new ServalError(ErrorCode.InvalidArgument, why);
    }
  }

  /** Marks the app that was created last as the serving one. */
  serves(): void {
    this.#expires(expiryOf(this.#cert));
  }

  close(): void {
    this.#files.close();
  }
}

// uWebSockets.js reads files only, and must get exactly what was checked: private copies that exist
// while it reads them.
function withFiles<T>({ cert, key }: Pems, use: (cert: string, key: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pem-')); // mode 0700
  try {
    const [certificate, secret] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certificate, cert, { mode: OWN_FILE_MODE });
    writeFileSync(secret, key, { mode: OWN_FILE_MODE });
    return use(certificate, secret);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
