// Stores files of load calls: a folder for each, below one folder of the process that is removed
// with the last of them. A killed server leaves its folder; the next server removes it if no
// process can be using it. Control plane, main thread.
import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'serval-uploads-';
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
/** A socket that the process listens on during its lifetime, in whatever container it runs. */
const ALIVE = 'alive.sock';
/** Name of the socket before the process listens on it. */
const STARTING = 'starting.sock';

/**
 * Identifies this boot of this kernel: processes of other boots cannot be checked. '' if it is
 * unknown.
 */
async function bootId(): Promise<string> {
  const id = await readFile(BOOT_ID, 'latin1').catch(() => '');
  return id.replaceAll(/[^0-9a-f]/g, '').slice(0, 16);
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/**
 * Settles when the process listens at `path`, or cannot: its folder then cannot be identified as in
 * use.
 */
function listen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(path, () => resolve(true));
  });
}

/** Whether the owner is dead: the socket exists and no process listens on it. */
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
  /** Folders in use. */
  readonly #folders = new Set<string>();
  /** undefined: there is none. */
  #own: Promise<{ readonly path: string; readonly alive: Server }> | undefined;
  /** Number of folders in use or being made; the process's folder exists while it is not 0. */
  #users = 0;
  #made = 0;

  constructor(root = tmpdir()) {
    this.#root = root;
  }

  /** Creates a new, empty folder. Rejects with the system's error. */
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

  // If it cannot listen, only this process removes the folder.
  async #makeOwn() {
    const path = await mkdtemp(join(this.#root, `${PREFIX}${await bootId()}-`)); // mode 0700
    const alive = createServer((socket) => socket.destroy());
    alive.unref();
    const starting = join(path, STARTING);
    if (await listen(alive, starting)) await rename(starting, join(path, ALIVE));
    return { path, alive };
  }

  /** Removes a folder that make() returned; ignores others. */
  async remove(folder: string): Promise<void> {
    if (!this.#folders.delete(folder)) return;
    try {
      await rm(folder, { recursive: true, force: true });
    } finally {
      await this.#left();
    }
  }

  // Removes the process's folder with the last one.
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

  /**
   * Removes the folders of killed servers: folders of this user, made since this machine booted,
   * whose process has ended. Returns their number; never rejects.
   */
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
        // Already removed, or cannot be removed; both are harmless.
      }
    }
    return removed;
  }
}
