// Shared parts of the package tests: the artefacts in out/, folders, programs. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { artefacts, OUT, PLATFORMS, root } from '../../scripts/packaging/artefacts/names.mjs';

/** The path of an artefact by its kind, such as "deb". Throws if it was not made. */
export function artefact(kind, platform = PLATFORMS.x64) {
  const path = artefacts(platform)[kind];
  const [name, folder] = path.split('/').reverse();
  const [start, end] = name.split('*');
  const from = folder === undefined ? OUT : join(OUT, folder);
  const files = existsSync(from) ? readdirSync(from) : [];
  const found = files.find((file) => file.startsWith(start) && file.endsWith(end ?? ''));
  assert.ok(found !== undefined, `out/${path} is missing: run \`make package\``);
  return join(from, found);
}

/** A new folder, removed after the tests of `context`. */
export function scratchFolder(after) {
  const folder = mkdtempSync(join(tmpdir(), 'serval-package-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program to its end; throws with its output unless it exits with 0. Returns stdout. */
export function run(command, args, options = {}) {
  const settings = { encoding: 'utf8', maxBuffer: 64 * 2 ** 20, ...options };
  const { status, stdout, stderr, error } = spawnSync(command, args, settings);
  const what = `${command} ${args.join(' ')}`;
  assert.equal(status, 0, `${what}: ${error?.message ?? ''}${stdout}${stderr}`);
  return stdout;
}

/** Copies the example models to `folder`/examples/models, where serveOnce() expects them. */
export function exampleModels(folder) {
  cpSync(join(root, 'examples', 'models'), join(folder, 'examples', 'models'), { recursive: true });
}

/** The lines that a script of test/env prints, and why it cannot run here ('' if it can). */
export function fromScript(name) {
  const script = join(root, 'test', 'env', name);
  const { status, stdout, stderr } = spawnSync(script, { encoding: 'utf8' });
  if (status === 77) return { lines: [], missing: stderr.trim() };
  assert.equal(status, 0, `${name}: ${stderr}`);
  return { lines: stdout.trim().split('\n'), missing: '' };
}
