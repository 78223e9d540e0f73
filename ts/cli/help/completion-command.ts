// `serval completion SHELL`. Control plane.
import { ErrorCode } from '../../base/errors.js';
import { echo, meant } from '../../base/text.js';
import { UsageError } from '../usage.js';
import { SHELLS } from './commands.js';
import { completionScript } from './completion.js';

/** Prints the script; returns exit code 0. Errors: UsageError. */
export async function completionCommand(args: readonly string[]): Promise<number> {
  const [name = '', ...others] = args;
  const shell = SHELLS.find((one) => one === name);
  if (shell === undefined || others.length > 0) {
    const got = args.length === 1 ? echo(name) : `${args.length} words`;
    const expected = `completion: expected ${SHELLS.join(' or ')}, got ${got}`;
    throw new UsageError(ErrorCode.InvalidArgument, `${expected}${meant(name, SHELLS)}`);
  }
  process.stdout.write(completionScript(shell));
  return 0;
}
