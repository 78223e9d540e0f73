// The file of a unix socket: made where nothing is, for its owner alone whatever the umask, and
// removed only where it is still the same. Control plane; a listener's thread, at start and end.
import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';

/** Owner only. */
export const SOCKET_MODE_DEFAULT = 0o700;
/** Of sockaddr_un, less its zero byte. */
const PATH_BYTES_MAX = 107;
/** Of file systems that have no hard links. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);

/** Whether somebody accepts on a unix socket. Rejects where that is not known. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EAGAIN')
        resolve(true); // its queue is full
      else if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });
}

/** Removes a unix socket that a dead server left. Rejects with why that cannot be. */
export async function makeRoom(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > PATH_BYTES_MAX) {
    throw new Error(`the path has ${bytes} bytes, the system takes at most ${PATH_BYTES_MAX}`);
  }
  const about = lstatSync(path, { throwIfNoEntry: false });
  if (about === undefined) return;
  if (!about.isSocket()) {
    throw new Error('a file that is no socket is there; remove it or choose another');
  }
  if (await answers(path)) throw new Error('another server answers on it; choose another');
  unlinkSync(path);
}

export class UnixSocketFile {
  readonly path: string;
  readonly #mode: number;
  /** Where the socket is bound before it is published; undefined: nowhere. */
  #folder: string | undefined;
  /** Of that folder, where its path is too long. */
  #descriptor: number | undefined;
  /** Device and inode of the published file. */
  #own: string | undefined;

  constructor(path: string, mode = SOCKET_MODE_DEFAULT) {
    this.path = path;
    this.#mode = mode;
  }

  /** A path to bind the socket to, in a folder that only this user may enter: nobody connects
   * before publish() has set the mode. Throws what the system says. */
  prepare(): string {
    const folder = mkdtempSync(join(dirname(this.path), '.s'));
    this.#folder = folder;
    const path = join(folder, 's');
    if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path;
    // Linux: the folder by its descriptor, which is a short path.
    this.#descriptor = openSync(folder, 'r');
    return `/proc/self/fd/${this.#descriptor}/s`;
  }

  /** Puts the bound socket at its path. Throws where something is there that is not its own. */
  publish(): void {
    const folder = this.#folder ?? '';
    const bound = join(folder, 's');
    try {
      chmodSync(bound, this.#mode);
      this.remove();
      try {
        linkSync(bound, this.path);
      } catch (error) {
        this.#place(bound, error as NodeJS.ErrnoException);
      }
      this.#own = identity(this.path);
    } finally {
      this.abandon();
    }
  }

  /** Removes what prepare() made. */
  abandon(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = this.#descriptor = undefined;
  }

  /** Removes the published file, unless another has taken its place. */
  remove(): void {
    if (this.#own === undefined) return;
    if (identity(this.path) === this.#own) rmSync(this.path, { force: true });
    this.#own = undefined;
  }

  #place(bound: string, error: NodeJS.ErrnoException): void {
    const isFree = lstatSync(this.path, { throwIfNoEntry: false }) === undefined;
    if (!isFree) throw new Error(`${basename(this.path)} has just been taken by another`);
    if (!NO_LINKS.has(error.code ?? '')) throw error;
    renameSync(bound, this.path);
  }
}

function identity(path: string): string | undefined {
  const about = lstatSync(path, { throwIfNoEntry: false });
  return about === undefined ? undefined : `${about.dev} ${about.ino}`;
}
