// The check of the addon's imported and exported symbols. Test time only; needs build/.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkNativeLinks } from '../../../../scripts/packaging/native-links.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

test('needs only glibc and Node, and exports no names', () => {
  checkNativeLinks(join(root, 'build', 'Release', 'serval.node'));
});

test('other libraries are refused by name', () => {
  assert.throws(() => checkNativeLinks(process.execPath), /serval\.node needs .*libstdc\+\+\.so/);
});

test('refuses exported names', () => {
  const runtime = join(root, 'node_modules', 'onnxruntime-node', 'bin', 'napi-v6', 'linux', 'x64');
  assert.throws(
    () => checkNativeLinks(join(runtime, 'libonnxruntime.so.1')),
    /serval\.node (?:needs|imports|exports) /,
  );
});
