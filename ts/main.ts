// The command line: serve, inspect, import, version, help. Control plane, main thread. Loads only
// what the command needs, because start-up time is a promise (README: ready in 0.3 s).
import { nearestWord } from './text.js';
import { ErrorCode } from './errors.js';
import { surviveLostOutput } from './logger.js';
import { UsageError } from './commands/usage.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const COMMANDS = ['serve', 'inspect', 'import', 'version', 'help'];

/** Runs one command and sets the process's exit code; `serve` returns once the server is up.
 * 1: it failed; 2: the command line or the configuration file is wrong. */
export async function main(args: readonly string[]): Promise<void> {
  surviveLostOutput();
  try {
    process.exitCode = await run(args);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stderr.write(`serval: ${text}\n`);
    process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case 'serve': {
      const { serveCommand } = await import('./commands/serve-command.js');
      return serveCommand(rest);
    }
    case 'inspect': {
      const { inspectCommand } = await import('./commands/inspect-command.js');
      return inspectCommand(rest);
    }
    case 'import': {
      const { importCommand } = await import('./commands/import-command.js');
      return importCommand(rest);
    }
    case 'version':
    case '--version': {
      const { servalVersion } = await import('./version.js');
      process.stdout.write(`serval ${servalVersion()}\n`);
      return 0;
    }
    case 'help':
    case '--help':
    case '-h': {
      const { printHelp } = await import('./commands/help-text.js');
      return printHelp();
    }
    case undefined:
      throw new UsageError(ErrorCode.InvalidArgument, 'expected a command; see `serval help`');
    default: {
      const nearest = nearestWord(command, COMMANDS);
      const shown = JSON.stringify(command.slice(0, 100));
      const message = `unknown command ${shown}; did you mean "${nearest}"? See \`serval help\``;
      throw new UsageError(ErrorCode.InvalidArgument, message);
    }
  }
}
