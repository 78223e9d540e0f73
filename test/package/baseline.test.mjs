// The addon for x86-64 CPUs without AVX2, in the tarball: on such a CPU, which qemu emulates, it
// serves requests of each protocol. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkNativeLinks } from '../../scripts/packaging/native-links.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, run, scratchFolder } from './support.mjs';

// A CPU of 2008: SSE4.2 without AVX. qemu refuses instructions that it lacks.
const EMULATOR = ['qemu-x86_64-static', '-cpu', 'Nehalem'];
const READY_TIMEOUT_MS = 240_000;

const scratch = scratchFolder(after);
run('tar', ['-xzf', artefact('tarball'), '-C', scratch]);
const [top] = readdirSync(scratch);
const folder = join(scratch, top);
const addon = join(folder, 'prebuilt', 'serval-baseline.node');
const missing = existsSync(addon) ? undefined : 'not built: run `make build-baseline`';
const emulated = spawnSync(EMULATOR[0], ['--version'], { stdio: 'ignore' }).status === 0;

test('the baseline addon needs only glibc and Node', { skip: missing }, () => {
  checkNativeLinks(addon);
});

const program = [join(folder, 'node', 'node'), join(folder, 'bin', 'serval.mjs')];
const why = missing ?? (emulated ? undefined : 'no qemu-x86_64-static (Debian: qemu-user-static)');

// /proc/cpuinfo is that of the real CPU here, so the addon is named.
test('the baseline addon serves every protocol without AVX2', { skip: why }, async () => {
  const env = { ...process.env, SERVAL_ADDON: addon };
  const patience = { flags: [], readyTimeoutMs: READY_TIMEOUT_MS };
  await serveOnce([...EMULATOR, ...program], folder, env, patience);
});

test('the other addon is ended by such a CPU, so the test above can fail', { skip: why }, () => {
  const load = ['-e', 'require(process.argv[1])'];
  const [command, ...args] = [...EMULATOR, program[0], ...load];
  const status = (name) => {
    const result = spawnSync(command, [...args, join(folder, 'prebuilt', name)]);
    return result.signal ?? result.status;
  };
  assert.equal(status('serval-baseline.node'), 0);
  assert.equal(status('serval.node'), 'SIGILL');
});
