// A gRPC connection to one server: bytes out, bytes in. Control plane. In a separate file beside
// the command, since it loads grpc-js.
import { readFileSync } from 'node:fs';
import { Client, Metadata, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { configError } from '../../../config/values/values.js';
import { ErrorCode, ServalError, reasonOf } from '../../../base/errors.js';

const SSL_FILES = 'NODE_EXTRA_CA_CERTS=FILE adds certificate authorities';
/** Any size: the server enforces its own limit. */
const UNLIMITED = -1;

/** Error codes of gRPC statuses; the others are failures of the server. */
const CODES: Readonly<Partial<Record<status, ErrorCode>>> = {
  [status.NOT_FOUND]: ErrorCode.ModelNotFound,
  [status.UNAVAILABLE]: ErrorCode.ModelNotReady,
  [status.INVALID_ARGUMENT]: ErrorCode.InvalidArgument,
  [status.FAILED_PRECONDITION]: ErrorCode.InvalidArgument,
  [status.UNIMPLEMENTED]: ErrorCode.Unimplemented,
  [status.RESOURCE_EXHAUSTED]: ErrorCode.BodyTooLarge,
};

/**
 * null: Node's own and those of NODE_EXTRA_CA_CERTS. gRPC's own variable replaces the former and
 * keeps the latter. Errors: InvalidArgument: a file that cannot be read.
 */
function authorities(): Buffer | null {
  const { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: own, NODE_EXTRA_CA_CERTS: more } = process.env;
  if (own === undefined || own === '') return null;
  try {
    return Buffer.concat([own, more ?? ''].map((path) => (path ? readPem(path) : NOTHING)));
  } catch (error) {
    throw configError('grpcs://', reasonOf(error));
  }
}

const NOTHING = Buffer.alloc(0);
const readPem = (path: string): Buffer => Buffer.concat([readFileSync(path), Buffer.from('\n')]);

export class Channel {
  readonly #url: string;
  readonly #client: Client;
  readonly #metadata = new Metadata();

  /**
   * `url`: grpc:// or grpcs:// with host and port. Errors: InvalidArgument: a header that gRPC
   * cannot carry.
   */
  constructor(url: string, headers: Readonly<Record<string, string>>) {
    const { protocol, host } = new URL(url);
    this.#url = url;
    for (const [name, value] of Object.entries(headers)) this.#add(name, value);
    const isSecure = protocol === 'grpcs:';
    const trust = isSecure ? credentials.createSsl(authorities()) : credentials.createInsecure();
    this.#client = new Client(isSecure && !/:\d+$/.test(host) ? `${host}:443` : host, trust, {
      'grpc.max_receive_message_length': UNLIMITED,
      'grpc.max_send_message_length': UNLIMITED,
    });
  }

  #add(name: string, value: string): void {
    try {
      const isBinary = name.toLowerCase().endsWith('-bin');
      this.#metadata.add(name, isBinary ? Buffer.from(value, 'base64') : value);
    } catch (error) {
      throw configError('--header', reasonOf(error));
    }
  }

  /**
   * `path`: /package.Service/Method. Errors: the server's, by name; ModelNotReady: there is none.
   */
  call(path: string, message: Buffer): Promise<Buffer> {
    const same = (bytes: Buffer): Buffer => bytes;
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: Buffer): void => {
        if (error === null && answer !== undefined) resolve(answer);
        else reject(this.#failure(error));
      };
      this.#client.makeUnaryRequest(path, same, same, message, this.#metadata, {}, done);
    });
  }

  #failure(error: ServiceError | null): ServalError {
    const code = error?.code ?? status.INTERNAL;
    const isTrust = /certificate/i.test(error?.details ?? '');
    const hint = isTrust && this.#url.startsWith('grpcs:') ? ` (${SSL_FILES})` : '';
    const text = `${this.#url}: ${status[code]}: ${error?.details ?? 'no message'}${hint}`;
    return new ServalError(CODES[code] ?? ErrorCode.BackendFailed, text);
  }

  close(): void {
    this.#client.close();
  }
}
