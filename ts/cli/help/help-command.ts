// `serval help [COMMAND] [all]`, also reached by --help. Control plane. Loaded on demand.
import { ErrorCode } from '../../base/errors.js';
import { echo, meant } from '../../base/text.js';
import { UsageError } from '../usage.js';
import { COMMANDS, findCommand } from './commands.js';
import { allPages, commandPage, overview } from './pages.js';

const ALL = 'all';
/** `serval help --help`. */
const ASKED: ReadonlySet<string> = new Set(['--help', '-h', '--help=all']);

/** Prints a page; returns exit code 0. Errors: UsageError: no such command. */
export async function helpCommand(args: readonly string[]): Promise<number> {
  process.stdout.write(pageOf(args));
  return 0;
}

function pageOf(args: readonly string[]): string {
  const [name, ...others] = args.filter((arg) => arg !== ALL && !ASKED.has(arg));
  const all = args.includes(ALL);
  if (name === undefined) return all ? allPages() : overview();
  const row = findCommand(name);
  if (row === undefined) {
    const names = COMMANDS.map((one) => one.name);
    throw wrong(`help: expected a command, got ${echo(name)}${meant(name, names)}`);
  }
  if (others.length > 0) throw wrong(`help: expected one command, got ${others.length + 1}`);
  return commandPage(row, all);
}

function wrong(message: string): UsageError {
  return new UsageError(ErrorCode.InvalidArgument, `${message}; see \`serval help\``);
}
