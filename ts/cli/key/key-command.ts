// `serval key NAME GROUPS`: creates an API key, shown once, and its line for --api-key-file.
// Control plane.
import { makeKey } from '../../access/keys.js';
import { ErrorCode } from '../../base/errors.js';
import { asUsage, UsageError } from '../usage.js';

/**
 * Returns the exit code. The line goes to stdout, so that it can be appended to the file; the key
 * itself goes to stderr and is not stored. Errors: UsageError.
 */
export async function keyCommand(args: readonly string[]): Promise<number> {
  const [name, ...groups] = args;
  if (name === undefined || name.startsWith('-') || groups.length === 0) {
    throw new UsageError(
      ErrorCode.InvalidArgument,
      'expected `serval key NAME GROUP[,GROUP...]`; see docs/guides/security.md',
    );
  }
  const { key, line } = await asUsage(() => Promise.resolve(makeKey(name, groups.join(','))));
  process.stderr.write(`the key, which is not stored: ${key}\n`);
  process.stdout.write(`${line}\n`);
  return 0;
}
