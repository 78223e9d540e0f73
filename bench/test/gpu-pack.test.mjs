// The packed form of the benchmark on a GPU: its options, the parts of its archive, and the device
// code that stays in a library.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptEntries, slimFatbin } from '../gpu/packed/slim-fatbin.mjs';
import { parsePackOptions, split } from '../gpu/pack.mjs';

const [PTX, CODE] = [1, 2];

test('the command line is parsed, and wrong values name their flag', () => {
  const { out, partMib, slim } = parsePackOptions(
    ['/out', '--part-mib', '64', '--onnxruntime', '/ort', '--slim', '90'], //
  );
  assert.deepEqual([out, partMib, slim], ['/out', 64, 90]);
  assert.throws(() => parsePackOptions([]), /expected one folder, OUT; got 0/);
  assert.throws(() => parsePackOptions(['/out', '--part-mib', 'x']), /--part-mib: expected/);
  assert.throws(() => parsePackOptions(['/out', '--slim', '90']), /--slim: expected --onnxruntime/);
});

test('parts are at most of the given size, and together the archive', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pack-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'a.tar.gz');
  const bytes = Buffer.from(Array.from({ length: 250 }, (_, i) => i));
  writeFileSync(path, bytes);
  const parts = split(path, 100);
  assert.deepEqual(readdirSync(folder), ['a.tar.gz.001', 'a.tar.gz.002', 'a.tar.gz.003']);
  const contents = parts.map((part) => readFileSync(part));
  assert.deepEqual(
    contents.map(({ length }) => length),
    [100, 100, 50],
  );
  assert.deepEqual(Buffer.concat(contents), bytes);
});

test('code of the wanted capability stays, else the best that runs on it', () => {
  const kept = (entries, arch) =>
    keptEntries(
      entries.map(([kind, own]) => ({ kind, arch: own })),
      arch,
    ).map(({ kind, arch: own }) => [kind, own]);
  const all = [
    [CODE, 80],
    [CODE, 86],
    [CODE, 90],
    [PTX, 75],
    [PTX, 90],
    [PTX, 120],
  ];
  assert.deepEqual(kept(all, 90), [[CODE, 90]]);
  assert.deepEqual(kept(all, 89), [[CODE, 86]]);
  assert.deepEqual(kept(all, 100), [[PTX, 90]]);
  assert.deepEqual(kept([[CODE, 80]], 90), []);
});

/** An ELF file with a section .nv_fatbin that has one fat binary of these entries. */
function library(entries) {
  const names = Buffer.from('\0.nv_fatbin\0.shstrtab\0');
  const body = Buffer.concat(
    entries.map(({ kind, arch, code }) => {
      const head = Buffer.alloc(64);
      head.writeUInt16LE(kind, 0);
      head.writeUInt32LE(64, 4);
      head.writeBigUInt64LE(BigInt(code.length), 8);
      head.writeUInt32LE(arch, 28);
      return Buffer.concat([head, code]);
    }),
  );
  const head = Buffer.alloc(16);
  head.writeUInt32LE(0xba55ed50, 0);
  head.writeUInt16LE(16, 6);
  head.writeBigUInt64LE(BigInt(body.length), 8);
  const section = Buffer.concat([head, body]);
  const elf = Buffer.alloc(64);
  elf.writeUInt32BE(0x7f454c46, 0);
  elf.writeBigUInt64LE(BigInt(64 + section.length + names.length), 40);
  for (const [at, value] of [
    [58, 64],
    [60, 3],
    [62, 2],
  ]) {
    elf.writeUInt16LE(value, at);
  }
  const row = (name, start, bytes) => {
    const one = Buffer.alloc(64);
    one.writeUInt32LE(name, 0);
    one.writeBigUInt64LE(BigInt(start), 24);
    one.writeBigUInt64LE(BigInt(bytes), 32);
    return one;
  };
  const table = [
    row(0, 0, 0),
    row(1, 64, section.length),
    row(12, 64 + section.length, names.length),
  ];
  return Buffer.concat([elf, section, names, ...table]);
}

test('other device code becomes zeros, and nothing moves', () => {
  const code = (byte) => Buffer.alloc(32, byte);
  const data = library([
    { kind: CODE, arch: 80, code: code(1) },
    { kind: CODE, arch: 90, code: code(2) },
    { kind: PTX, arch: 90, code: code(3) },
  ]);
  const before = Buffer.from(data);
  assert.deepEqual(slimFatbin(data, 90), { binaries: 1, kept: 32, removed: 64 });
  assert.equal(data.length, before.length);
  assert.equal(data.indexOf(code(1)), -1);
  assert.equal(data.indexOf(code(3)), -1);
  assert.equal(data.indexOf(code(2)), before.indexOf(code(2)));
  const wrong = library([{ kind: 3, arch: 80, code: code(1) }]);
  assert.throws(() => slimFatbin(wrong, 90), /unknown entry of kind 3/);
  assert.throws(() => slimFatbin(Buffer.alloc(64), 90), /expected an ELF library/);
});
