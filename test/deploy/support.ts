// Shared parts of the tests of deploy/: documents of its YAML files, and the tools of
// test/env/deploy-tools.sh. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../ts/base/package-files.js';
import { fromScript } from '../clients/support.js';

export const DEPLOY = join(packageRoot(), 'deploy');

/** The members of a manifest that tests read. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Container {
  readonly args: readonly string[];
}

/** The manifests in a file that is not a helm template. */
export function manifests(path: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((one) => one.toJS() as Manifest);
}

/** The arguments with which a KServe runtime starts its container. */
export function argsOf({ spec }: Manifest): readonly string[] {
  const [container] = spec['containers'] as readonly Container[];
  return container?.args ?? [];
}

/** The arguments, with spaces, with which the image's entry point runs serval. */
export function entrypointArgs(args: readonly string[]): string {
  const program = "process.stdout.write(process.argv.slice(2).join(' '))";
  const env = { ...process.env, SERVAL: `data:text/javascript,${program}` };
  const command = [join(DEPLOY, 'docker', 'entrypoint.mjs'), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    env,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

export interface DeployTools {
  readonly helm: string;
  readonly validate: string;
  /** The folder of KServe's definitions. */
  readonly definitions: string;
  /** The folder of the runtimes that KServe ships. */
  readonly runtimes: string;
  readonly missing: string | false;
}

export function deployTools(): DeployTools {
  const { lines, missing } = fromScript('deploy-tools.sh');
  const inFolder = (name: string): string => join(lines[0] ?? '', name);
  return {
    helm: inFolder('helm'),
    validate: inFolder('validate'),
    definitions: inFolder('definitions'),
    runtimes: inFolder('runtimes'),
    missing: missing !== '' && missing,
  };
}
