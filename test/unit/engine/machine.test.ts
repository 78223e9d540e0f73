// Chooses the addon of a machine, and words why none can run. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import {
  addonsFor,
  ADDON,
  BASELINE_ADDON,
  featuresIn,
  glibcVersion,
  libraryRefusal,
  refusal,
  thisMachine,
  type Machine,
} from '../../../ts/engine/machine.js';
import { tempFolder } from '../temp-folder.js';

// The flags line of an Intel Haswell and of a Westmere, shortened to what matters and some others.
const WESTMERE = 'fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm';
const HASWELL = `${WESTMERE} fma movbe avx f16c abm bmi1 avx2 bmi2`;

function linux(flags: string, arch = 'x64'): Machine {
  const text = `processor\t: 0\nflags\t\t: ${flags}\nbugs\t\t: none\n\nprocessor\t: 1\n`;
  const features = featuresIn(text);
  assert.ok(features !== undefined);
  return { platform: 'linux', arch, features };
}

test('an x86-64 CPU with AVX2 runs the addon for it', () => {
  assert.deepEqual(addonsFor(linux(HASWELL)), [ADDON]);
  assert.equal(refusal(linux(HASWELL)), undefined);
});

test('an x86-64 CPU without one feature of level 3 runs the baseline addon', () => {
  for (const name of ['avx2', 'bmi1', 'bmi2', 'fma', 'f16c', 'abm', 'movbe']) {
    const machine = linux(
      HASWELL.split(' ')
        .filter((each) => each !== name)
        .join(' '),
    );
    assert.deepEqual(addonsFor(machine), [BASELINE_ADDON], name);
    assert.equal(refusal(machine), undefined, name);
  }
});

test('an x86-64 CPU whose features are unknown runs the baseline addon if there is one', () => {
  assert.deepEqual(addonsFor({ platform: 'linux', arch: 'x64' }), [BASELINE_ADDON, ADDON]);
  assert.equal(featuresIn('processor\t: 0\n'), undefined);
});

test('arm64 runs its addon', () => {
  assert.deepEqual(addonsFor({ platform: 'linux', arch: 'arm64' }), [ADDON]);
  assert.equal(refusal({ platform: 'linux', arch: 'arm64' }), undefined);
});

test('older x86-64 CPUs and other systems are refused with what is missing', () => {
  const old = linux('fpu sse sse2 pni ssse3 cx16 sse4_1');
  assert.equal(
    refusal(old),
    'Serval needs an x86-64 CPU with SSE4.2 (x86-64-v2); this one lacks sse4_2',
  );
  for (const [platform, arch] of [
    ['darwin', 'arm64'],
    ['linux', 'riscv64'],
  ] as const) {
    assert.equal(
      refusal({ platform, arch }),
      `Serval runs on Linux with glibc, on x86-64 and arm64; this machine is ${platform}-${arch}`,
    );
  }
});

test('an old glibc is named with the version that is needed', () => {
  const reason = "/lib/libc.so.6: version `GLIBC_2.36' not found (required by serval.node)";
  assert.equal(
    libraryRefusal('2.31', reason),
    'Serval needs glibc 2.36 or newer; this system has 2.31',
  );
  assert.equal(libraryRefusal('2.36', 'cannot open shared object file'), undefined);
});

test('this machine is described', () => {
  assert.equal(refusal(thisMachine()), undefined);
  assert.match(glibcVersion() ?? '', /^2\.\d+$/);
});

// Starts `serval` in a process that a preloaded script changes.
function servalWith(script: string, folder: string, env: Readonly<Record<string, string>> = {}) {
  const preload = join(folder, 'preload.cjs');
  writeFileSync(preload, script);
  const models = join(folder, 'models');
  mkdirSync(models);
  const program = join(packageRoot(), 'bin', 'serval.mjs');
  const args = ['--require', preload, program, 'serve', models, '--http-port', '0'];
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 60_000 } as const;
  return spawnSync(process.execPath, args, options);
}

// musl's loader cannot load an addon that was linked with glibc, and Node reports no glibc there.
const MUSL = `const { getReport } = process.report;
process.report.getReport = () => {
  const report = getReport.call(process.report);
  delete report.header.glibcVersionRuntime;
  return report;
};`;

test('a system with musl is refused with one sentence', (context) => {
  const folder = tempFolder(context);
  const broken = join(folder, 'serval.node');
  writeFileSync(broken, 'no library');
  for (const addon of [broken, join(folder, 'missing.node')]) {
    const { status, stderr } = servalWith(MUSL, tempFolder(context), { SERVAL_ADDON: addon });
    assert.equal(status, 1, stderr);
    assert.equal(
      stderr,
      "serval: Serval runs on Linux with glibc, on x86-64 and arm64; this system's C library is " +
        'not glibc (on Alpine it is musl): use a system such as Debian, or the image ' +
        'node:22-slim\n',
    );
  }
});

// Node reads /proc/cpuinfo of a CPU without the feature.
function cpuWithout(feature: string): string {
  return `const fs = require('node:fs');
const { openSync, readSync } = fs;
let info = -1;
fs.openSync = (path, ...rest) => {
  const file = openSync(path, ...rest);
  if (path === '/proc/cpuinfo') info = file;
  return file;
};
fs.readSync = (file, part, ...rest) => {
  const bytes = readSync(file, part, ...rest);
  if (file === info) part.write(part.toString('latin1').replace(/ ${feature}\\b/, ''), 'latin1');
  return bytes;
};
require('node:module').syncBuiltinESMExports();`;
}

test('an x86-64 CPU without SSE4.2 is refused with one sentence', (context) => {
  if (process.arch !== 'x64') return context.skip('only for x86-64');
  const { status, stderr } = servalWith(cpuWithout('sse4_2'), tempFolder(context));
  assert.equal(status, 1, stderr);
  assert.equal(
    stderr,
    'serval: Serval needs an x86-64 CPU with SSE4.2 (x86-64-v2); this one lacks sse4_2\n',
  );
});

test('an x86-64 CPU without AVX2 wants the baseline addon, and says how to build it', (context) => {
  if (process.arch !== 'x64') return context.skip('only for x86-64');
  const baseline = join(packageRoot(), 'build', 'Release', BASELINE_ADDON);
  if (existsSync(baseline)) return context.skip(`${baseline} is built: test/package starts it`);
  const { status, stderr } = servalWith(cpuWithout('avx2'), tempFolder(context));
  assert.equal(status, 1, stderr);
  assert.match(stderr, /serval-baseline\.node: .*without AVX2: run `make build-baseline`/);
});

test('a machine of another architecture is refused with one sentence', (context) => {
  const script = "Object.defineProperty(process, 'arch', { value: 'riscv64' });";
  const { status, stderr } = servalWith(script, tempFolder(context));
  assert.equal(status, 1, stderr);
  assert.equal(
    stderr,
    'serval: Serval runs on Linux with glibc, on x86-64 and arm64; this machine is linux-riscv64\n',
  );
});
