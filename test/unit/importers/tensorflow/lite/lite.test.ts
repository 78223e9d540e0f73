// TensorFlow Lite's files: names and shapes of signatures, constants after the tables, custom
// operators, damaged files.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import type { ImportedModel } from '../../../../../ts/importers/tensorflow/imported.js';
import { importTensorFlow } from '../../../../../ts/importers/tensorflow/index.js';
import { blockedText } from '../../../../../ts/importers/run/imported-spec.js';
import { tempFolder } from '../../../temp-folder.js';
import { liteFile, type LiteParts } from './lite-file.js';

function imported(t: TestContext, content: Uint8Array): ImportedModel {
  const folder = tempFolder(t);
  writeFileSync(join(folder, 'model.tflite'), content);
  return importTensorFlow(folder, { workFolder: tempFolder(t) });
}

const refusal = (t: TestContext, content: Uint8Array): string => {
  try {
    imported(t, content);
  } catch (error) {
    assert.ok(error instanceof ServalError, String(error));
    assert.equal(error.code, ErrorCode.ModelInvalid);
    return error.message;
  }
  return 'none';
};

const endsOf = ({ graphs }: ImportedModel): string[] =>
  graphs.flatMap(({ signature, inputs, outputs }) =>
    [...inputs, ...outputs].map(
      ({ alias, dtype, shape }) => `${signature} ${alias} ${dtype} ${shape?.join()}`,
    ),
  );

const SIGNATURE = { key: 'run', input: 'rows', output: 'result' };

test('without a signature, clients use the names of the tensors', (t) => {
  const model = imported(t, liteFile());
  assert.deepEqual(model.blocked.map(blockedText), []);
  assert.equal(model.format, 'tflite');
  assert.deepEqual(endsOf(model), ['serving_default x:0 float ,2', 'serving_default y float ,2']);
});

test('a signature gives names', (t) => {
  assert.deepEqual(endsOf(imported(t, liteFile({ signature: SIGNATURE }))), [
    'run rows float ,2',
    'run result float ,2',
  ]);
});

test('constants after the tables are the same', (t) => {
  const inside = imported(t, liteFile());
  const after = liteFile({ isAfter: true });
  assert.deepEqual(imported(t, after).graphs, inside.graphs);
  assert.match(
    refusal(t, after.subarray(0, after.length - 1)),
    /model\.tflite: subgraph 0, tensor 2 'shift': expected its 4 bytes .* inside of the file.*trunc/,
  );
});

test('a custom operator is refused by its name and place', (t) => {
  const model = imported(t, liteFile({ custom: 'Detect' }));
  assert.deepEqual(model.blocked.map(blockedText), [
    "signature 'serving_default': CUSTOM Detect 'operator_1': the operator is not supported",
  ]);
});

test('other files are no model', (t) => {
  assert.match(refusal(t, Buffer.from('no model at all')), /expected 'TFL3' at byte 4, got 'odel'/);
  assert.match(refusal(t, Buffer.alloc(0)), /expected 'TFL3' at byte 4, got ''/);
});

/** Whether a damaged file is imported, or refused with an error for people. */
function survives(t: TestContext, folder: string, content: Uint8Array): boolean {
  writeFileSync(join(folder, 'model.tflite'), content);
  try {
    const { blocked, graphs } = importTensorFlow(folder, { workFolder: folder });
    return blocked.length + graphs.length > 0;
  } catch (error) {
    const isKnown = error instanceof ServalError && error.code !== ErrorCode.Internal;
    if (!isKnown) t.diagnostic(`${(error as Error).stack}`);
    return isKnown;
  }
}

test('damaged files are refused with an error, or still a model', (t) => {
  const folder = tempFolder(t);
  let refused = 0;
  for (const parts of [{}, { isAfter: true, signature: SIGNATURE }] as readonly LiteParts[]) {
    const whole = liteFile(parts);
    for (let length = 0; length < whole.length; length += 1) {
      assert.ok(survives(t, folder, whole.subarray(0, length)), `cut at ${length}`);
    }
    for (let at = 0; at < whole.length; at += 1) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const mutant = Uint8Array.from(whole);
        mutant[at] = value;
        assert.ok(survives(t, folder, mutant), `byte ${at} is ${value}`);
        refused += 1;
      }
    }
  }
  assert.ok(refused > 4000, `${refused}`);
});
