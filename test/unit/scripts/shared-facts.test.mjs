// Facts that both languages need are declared once: limits in C++, gRPC's codes in a schema. Test
// time only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { constantIn, writeLimitsModule } from '../../../proto/limits.mjs';
import { writeGrpcHeader, writeGrpcModule } from '../../../proto/messages/grpc-codes.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');

test('a limit is read from a constant, a list of constants or the default of a member', () => {
  assert.equal(constantIn("constexpr int kA = 65'536;  // why", 'kA'), 65536);
  assert.equal(constantIn('constexpr size_t kA = 8u << 20;', 'kA'), 8388608);
  assert.equal(constantIn('constexpr uint64_t kA = uint64_t{1} << 52;', 'kA'), 2 ** 52);
  assert.equal(constantIn('constexpr size_t kA = 4 * 1024, kB = 16;', 'kA'), 4096);
  assert.equal(constantIn('constexpr size_t kA = 4 * 1024, kB = 16;', 'kB'), 16);
  assert.equal(constantIn('uint64_t body_max = 2147483647;', 'body_max'), 2147483647);
});

test('a limit that is missing, declared twice or not a number stops the generator', () => {
  assert.throws(() => constantIn('int kB = 1;', 'kA'), /kA: 0 declarations/);
  assert.throws(() => constantIn('int kA = 1; int kA = 2;', 'kA'), /kA: 2 declarations/);
  assert.throws(() => constantIn('int kA = kB;', 'kA'), /not a constant of integers: kB/);
  assert.throws(() => constantIn('long kA = 1ull << 60;', 'kA'), /not a safe integer/);
});

test('TypeScript has the limits of the native side and declares none of them again', () => {
  const generated = read('ts/base/generated/native-limits.ts');
  assert.equal(generated, writeLimitsModule(root));
  const names = [...generated.matchAll(/export const (\w+)/g)].map(([, name]) => name);
  assert.ok(names.length > 20);
  const own = read('ts/base/limits.ts');
  for (const name of names) assert.doesNotMatch(own, new RegExp(`const ${name}\\b`));
});

test('gRPC codes are the same in C++ and TypeScript', () => {
  const header = writeGrpcHeader();
  assert.equal(read('native/base/generated/grpc_code.h'), header);
  assert.equal(read('ts/base/generated/grpc-code.ts'), writeGrpcModule());
  const cpp = [...header.matchAll(/k(\w+) = (\d+);/g)].map(([, name, code]) => [name, code]);
  const plain = (name) => name.replaceAll('_', '').toLowerCase();
  const rows = [...writeGrpcModule().matchAll(/(\w+) = (\d+),/g)];
  assert.deepEqual(
    cpp.map(([name, code]) => [plain(name), code]),
    rows.map(([, name, code]) => [plain(name), code]),
  );
  assert.equal(rows.length, 17);
  const names = [...header.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(
    names,
    rows.map(([, name]) => name),
  );
});
