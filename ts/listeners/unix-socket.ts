// Checks whether a listener may use the path of a unix socket, before anything listens. Control
// plane; the main thread, at start.
import { lstatSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';

/** The beginning of an address that is the path of a unix socket. */
export const UNIX_PREFIX = 'unix:';

/** Size of sockaddr_un's path, minus its terminating zero. */
const PATH_BYTES_MAX = 107;
/** Whether a process accepts connections on a unix socket. Rejects if that is unknown. */
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

/** Removes a unix socket left by a dead server. Rejects with the reason if it cannot. */
export async function makeRoom(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > PATH_BYTES_MAX) {
    throw new Error(`the path has ${bytes} bytes, the system takes at most ${PATH_BYTES_MAX}`);
  }
  const about = lstatSync(path, { throwIfNoEntry: false });
  if (about === undefined) return;
  if (!about.isSocket()) {
    throw new Error(
      'the path is an existing file that is not a socket; remove it or choose another',
    );
  }
  if (await answers(path)) throw new Error('another server answers on it; choose another');
  unlinkSync(path);
}
