// The parts of the artefacts that need no build: symbol versions, ZIP archives, licences.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  debianDepends,
  isNewer,
  manylinuxTag,
  newestVersions,
} from '../../../../scripts/packaging/artefacts/glibc.mjs';
import { document, licenceOf, npmUrl } from '../../../../scripts/packaging/artefacts/sbom.mjs';
import { zip } from '../../../../scripts/packaging/artefacts/zip.mjs';

const READELF = `  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.36  Flags: none  Version: 2
  0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 5
  0x0040:   Name: GLIBCXX_3.4.22  Flags: none  Version: 4
  0x0050:   Name: GLIBC_PRIVATE  Flags: none  Version: 6
`;

test('finds the newest glibc by number, not by text', () => {
  assert.deepEqual(newestVersions(READELF), { GLIBC: '2.36', GLIBCXX: '3.4.22' });
  assert.equal(isNewer('2.10', '2.9'), true);
  assert.equal(isNewer('2.9', '2.9'), false);
  assert.equal(isNewer('2.2.5', '2.2'), true);
});

test('names the platform and the Debian packages that symbol versions need', () => {
  assert.equal(manylinuxTag({ GLIBC: '2.36' }, 'aarch64'), 'manylinux_2_36_aarch64');
  const needed = ['libc6 (>= 2.36)', 'libgcc-s1', 'libstdc++6 (>= 6)'];
  assert.deepEqual(debianDepends({ GLIBC: '2.36', GLIBCXX: '3.4.22' }), needed);
  assert.throws(() => debianDepends({ GLIBC: '2.36', GLIBCXX: '3.4.99' }), /no release of GCC/);
});

test('writes the same ZIP archive twice, which others read with modes', (context) => {
  const entries = [
    { name: 'a/run', data: Buffer.from('#!/bin/sh\n'), mode: 0o755 },
    { name: 'b', data: Buffer.alloc(100_000, 'x'), mode: 0o644 },
  ];
  const archive = zip(entries, 1_700_000_000);
  assert.ok(archive.equals(zip(entries, 1_700_000_000)));
  assert.ok(archive.length < 1000);
  const folder = mkdtempSync(join(tmpdir(), 'serval-zip-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.zip');
  writeFileSync(file, archive);
  const code = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    for i in z.infolist(): print(i.filename, oct(i.external_attr >> 16), i.file_size, i.date_time)`;
  const { stdout, stderr } = spawnSync('python3', ['-c', code, file], { encoding: 'utf8' });
  const time = '(2023, 11, 14, 22, 13, 20)';
  assert.equal(stdout, `a/run 0o100755 10 ${time}\nb 0o100644 100000 ${time}\n`, stderr);
});

test('writes licences and packages as CycloneDX does', () => {
  assert.deepEqual(licenceOf('MIT'), [{ license: { id: 'MIT' } }]);
  assert.deepEqual(licenceOf('(MIT OR X11)'), [{ expression: '(MIT OR X11)' }]);
  assert.throws(() => licenceOf(undefined), /no licence/);
  assert.equal(npmUrl('@a/b', '1.0.0'), 'pkg:npm/%40a/b@1.0.0');
  const one = { type: 'library', 'bom-ref': 'x', name: 'x' };
  const text = JSON.stringify(document([one], 0));
  assert.equal(text, JSON.stringify(document([one], 0)));
  assert.notEqual(document([one], 0).serialNumber, document([], 0).serialNumber);
});
