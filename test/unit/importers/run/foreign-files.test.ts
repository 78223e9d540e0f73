// Recognition of other tools' files by their content alone.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { foreignFile, foreignIn } from '../../../../ts/importers/run/foreign-files.js';
import { filledFolder } from '../../temp-folder.js';

/** A zip of stored files. */
function zip(files: Readonly<Record<string, string>>): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content, 'latin1');
    const local = Buffer.alloc(30);
    local.write('PK\u0003\u0004', 'latin1');
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(data.length, 22);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.write('PK\u0001\u0002', 'latin1');
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), data);
    central.push(entry, Buffer.from(name));
    offset += 30 + name.length + data.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const STATE = '\u0080\u0002ccollections\nOrderedDict\nq\u0000)Rq\u0001';
const MODULE = '\u0080\u0002c__main__\nNet\nq\u0000)\u0081q\u0001}';
const SKLEARN = '\u0080\u0004\u0095\u0010\u0000sklearn.linear_model._logistic\u0094';
const HEADER = '{"weight":{"dtype":"F32"}}';

function safetensors(length = HEADER.length): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(length));
  return Buffer.concat([size, latin1(HEADER), Buffer.alloc(4)]);
}

const FILES: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  'pointer.onnx': [
    latin1('version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n'),
    /Git LFS.*'git lfs pull'/,
  ],
  'old.bin': [
    latin1('\u0089HDF\r\n\u001a\nrest'),
    /Keras file in HDF5.*tf\.keras\.models\.load_model\('old\.bin'\)\.export\('old'\)/,
  ],
  'saved_modle.pb': [
    Buffer.from('08011205' + '0a03120161', 'hex'),
    /is the file of a SavedModel under another name: rename it to saved_model\.pb$/,
  ],
  'new.keras': [
    zip({ 'metadata.json': '{}', 'config.json': '{}', 'model.weights.h5': 'x' }),
    /Keras file.*tf\.keras\.models\.load_model\('new\.keras'\)\.export\('new'\)/,
  ],
  'state.pt': [
    zip({ 'state/data.pkl': STATE, 'state/version': '3\n' }),
    /state_dict.*load_state_dict\(torch\.load\('state\.pt'\)\).*torch\.onnx\.export\(.*'state\.onnx'\)/,
  ],
  'whole.pt': [
    zip({ 'whole/data.pkl': MODULE, 'whole/version': '3\n' }),
    /pickled PyTorch model.*torch\.load\('whole\.pt', weights_only=False\)/,
  ],
  'script.pt': [
    zip({ 'script/data.pkl': MODULE, 'script/code/__torch__.py': 'x', 'script/constants.pkl': '' }),
    /TorchScript.*torch\.onnx\.export\(torch\.jit\.load\('script\.pt'\)/,
  ],
  'before-1.6.pth': [
    Buffer.concat([latin1('\u0080\u0002'), Buffer.from('8a0a6cfc9c46f9206aa850192e', 'hex')]),
    /PyTorch weights/,
  ],
  'model.pkl': [latin1(SKLEARN), /pickle.*skl2onnx\.to_onnx\(joblib\.load\('model\.pkl'\)/],
  'packed.joblib': [deflateSync(latin1(SKLEARN)), /skl2onnx\.to_onnx/],
  'trees.pkl': [latin1('\u0080\u0003clightgbm.sklearn\nLGBM'), /onnxmltools\.convert_lightgbm/],
  'boosted.pkl': [latin1('\u0080\u0003cxgboost.sklearn\nXGB'), /onnxmltools\.convert_xgboost/],
  'cats.pkl': [latin1('\u0080\u0003ccatboost.core\nCat'), /save_model\('cats\.cbm'\)/],
  'model.safetensors': [safetensors(), /safetensors.*optimum-cli export onnx --model/],
  'llama.gguf': [latin1('GGUF\u0003\u0000\u0000\u0000'), /GGUF.*optimum-cli export onnx/],
  'm.json': [
    latin1('{"learner":{"attributes":{},"gradient_booster":{"model":{}}},"version":[2,1,1]}'),
    /is an XGBoost model under another name: rename it to model\.json, or name it as a PATH/,
  ],
  'm.ubj': [
    latin1('{L\0\0\0\0\0\0\0\u0007learner{L'),
    /is an XGBoost model .* rename it to model\.ubj/,
  ],
  'old.model': [latin1('binf\0\0\0?'), /is an XGBoost model .* rename it to model\.ubj/],
  'model.txt': [
    latin1('tree\nversion=v4\nnum_class=1\n'),
    /is a LightGBM model under another name: rename it to model\.txt/,
  ],
  'dump.json': [
    latin1('{"name":"tree","version":"v4","num_class":1}'),
    /is LightGBM's dump_model\(\).*booster\.save_model\('dump\.txt'\)/,
  ],
  'm.bin': [
    latin1('CBM1\u0010\0'),
    /is a CatBoost model under another name: rename it to model\.cbm/,
  ],
  'cat.json': [
    latin1('{"features_info":{},"oblivious_trees":[]}'),
    /is a CatBoost model under another name: rename it to model\.json/,
  ],
  'mojo.zip': [
    zip({ 'model.ini': '[info]', 'domains/d00.txt': 'a', 'trees/t00_000.bin': 'x' }),
    /is an H2O MOJO.*onnxmltools\.convert_h2o\('mojo\.zip'\)/,
  ],
  'net.mlmodel': [
    latin1('\u0008\u0004\u0012\u0080\u0001\n\u0005'),
    /is a Core ML model.*torch\.onnx\.export/,
  ],
  'Manifest.json': [
    latin1('{"fileFormatVersion":"1.0.0","itemInfoEntries":{"a":{"author":"com.apple.CoreML"}}}'),
    /is a Core ML model/,
  ],
  'exported.pt2': [
    zip({ 'serialized_exported_program.json': '{}', version: '1' }),
    /saved by torch\.export.*torch\.export\.load\('exported\.pt2'\)/,
  ],
  MLmodel: [
    latin1(
      'artifact_path: model\nflavors:\n  python_function:\n    env: x\n  sklearn:\n    a: b\n',
    ),
    /MLflow model with the flavor sklearn.*skl2onnx\.to_onnx/,
  ],
  'small.lite': [latin1('\u0018\u0000\u0000\u0000TFL3'), /TensorFlow Lite.*small\.tflite/],
  'fast.ort': [latin1('\u0018\u0000\u0000\u0000ORTM'), /ONNX Runtime's own format.*\.onnx/],
};

for (const [name, [content, expected]] of Object.entries(FILES)) {
  test(`${name}`, async (t) => {
    const folder = filledFolder(t, { [name]: content, other: content, 'readme.md': 'text' });
    assert.match((await foreignFile(join(folder, name))) ?? 'nothing', expected);
    assert.ok(await foreignFile(join(folder, 'other')), 'whatever its name');
    const said = await foreignIn(folder, ['readme.md', name]);
    assert.ok(said?.startsWith(`${join(folder, name)}: `), said);
  });
}

test('other files, and those cut short, are nothing', async (t) => {
  const others: Record<string, Buffer> = {
    empty: Buffer.alloc(0),
    text: latin1('version 2 of my notes'),
    onnx: Buffer.from([8, 8, 18, 3, 120, 121, 122]),
    'other.zip': zip({ 'bundle.json': '{}' }),
    'config.json': latin1('{"name":"a tree","version":"1"}'),
    'no-pickle': latin1('\u0080\u0009xx'),
    'long-header': safetensors(1 << 30),
    'bad-zlib': latin1('x\u009c\u0001'),
  };
  const folder = filledFolder(t, others);
  for (const name of Object.keys(others)) {
    assert.equal(await foreignFile(join(folder, name)), undefined, name);
  }
  assert.equal(await foreignFile(join(folder, 'missing')), undefined);
  assert.equal(await foreignFile(folder), undefined);
  for (const [name, [content]] of Object.entries(FILES)) {
    const cut = filledFolder(
      t,
      Object.fromEntries(
        Array.from({ length: Math.min(content.length, 80) }, (_, i) => [
          `${i}`,
          content.subarray(0, i),
        ]),
      ),
    );
    for (let i = 0; i < Math.min(content.length, 80); i++) {
      await assert.doesNotReject(foreignFile(join(cut, String(i))), `${name} after ${i} bytes`);
    }
  }
});
