// The place of a unix socket: whether a listener may have it, before anything listens. Control
// plane; the main thread, at start.
import { lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';

/** Of sockaddr_un, less its zero byte. */
const PATH_BYTES_MAX = 107;
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
    throw new Error('a file that is not a socket exists there; remove it or choose another');
  }
  if (await answers(path)) throw new Error('another server answers on it; choose another');
  unlinkSync(path);
}
