// Ends the process. Control plane; any thread that serves. Never uses Node's own exit while
// listener threads run: that tears them down under open sockets, and aborts.
import { isMainThread } from 'node:worker_threads';
import { createLogger, writeLineNow, type LoggerOptions } from '../base/logger.js';
import { loadBinding } from './binding.js';

/** Ends the process without waiting: a model may still run on native threads or in a worker, and
 * tearing those down under it could crash. Output is not lost: stdout and stderr write
 * synchronously on Linux. */
export function exitNow(code: number): never {
  try {
    return loadBinding().exitNow(code);
  } catch {
    process.exit(code);
  }
}

/** Ends the process with one line and exit code 1 on an uncaught error of this thread. */
export function exitOnUncaught(options: Pick<LoggerOptions, 'level' | 'format'>): void {
  const logger = createLogger({ ...options, write: writeLineNow });
  process.on('uncaughtException', (error: unknown) => {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error('an error that nobody caught: exiting', {
      thread: isMainThread ? 'main' : 'listener',
      reason,
    });
    exitNow(1);
  });
}
