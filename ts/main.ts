// The command line: serve, predict, inspect, import, key, version, help. Control plane, main
// thread. `serve` is loaded with it, because its start-up time is a promise
// (bench/workloads/startup.mjs); the other commands when they are called.
import { nearestWord, visible } from './text.js';
import { ErrorCode, reasonOf } from './errors.js';
import { surviveLostOutput } from './logger.js';
import { serveCommand } from './commands/serve-command.js';
import { isUsageError, UsageError } from './commands/usage.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const COMMANDS = ['serve', 'predict', 'inspect', 'import', 'key', 'version', 'help'];

/** Runs one command and sets the process's exit code; `serve` returns once the server is up.
 * 1: it failed; 2: the command line or the configuration file is wrong. */
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
  switch (command) {
    case 'serve':
      return serveCommand(rest);
    case 'predict': {
      const { predictCommand } = await import('./predict-command/predict-command.js');
      return predictCommand(rest);
    }
    case 'inspect': {
      const { inspectCommand } = await import('./commands/inspect-command.js');
      return inspectCommand(rest);
    }
    case 'import': {
      const { importCommand } = await import('./commands/import-command.js');
      return importCommand(rest);
    }
    case 'key': {
      const { keyCommand } = await import('./commands/key-command.js');
      return keyCommand(rest);
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
