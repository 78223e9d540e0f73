// Contents of the server's bundled files: importers and their dependencies are in separate files,
// which are read when a model needs them. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverFiles } from '../../../scripts/bundle.mjs';

/** The limits of the text that each thread reads: a few percent above its size. */
const BYTES_MAX = { 'main.cjs': 1_230_000, 'http-worker.cjs': 590_000 };
const PACKAGES = { 'main.cjs': ['flatbuffers', 'yaml'], 'http-worker.cjs': ['flatbuffers'] };
const IMPORTERS = /^dist\/(tensorflow|tabular|spark|mleap|pmml|onnx|import\/import-model)\b/;
/**
 * The writer of TensorFlow's tensors for warm-up, the node around a TensorRT engine, and the finder
 * of such nodes.
 */
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

test('the files keep the names of the sources and print readable lines', async () => {
  for (const [name, { text }] of Object.entries(await serverFiles())) {
    const lines = text.split('\n');
    const longest = Math.max(...lines.map((line) => line.length));
    assert.ok(longest < 4096, `${name}: a line of ${longest} characters`);
    const classes = [...text.matchAll(/(\w+) = class\b/g)].map(([, one]) => one);
    assert.ok(classes.includes('ServalError') && classes.length > 10, `${name}: ${classes}`);
    assert.deepEqual(
      classes.filter((one) => !/^_?[A-Z]\w{2,}$/.test(one)),
      [],
      name,
    );
    assert.match(text, /^[\0-\x7f]*$/, `${name} is read as latin1`);
  }
});
