// What the server's bundled files are made of: importers and what they need lie in files of their
// own, which are read when a model wants them. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverFiles } from '../../../scripts/bundle.mjs';

/** Of the text that is compiled for each thread; a few per cent more than it is. */
const BYTES_MAX = { 'main.cjs': 535_000, 'http-worker.cjs': 335_000 };
const PACKAGES = { 'main.cjs': ['flatbuffers', 'yaml'], 'http-worker.cjs': ['flatbuffers'] };
const IMPORTERS = /^dist\/(tensorflow|tabular|spark|mleap|pmml|onnx|import\/import-model)\b/;
/** What warm-up writes TensorFlow's tensors with, the node around a TensorRT engine, and what finds
 * such nodes. */
const WRITERS =
  /^dist\/(tensorflow\/(lower\/(tensors|values)|proto\/tensor-proto-writer)|onnx\/(builder|context-node))\.js$/;

for (const name of Object.keys(BYTES_MAX)) {
  test(`${name} is small, and holds no importer`, async () => {
    const { bytes, inputs, packages } = (await serverFiles())[name];
    assert.ok(bytes < BYTES_MAX[name], `${bytes} bytes`);
    assert.ok(
      inputs.some((path) => path.startsWith('dist/')),
      inputs.join(),
    );
    assert.deepEqual(
      inputs.filter((path) => IMPORTERS.test(path) && !WRITERS.test(path)),
      [],
    );
    assert.deepEqual(packages, PACKAGES[name]);
  });
}
