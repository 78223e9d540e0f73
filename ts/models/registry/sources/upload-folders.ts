// Where files of load calls are kept: a folder for each, below one of the process's own that is
// removed with the last of them. A server that was killed leaves its folder behind; the next one
// removes it where nobody can be using it. Control plane, main thread.
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'serval-uploads-';
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** A socket that the process listens on while it lives, whichever container it lives in. */
const ALIVE = 'alive.sock';
/** The same before it listens. */
const STARTING = 'starting.sock';

/** Tells this run of this kernel from others: of their processes nothing is known here. '' where
 * there is no telling. */
async function bootId(): Promise<string> {
  const id = await readFile(BOOT_ID, 'latin1').catch(() => '');
  return id.replaceAll(/[^0-9a-f]/g, '').slice(0, 16);
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/** Settles when the process listens at `path`, or cannot: then it is told from nobody's. */
function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(path, () => resolve(true));
  });
}

/** Whether nobody listens there, and nobody ever will: the socket is there and its process gone. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'));
  });
}

export class UploadFolders {
  readonly #root: string;
  /** Given out and not removed. */
  readonly #folders = new Set<string>();
  /** undefined: there is none. */
  #own: Promise<{ readonly path: string; readonly alive: Server }> | undefined;
  /** Those folders, and those that are being made: the process's own is there for them. */
  #users = 0;
  #made = 0;

  constructor(root = tmpdir()) {
    this.#root = root;
  }

  /** A new folder, empty. Rejects with what the system says. */
  async make(): Promise<string> {
    this.#own ??= this.#makeOwn();
    this.#made += 1;
    const number = String(this.#made);
    this.#users += 1;
    try {
      const folder = join((await this.#own).path, number);
      await mkdir(folder);
      this.#folders.add(folder);
      return folder;
    } catch (error) {
      await this.#left();
      throw error;
    }
  }

  // Where it cannot listen nobody removes the folder but the process itself.
  async #makeOwn() {
    const path = await mkdtemp(join(this.#root, `${PREFIX}${await bootId()}-`)); // mode 0700
    const alive = createServer((socket) => socket.destroy());
    alive.unref();
    const starting = join(path, STARTING);
    if (await listen(alive, starting)) await rename(starting, join(path, ALIVE));
    return { path, alive };
  }

  /** Of one that make() gave; others are left alone. */
  async remove(folder: string): Promise<void> {
    if (!this.#folders.delete(folder)) return;
    try {
      await rm(folder, { recursive: true, force: true });
    } finally {
      await this.#left();
    }
  }

  // The last one takes the process's folder with it.
  async #left(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0 || this.#own === undefined) return;
    const own = this.#own.catch(() => undefined);
    this.#own = undefined;
    const made = await own;
    made?.alive.close();
    if (made !== undefined) await rm(made.path, { recursive: true, force: true });
  }

  async removeAll(): Promise<void> {
    await Promise.all([...this.#folders].map((folder) => this.remove(folder)));
  }

  /** Removes what servers left that were killed: folders of this user's, made since this machine
   * started, whose process is gone. Answers how many; never rejects. */
  async removeAbandoned(): Promise<number> {
    const id = await bootId();
    const names = await readdir(this.#root).catch(() => []);
    const ours = id === '' ? [] : names.filter((name) => name.startsWith(`${PREFIX}${id}-`));
    let removed = 0;
    for (const name of ours) {
      const path = join(this.#root, name);
      try {
        const stats = await lstat(path);
        if (!stats.isDirectory() || stats.uid !== process.getuid?.()) continue;
        const socket = join(path, ALIVE);
        if (!(await lstat(socket)).isSocket() || !(await isDead(socket))) continue;
        await rm(path, { recursive: true, force: true });
        removed += 1;
      } catch {
        // Gone meanwhile, or not to be removed: nobody is harmed.
      }
    }
    return removed;
  }
}
