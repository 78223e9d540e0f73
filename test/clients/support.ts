// Shared parts of the suites of foreign clients: the programs of test/env, the models that they
// call, and cases that a program prints as JSON lines, each a test here. Test time only.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import type { ModelFolders } from '../e2e/support/model-folders.js';
import { putDelayModel } from '../e2e/support/operating.js';
import { runOutcomes } from '../e2e/support/python-suites.js';

/** The delay of the model "outlasting", whose run outlives a deadline. */
const DELAY_MS = 500;
/** The exit status of test/env's scripts for something that is not available here. */
const UNAVAILABLE = 77;

/** The lines that a script of test/env printed, or why it failed. */
export function fromScript(
  name: string,
  ...args: readonly string[]
): { readonly lines: readonly string[]; readonly missing: string } {
  const script = join(packageRoot(), 'test', 'env', name);
  const { status, stdout, stderr } = spawnSync(script, args, { encoding: 'utf8' });
  if (status === UNAVAILABLE) {
    return { lines: [], missing: stderr.trim().split('\n').at(-1) ?? name };
  }
  assert.equal(status, 0, `${name}: ${stderr}`);
  return { lines: stdout.trim().split('\n'), missing: '' };
}

export interface GoPrograms {
  /**
   * The path of a program that others wrote ("client" is gRPC's interop client); "serval": ours.
   */
  readonly program: (name: string) => string;
  /** The reason why there are none, for `skip`. */
  readonly missing: string | false;
}

export function findGo(): GoPrograms {
  const { lines, missing } = fromScript('go-clients.sh');
  const [tools = '', own = ''] = lines;
  return {
    program: (name) => (name === 'serval' ? join(own, 'client') : join(tools, name)),
    missing: missing !== '' && missing,
  };
}

/** A repository with the models that the clients call. */
export function clientModels(folders: ModelFolders): string {
  const repository = folders.repository('clients', ['identity_fp32', 'half_plus_three']);
  putDelayModel(repository, 'outlasting', DELAY_MS);
  return repository;
}

/** Runs a command whose lines are outcomes, as subtests of `context`. */
export async function runCases(
  context: TestContext,
  [program = '', ...args]: readonly string[],
): Promise<void> {
  await runOutcomes(context, program, spawn(program, args));
}

export interface JavaPrograms {
  /** The command that runs a main class. */
  readonly command: (main: string, ...args: readonly string[]) => readonly string[];
  readonly missing: string | false;
}

/** grpc-java's interop client, and ours of test/clients/java. */
export function findJava(): JavaPrograms {
  const { lines, missing } = fromScript('java-clients.sh');
  const path = lines[0] ?? '';
  return {
    command: (main, ...args) => ['java', '-XX:TieredStopAtLevel=1', '-cp', path, main, ...args],
    missing: missing !== '' && missing,
  };
}
