// Reads and checks the server's PEM texts, and watches their files for changes. Control plane; the
// listener's thread.
import { readFileSync, statSync } from 'node:fs';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { lateCrypto, lateTls } from '../../base/late-modules.js';
import type { PemSource, ServerTls } from './settings.js';

const LOOK_MS = 1000;

export interface Pems {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** Expiry of the first certificate in a PEM text, in seconds since 1970. */
export function expiryOf(cert: string): number {
  return Math.floor(Date.parse(new (lateCrypto().X509Certificate)(cert).validTo) / 1000);
}

/** The current text of a source. Throws what reading its file throws. */
export function pemText({ path, text }: PemSource): string {
  return path === undefined ? (text ?? '') : readFileSync(path, 'utf8');
}

export interface PemFilesOptions {
  readonly settings: ServerTls;
  /** The transport that cannot use TLS if they are invalid: gRPC, HTTP. */
  readonly what: string;
  /** Called when a file has changed. */
  readonly changed: () => void;
  readonly lookMs?: number;
}

const placeOf = (what: string, { path }: PemSource): string =>
  path === undefined ? `${what} given as text` : `${what} file ${path}`;

/** Device, inode, size and time of the files, as one text; a missing file contributes nothing. */
function stateOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const about = statSync(path, { throwIfNoEntry: false });
      return about && `${about.dev} ${about.ino} ${about.size} ${about.mtimeMs}`;
    })
    .join('\n');
}

export class PemFiles {
  readonly #settings: ServerTls;
  readonly #what: string;
  readonly #paths: readonly string[];
  readonly #looks: NodeJS.Timeout;
  #seen = '';

  constructor({ settings, what, changed, lookMs = LOOK_MS }: PemFilesOptions) {
    const { certificate, key, roots } = settings;
    this.#settings = settings;
    this.#what = what;
    this.#paths = [certificate.path, key.path, roots?.path].filter((path) => path !== undefined);
    this.#looks = setInterval(() => {
      if (this.#state() !== this.#seen) changed();
    }, lookMs).unref();
  }

  /**
   * Reads the current contents; `changed` is called for later changes. Errors: InvalidArgument
   * naming the file and OpenSSL's reason.
   */
  read(): Pems {
    const { certificate, key, roots } = this.#settings;
    this.#seen = this.#state();
    const pems: Pems = {
      cert: this.#pemOf('certificate', certificate),
      key: this.#pemOf('key', key),
      ...(roots && { ca: this.#pemOf('root certificates', roots) }),
    };
    const { cert, key: pem, ca } = pems;
    const { createSecureContext } = lateTls();
    this.#check('certificate', certificate, () => createSecureContext({ cert }));
    this.#check('key', key, () => createSecureContext({ key: pem }));
    this.#check('key', key, () => createSecureContext({ cert, key: pem }));
    // node:tls ignores roots that it cannot parse.
    if (roots)
      this.#check('root certificates', roots, () => new (lateCrypto().X509Certificate)(ca ?? ''));
    return pems;
  }

  close(): void {
    clearInterval(this.#looks);
  }

  #pemOf(what: string, source: PemSource): string {
    try {
      return pemText(source);
    } catch (error) {
      throw this.#refused(`${placeOf(what, source)}: ${reasonOf(error)}`);
    }
  }

  #check(what: string, source: PemSource, use: () => unknown): void {
    try {
      use();
    } catch (error) {
      throw this.#refused(`${placeOf(what, source)}: ${reasonOf(error)}`);
    }
  }

  #refused(why: string): ServalError {
    return new ServalError(ErrorCode.InvalidArgument, `${this.#what} cannot use TLS: ${why}`);
  }

  #state(): string {
    try {
      return stateOf(this.#paths);
    } catch (error) {
      return reasonOf(error); // a folder on the path cannot be read: the reload reports it
    }
  }
}
