// TLS of the listener on uWebSockets.js, which has a library of its own (BoringSSL): TLS 1.2 or
// newer; it neither asks for clients' certificates nor can be told another minimum (http-kind.ts).
// Control plane; the listener's thread.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as uws from 'uWebSockets.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import type { Expires, ListenerTls } from './settings.js';
import { PemFiles, expiryOf, type Pems } from './pem-files.js';
import { TLS12_CIPHERS } from './settings.js';

export class UwsTls {
  /** Told what became of files that were read anew. */
  readonly changed: (problem: string | undefined) => void;
  readonly #files: PemFiles;
  readonly #expires: Expires;
  #cert = '';

  /** `files`: told when files have changed. */
  constructor({ settings, changed, expires }: ListenerTls, files: () => void) {
    this.changed = changed;
    this.#expires = expires ?? (() => undefined);
    this.#files = new PemFiles({ settings, what: 'HTTP', changed: files });
  }

  /** An app with what the files hold now. Errors: InvalidArgument naming the file and why. */
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

  /** The app that was made last is the one that serves. */
  serves(): void {
    this.#expires(expiryOf(this.#cert));
  }

  close(): void {
    this.#files.close();
  }
}

// It reads files only, and what was checked is what it must get: copies that nobody else may read,
// for as long as it reads them.
function withFiles<T>({ cert, key }: Pems, use: (cert: string, key: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pem-')); // mode 0700
  try {
    const [certificate, secret] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certificate, cert, { mode: 0o600 });
    writeFileSync(secret, key, { mode: 0o600 });
    return use(certificate, secret);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
