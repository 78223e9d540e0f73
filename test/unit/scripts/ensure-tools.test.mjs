// ensure-tools.sh, with a fake compiler, apt-get and id: missing requirements stop it, missing
// optional tools do not. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const script = join(
  dirname(fileURLToPath(import.meta.url)),
  ...['..', '..', '..', 'scripts', 'ensure-tools.sh'],
);
const folder = mkdtempSync(join(tmpdir(), 'serval-tools-'));
after(() => rmSync(folder, { recursive: true }));

function fake(name, lines) {
  writeFileSync(join(folder, name), `#!/bin/bash\n${lines}\n`);
  chmodSync(join(folder, name), 0o755);
}

// Runs it with a compiler that lacks headers and libraries with `hidden` in their names.
function ensure(group, hidden, { user = 0, installs = false } = {}) {
  const calls = join(folder, 'calls');
  rmSync(calls, { force: true });
  fake('id', `echo ${user}`);
  fake(
    'apt-get',
    `echo "$*" >> ${calls}\ncase "$*" in *install*) ${installs ? `touch ${folder}/installed` : 'exit 100'};; esac`,
  );
  rmSync(join(folder, 'installed'), { force: true });
  fake(
    'compiler',
    `case "$*" in *-dumpversion*|*--version*) exec c++ "$@";; esac
     input=$(cat)
     if [[ "$input $*" =~ ${hidden} ]] && [ ! -e ${folder}/installed ]; then exit 1; fi
     exec c++ "$@" <<< "$input"`,
  );
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env.PATH}`,
    CXX: join(folder, 'compiler'),
    SERVAL_APT: '',
  };
  const { status, stderr } = spawnSync(script, [group], { env, encoding: 'utf8' });
  const asked = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { status, stderr, asked: asked.filter((line) => line.includes('install')) };
}

test('installs requirements as root', () => {
  const { status, stderr, asked } = ensure('build', 'nghttp2|openssl', { installs: true });
  assert.equal(status, 0, stderr);
  assert.equal(asked.length, 1);
  assert.match(asked[0], /install -y --no-install-recommends libnghttp2-dev libssl-dev$/);
});

test('anyone else gets the command, and the build stops', () => {
  const { status, stderr, asked } = ensure('build', 'openssl', { user: 1000 });
  assert.equal(status, 1);
  assert.match(stderr, /these packages are missing:\n {2}libssl-dev: TLS headers\n/);
  assert.match(stderr, /sudo apt-get install -y --no-install-recommends libssl-dev$/m);
  assert.deepEqual(asked, []);
});

test('reports optional tools that cannot be installed, and continues', () => {
  const { status, stderr, asked } = ensure('bench', 'grpcpp');
  assert.equal(status, 0, stderr);
  assert.match(stderr, /continuing without them:\n(?: {2}.*\n)* {2}libgrpc\+\+-dev: gRPC's own/);
  assert.equal(asked.length, 1);
});

test('stops without requirements, and lists optional tools in the same command', () => {
  const { status, stderr } = ensure('bench', 'nghttp2|grpcpp', { user: 1000 });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /these packages are missing:\n {2}libnghttp2-dev: gRPC load at a fixed rate\n/,
  );
  assert.match(stderr, /install them with: .* libnghttp2-dev .*libgrpc\+\+-dev/m);
});

test('a needed package that cannot be installed is an error', () => {
  const { status, stderr } = ensure('build', 'png');
  assert.equal(status, 1);
  assert.match(stderr, /apt-get failed to install them/);
});
