// Detection of a folder's format by its file names.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { detectFormat } from '../../../../../ts/importers/tensorflow/load/detect.js';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import { filledFolder } from '../../../temp-folder.js';
import { errorText, invalid } from '../messages.js';

test('formats by the names of files, the surer one first', (t) => {
  const cases: readonly (readonly [names: readonly string[], format: string | undefined])[] = [
    [['saved_model.pb', 'export.meta', 'x.pb'], 'saved-model'],
    [['saved_model.pbtxt', 'export.meta'], 'saved-model'],
    [['export.meta', 'x.pb', 'saved_model.cpb'], 'session-bundle'],
    [['model.graphdef', 'x.pb'], 'frozen-graph'],
    [['x.pb'], 'frozen-graph'],
    [['x.pbtxt', 'labels.txt', 'config.pbtxt'], 'frozen-graph'],
    [['x.pb', 'fingerprint.pb', 'keras_metadata.pb'], 'frozen-graph'],
    [['x.pb', 'y.pb'], undefined],
    [['fingerprint.pb'], undefined],
    [['.hidden.pb'], undefined],
    [['model.savedmodel/saved_model.pb'], 'saved-model'],
    [['saved_model.pb/file'], undefined],
    [['model.onnx', 'source.h5'], undefined],
    [[], undefined],
  ];
  for (const [names, format] of cases) {
    const folder = filledFolder(
      t,
      Object.fromEntries([...names, 'other.txt'].map((name) => [name, ''])),
    );
    assert.equal(detectFormat(folder), format, names.join());
  }
  assert.equal(detectFormat('/nonexistent/folder'), undefined);
});

test('files by their names', (t) => {
  const folder = filledFolder(t, {
    'saved_model.pb': '',
    'export.meta': '',
    'g.pbtxt': '',
    'other.txt': '',
  });
  assert.deepEqual(
    ['saved_model.pb', 'export.meta', 'g.pbtxt', 'other.txt', 'gone.pb'].map((name) =>
      detectFormat(join(folder, name)),
    ),
    ['saved-model', 'session-bundle', 'frozen-graph', undefined, undefined],
  );
});

test('formats that are not read say what to do', (t) => {
  const cases: readonly (readonly [name: string, expected: RegExp])[] = [
    ['saved_model.cpb', /saved_model\.cpb: a SavedModel split into several files is not supported/],
    ['model.keras', /model\.keras: .*model\.export\(/],
    ['model.h5', /model\.export\(/],
    ['m.HDF5', /model\.export\(/],
  ];
  for (const [name, expected] of cases) {
    const folder = filledFolder(t, { [name]: '' });
    for (const path of [folder, join(folder, name)]) {
      assert.match(
        errorText(() => detectFormat(path), ErrorCode.Unimplemented),
        expected,
      );
      assert.match(
        errorText(() => loadGraph(path), ErrorCode.Unimplemented),
        expected,
      );
    }
  }
});

test('nothing of TensorFlow is an error of loadGraph', (t) => {
  const folder = filledFolder(t, { 'x.txt': '' });
  assert.match(
    invalid(() => loadGraph(folder)),
    /expected saved_model\.pb, .*got none of them/,
  );
  assert.match(
    invalid(() => loadGraph(join(folder, 'gone'))),
    /got none of them/,
  );
});
