// The server for arm64 with Node for arm64, run by qemu: one request of each protocol. Test time
// only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FOLDER } from '../../scripts/arm64/build.mjs';
import { checkNativeLinks } from '../../scripts/packaging/native-links.mjs';
import { nodeRuntime, PACKAGED_NODE } from '../../scripts/packaging/node-runtime.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { emulated, root } from './support.mjs';

const READY_TIMEOUT_MS = 240_000;
// Those that the requests name, because qemu is slow.
const MODELS = ['half_plus_three'];

const addon = join(FOLDER, 'serval.node');
const cwd = mkdtempSync(join(tmpdir(), 'serval-arm64-'));
after(() => rmSync(cwd, { recursive: true, force: true }));

test('the addon is for arm64 and needs only glibc and Node', () => {
  const { stdout } = spawnSync('readelf', ['-h', addon], { encoding: 'utf8' });
  assert.match(stdout, /Machine:\s+AArch64/);
  checkNativeLinks(addon);
});

test('the server answers each protocol on arm64', async () => {
  for (const name of MODELS) {
    const from = join(root, 'examples', 'models', name);
    cpSync(from, join(cwd, 'examples', 'models', name), { recursive: true });
  }
  const node = join(nodeRuntime(PACKAGED_NODE, 'arm64'), 'node');
  const program = emulated(node, join(root, 'bin', 'serval.mjs'));
  const env = { ...process.env, SERVAL_ADDON: addon };
  const during = async (port) => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.ok(metrics.length > 0, 'no metrics');
  };
  await serveOnce(program, cwd, env, { flags: [], readyTimeoutMs: READY_TIMEOUT_MS, during });
});
