// Several test programs at once. Test time only.
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';

const OUTPUT_BYTES_MAX = 256 * 2 ** 20;

/**
 * `work(item)` of each item, one for each core at a time. Resolves to the results in the order of
 * the items.
 */
export async function mapAtOnce(items, work, jobs = availableParallelism()) {
  const results = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [at, item] of rest) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return results;
}

/** Runs a program to its end: {status, reason, stdout, stderr}; a reason where status is not 0. */
export function runProgram([command, ...args], options) {
  const settings = { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX, ...options };
  settings.killSignal = 'SIGKILL';
  return new Promise((resolve) => {
    execFile(command, args, settings, (error, stdout, stderr) => {
      if (error === null) return resolve({ status: 0, reason: '', stdout, stderr });
      const status = typeof error.code === 'number' ? error.code : null;
      const reason = status === null ? (error.signal ?? error.message) : `exit status ${status}`;
      return resolve({ status, reason, stdout, stderr });
    });
  });
}
