// What the suites of foreign clients share: the programs of test/env, the models they ask for, and
// cases that a program prints as JSON lines, each a test here. Test time only.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import type { ModelFolders } from '../e2e/support/model-folders.js';
import { putDelayModel } from '../e2e/support/operating.js';
import { runOutcomes } from '../e2e/support/python-suites.js';

/** Of the model "outlasting", whose run outlives a deadline. */
const DELAY_MS = 500;
/** test/env's scripts say so where they can't make what they are for. */
const UNAVAILABLE = 77;

/** What a script of test/env printed, line by line, or why it could not. */
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
  /** The path of one that others wrote ("client" is gRPC's interop client); "serval": ours. */
  readonly program: (name: string) => string;
  /** Why there are none, for `skip`. */
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

/** A repository with the models that the clients ask for. */
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
