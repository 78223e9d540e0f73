// The command line: runs the command of each word; ts/cli/help/commands.ts describes them. Control
// plane, main thread. `serve` is loaded with it, because its start-up time is guaranteed
// (bench/workloads/startup.mjs); the other commands are loaded on demand.
import { existsSync } from 'node:fs';
import { echo, meant, visible } from './base/text.js';
import { ErrorCode, reasonOf } from './base/errors.js';
import { surviveLostOutput } from './base/logger.js';
import type { CommandName } from './cli/help/commands.js';
import { serveCommand } from './cli/serve/serve-command.js';
import { isUsageError, UsageError } from './cli/usage.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

type Run = (args: readonly string[]) => Promise<number>;

// The row of a command in ts/cli/help/commands.ts requires one here.
const COMMANDS: Readonly<Record<CommandName, Run>> = {
  serve: serveCommand,
  predict: async (args) => (await import('./cli/predict/predict-command.js')).predictCommand(args),
  bench: async (args) => (await import('./cli/bench/bench-command.js')).benchCommand(args),
  inspect: async (args) => (await import('./cli/inspect/inspect-command.js')).inspectCommand(args),
  check: async (args) => (await import('./cli/check/check-command.js')).checkCommand(args),
  import: async (args) => (await import('./cli/import/import-command.js')).importCommand(args),
  compile: async (args) => (await import('./cli/compile/compile-command.js')).compileCommand(args),
  types: async (args) => (await import('./cli/types/types-command.js')).typesCommand(args),
  gpu: async (args) => (await import('./cli/gpu/gpu-command.js')).gpuCommand(args),
  doctor: async (args) => (await import('./cli/gpu/doctor-command.js')).doctorCommand(args),
  key: async (args) => (await import('./cli/key/key-command.js')).keyCommand(args),
  completion: async (args) =>
    (await import('./cli/help/completion-command.js')).completionCommand(args),
  version: printVersion,
  help,
};
// Flags in the place of a command.
const FLAGS: Readonly<Record<string, CommandName>> = {
  '--version': 'version',
  '-v': 'version',
  '--help': 'help',
  '-h': 'help',
};

const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/**
 * Runs one command and sets the process's exit code; `serve` returns once the server is up. 1: it
 * failed; 2: the command line or the configuration file is wrong.
 */
export async function main(args: readonly string[]): Promise<void> {
  surviveLostOutput();
  try {
    process.exitCode = await run(args);
  } catch (error) {
    const text = reasonOf(error);
    process.stderr.write(`serval: ${visible(text)}\n`);
    process.exitCode = isUsageError(error) ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  const asked = askedFor(rest);
  if (asked.includes('version')) return printVersion();
  if (asked.length > 0) return help(command === 'help' ? rest : [command ?? '', ...asked.slice(1)]);
  if (command === undefined) {
    throw new UsageError(ErrorCode.InvalidArgument, 'expected a command; see `serval help`');
  }
  const name = Object.hasOwn(FLAGS, command) ? FLAGS[command] : command;
  if (name !== undefined && isCommand(name)) return COMMANDS[name](rest);
  throw new UsageError(ErrorCode.InvalidArgument, unknownCommand(command));
}

/**
 * The pages requested after a command's name, at any position: `--help`, `--help all`, `--version`.
 */
function askedFor(rest: readonly string[]): readonly ('help' | 'all' | 'version')[] {
  const end = rest.indexOf('--');
  const flags = end < 0 ? rest : rest.slice(0, end);
  if (flags.includes('--version') || flags.includes('-v')) return ['version'];
  if (flags.includes('--help=all')) return ['help', 'all'];
  const at = flags.findIndex((arg) => arg === '--help' || arg === '-h');
  if (at < 0) return [];
  return flags[at + 1] === 'all' ? ['help', 'all'] : ['help'];
}

async function help(args: readonly string[]): Promise<number> {
  const { helpCommand } = await import('./cli/help/help-command.js');
  return helpCommand(args);
}

async function printVersion(): Promise<number> {
  const { servalVersion } = await import('./base/version.js');
  process.stdout.write(`serval ${servalVersion()}\n`);
  return 0;
}

function unknownCommand(command: string): string {
  const near = meant(command, Object.keys(COMMANDS));
  const serve = existsSync(command) ? '; did you mean "serve" before it?' : '.';
  return `unknown command ${echo(command)}${near || serve} See \`serval help\``;
}
