// scripts/packaging/node.sh with stand-ins for the machine's node, npm and apt-get: the Node that
// make uses. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NODES, PACKAGED_NODE } from '../../../scripts/packaging/node-runtime.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), ...['..', '..', '..']);
const pinned = readFileSync(join(root, '.node-version'), 'utf8').trim();
const major = Number(pinned.split('.')[0]);
// The programs that the script itself runs; its PATH has no others.
const TOOLS = ['cat', 'dirname', 'head', 'id', 'sh', 'sort', 'uname'];
const scratch = mkdtempSync(join(tmpdir(), 'serval-node-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function program(folder, name, script) {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

// Runs it on a machine whose node prints `version` and otherwise behaves like the real one.
function chosen(version, { cached = true } = {}) {
  const folder = mkdtempSync(join(scratch, 'machine-'));
  const cache = join(folder, 'cache');
  const bin = join(folder, 'bin');
  const kept = join(cache, `node-${pinned}-linux-${process.arch}`);
  for (const path of [bin, cached ? kept : cache]) mkdirSync(path, { recursive: true });
  if (cached) program(kept, 'node', 'exit 0');
  if (version !== undefined) {
    const real = `exec ${process.execPath} "$@"`;
    program(bin, 'node', `if [ "$1" = --version ]; then echo ${version}; else ${real}; fi`);
    program(bin, 'npm', 'echo "npm $*" >&2; exit 1');
  }
  program(bin, 'apt-get', 'echo "apt-get $*" >&2; exit 1');
  for (const tool of TOOLS) {
    const found = ['/usr/bin', '/bin'].map((at) => join(at, tool)).find((path) => existsSync(path));
    symlinkSync(found, join(bin, tool));
  }
  const env = { PATH: bin, SERVAL_CACHE: cache, HOME: folder, SERVAL_APT: 'never' };
  const script = join(root, 'scripts', 'packaging', 'node.sh');
  const { status, stdout, stderr } = spawnSync('/bin/bash', [script], { env, encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr, bin, kept };
}

test('uses the machine where its Node has the pinned major version and is as new', () => {
  for (const version of [`v${pinned}`, `v${major}.99.0`]) {
    const { stdout, bin } = chosen(version);
    assert.equal(stdout, bin, version);
  }
});

test('uses the pinned version where the machine has an older one or another major version', () => {
  for (const version of ['v18.19.0', 'v20.20.2', `v${major}.0.0`, `v${major + 2}.1.0`]) {
    const { status, stdout, kept } = chosen(version);
    assert.deepEqual([status, stdout], [0, kept], version);
  }
});

test('fetches the pinned version by npm and fails where npm does', () => {
  const { status, stdout, stderr } = chosen('v20.20.2', { cached: false });
  assert.notEqual(status, 0);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    new RegExp(`npm pack node-linux-${process.arch}@${pinned.replaceAll('.', '\\.')}`),
  );
});

test('names the version to install where there is no Node and apt-get may not run', () => {
  const { status, stderr } = chosen(undefined);
  assert.notEqual(status, 0);
  assert.match(stderr, new RegExp(`install Node\\.js ${pinned.replaceAll('.', '\\.')} or newer`));
});

test('make, the package and the engines field agree on the version', () => {
  assert.equal(NODES[PACKAGED_NODE].version, pinned);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.equal(engines.node, `>=${major}`);
});
