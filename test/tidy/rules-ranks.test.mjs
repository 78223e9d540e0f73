// The rank of the native libraries and folders, on small bad samples and on good ones that look
// alike. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { napiHeader, nativeCycles, nativeRanks } from './rules/ranks.mjs';
import { sourceFile } from './source-files.mjs';

const tree = (...pairs) => ({ files: pairs.map(([path, text]) => sourceFile(path, text)) });
const include = (...targets) => targets.map((target) => `#include "${target}"\n`).join('');
const messages = (violations) =>
  violations.map(({ path, line, message }) => `${path}:${line} ${message}`);

function refused(path, target, why) {
  const found = messages(nativeRanks(tree([path, include(target)])));
  assert.deepEqual(found, [`${path}:1 includes ${target}: ${why}`]);
}

test('refuses an include of a library that ranks above', () => {
  refused('native/base/a.h', 'codec/x.h', 'codec ranks above base');
  refused('native/codec/json/a.h', 'engine/lane/x.h', 'engine ranks above codec');
  refused('native/engine/lane/a.cc', 'addon/link.h', 'addon ranks above engine');
});

test('refuses an include of a library of equal rank', () => {
  refused('native/codec/a.cc', 'stats/x.h', 'codec and stats do not see each other');
  refused('native/engine/lane/a.cc', 'tabular/plan.h', 'engine and tabular do not see each other');
});

test('refuses a lower library that is none of the business of a library', () => {
  refused('native/backend/a.cc', 'codec/request.h', 'backend does not know codec');
  refused('native/calls/a.cc', 'backend/backend.h', 'calls does not know backend');
});

test('refuses a header beside those that are all a library knows of another', () => {
  refused(
    'native/backend/onnxruntime/a.cc',
    'operators/groups.h',
    'backend knows only operators/operator.h of operators',
  );
  refused(
    'native/engine/model/a.cc',
    'backend/null.h',
    'engine knows only backend/backend.h, backend/isolated/isolated.h of backend',
  );
});

test('refuses an include of a folder that ranks above', () => {
  refused('native/engine/request/a.h', 'engine/lane/lane.h', 'lane ranks above request');
  refused('native/engine/model/a.cc', 'engine/control/engine.h', 'control ranks above model');
  refused('native/codec/v2/a.cc', 'codec/table/table.h', 'table ranks above v2');
  refused('native/operators/operator.h', 'operators/strings/x.h', 'strings ranks above .');
  refused(
    'native/backend/isolated/a.cc',
    'backend/onnxruntime/session.h',
    'isolated and onnxruntime do not see each other',
  );
});

test('refuses libraries and folders that are in no list', () => {
  assert.deepEqual(messages(nativeRanks(tree(['native/fresh/a.h', '']))), [
    'native/fresh/a.h:1 fresh is not in the ranked list',
  ]);
  assert.deepEqual(messages(nativeRanks(tree(['native/engine/fresh/a.h', '']))), [
    'native/engine/fresh/a.h:1 fresh is not in the ranked list of native/engine',
  ]);
  assert.deepEqual(messages(nativeRanks(tree(['native/engine/a.h', '']))), [
    'native/engine/a.h:1 . is not in the ranked list of native/engine',
  ]);
});

test('accepts includes that run down, inside a folder and inside a knot', () => {
  const good = tree(
    [
      'native/engine/lane/a.cc',
      include('engine/lane/b.h', 'engine/request/request.h', 'codec/x.h') + '#include <vector>',
    ],
    ['native/engine/control/spec/a.cc', include('engine/model/model.h', 'backend/backend.h')],
    ['native/codec/serving/a.cc', include('codec/examples/signature.h', 'codec/request.h')],
    ['native/codec/examples/a.cc', include('codec/serving/wire.h')],
    ['native/operators/operators.cc', include('operators/strict/groups.h', 'operators/groups.h')],
    ['native/base/a.cc', `// ${include('codec/x.h')}#include "base/a.h"`],
    ['native/addon/a.cc', include('engine/lane/lane.h', 'napi.h')],
  );
  assert.deepEqual(nativeRanks(good), []);
});

test('refuses a cycle between folders, however long', () => {
  const three = tree(
    ['native/base/a/x.h', include('base/b/x.h')],
    ['native/base/b/x.h', include('base/c/x.h')],
    ['native/base/c/x.h', include('base/a/y.h')],
    ['native/base/d/x.h', include('base/a/x.h')],
  );
  assert.deepEqual(messages(nativeCycles(three)), [
    'native/base/a/x.h:1 base/a includes base/b, which leads back to it',
    'native/base/b/x.h:1 base/b includes base/c, which leads back to it',
    'native/base/c/x.h:1 base/c includes base/a, which leads back to it',
  ]);
  const fine = tree(
    ['native/base/a/x.h', include('base/b/x.h', 'base/a/y.h')],
    ['native/base/b/x.h', include('base/c.h')],
    ['native/codec/serving/x.h', include('codec/examples/x.h')],
    ['native/codec/examples/x.h', include('codec/serving/x.h')],
  );
  assert.deepEqual(nativeCycles(fine), []);
});

test('refuses N-API outside its one header', () => {
  const files = tree(
    ['native/addon/a.cc', '\n#include <napi.h>'],
    ['native/calls/a.cc', '#include <node_api.h>'],
    ['native/addon/napi_api.h', '#include <napi.h>'],
  );
  assert.deepEqual(messages(napiHeader(files)), [
    'native/addon/a.cc:2 includes N-API; only native/addon/napi_api.h does',
    'native/calls/a.cc:1 includes N-API; only native/addon/napi_api.h does',
  ]);
});
