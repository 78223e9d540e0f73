// A reference that is not a server: a process on the server's core that loads a model, prints a
// line when it is ready, and for each number of seconds on stdin prints a sample as a line of JSON.
// Control plane.
import { createInterface } from 'node:readline';
import { start, stop } from '../children.mjs';

const LINE_TIMEOUT_MS = 120_000;

/**
 * Reads lines of a child's stdout, one promise each. Rejects when it ends or is silent too long.
 */
function lineReader({ child, tail }, what) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${what}: silent: ${tail()}`)), LINE_TIMEOUT_MS);
    });
    const { value, done } = await Promise.race([lines.next(), late]);
    clearTimeout(timer);
    if (done) throw new Error(`${what}: ended: ${tail()}`);
    return JSON.parse(value);
  };
}

/**
 * Starts `command` and waits until it is ready. `read(ready)` returns the side's other members,
 * such as the response that the process wrote; `ready` is its first line. `what` names the process
 * in errors. Resolves to a side.
 */
export async function startCalled(context, what, command, args, read) {
  const started = start(command, args, context.cores.server);
  const nextLine = lineReader(started, what);
  try {
    const ready = await nextLine();
    const measure = (seconds) => {
      started.child.stdin.write(`${seconds}\n`);
      return nextLine();
    };
    return { ...read(ready), measure, close: () => stop(started.child) };
  } catch (error) {
    await stop(started.child);
    throw error;
  }
}
