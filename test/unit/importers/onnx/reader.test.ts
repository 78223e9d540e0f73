// The ONNX header reader on good, cut and changed files.
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { encodeModel } from '../../../../ts/importers/onnx/builder.js';
import { readOnnxHeader } from '../../../../ts/importers/onnx/reader.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';

const MODEL = encodeModel({
  doc: 'd',
  metadata: { key: 'value' },
  graph: {
    name: 'g',
    inputs: [{ name: 'x', type: 'float', shape: ['n'] }],
    outputs: [{ name: 'y', type: 'float', shape: ['n'] }],
    nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
  },
});

function write(fill: (writer: ProtobufWriter) => ProtobufWriter): Uint8Array {
  return fill(new ProtobufWriter()).concat();
}

async function refuses(path: string, message: RegExp): Promise<void> {
  await assert.rejects(readOnnxHeader(path), (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, ErrorCode.ModelInvalid);
    assert.ok(error.message.startsWith(`${path}: `), error.message);
    assert.match(error.message, message);
    return true;
  });
}

test('reports errors with their byte', async (t) => {
  const graph = (writer: ProtobufWriter): ProtobufWriter => writer.message(7, () => {});
  const cases: [string, Uint8Array | string, RegExp][] = [
    ['empty', '', /at byte 0: the file has no graph \(0 bytes\)/],
    ['no graph', write((w) => w.varint(1, 8)), /at byte 2: the file has no graph/],
    ['text', 'this is a text file', /at byte 0: field 14: expected bytes, got wire type 4/],
    ['field 0', Buffer.from('0000', 'hex'), /at byte 0: no field has number 0/],
    ['group', Buffer.from('f301', 'hex'), /at byte 0: field 30 has unknown wire type 3/],
    ['cut tag', Buffer.from('80', 'hex'), /at byte 1: the file ends inside a field/],
    ['cut length', Buffer.from('3a', 'hex'), /at byte 1: the file ends inside a field/],
    ['long varint', Buffer.from(`08${'ff'.repeat(11)}`, 'hex'), /at byte 1: .*at most 10 bytes/],
    [
      'huge length',
      Buffer.from('3affffffffffffffffff01', 'hex'),
      /at byte 1: field 7 has 18446744073709551615 bytes, but only 0 remain/,
    ],
    ['cut fixed64', Buffer.from('f10101', 'hex'), /at byte 2: the file ends inside a field/],
    ['ir as bytes', write((w) => w.string(1, 'x')), /field 1: expected a number, got wire type 2/],
    ['graph as number', write((w) => w.varint(7, 1)), /field 7: expected bytes, got wire type 0/],
    [
      'cut opset',
      write((w) => graph(w).bytes(8, Uint8Array.of(0x10, 0x80))),
      /at byte 5: a number is truncated/,
    ],
    [
      'wrong opset',
      write((w) => graph(w).bytes(8, Uint8Array.of(0x0a, 0x09, 0x61))),
      /at byte 4: wire type 2 of 9 bytes does not fit/,
    ],
    [
      'long doc',
      write((w) => graph(w).bytes(6, new Uint8Array(1_048_577))),
      /field 6: expected at most 1048576 bytes, got 1048577/,
    ],
  ];
  for (const [name, content, message] of cases) {
    const folder = filledFolder(t, { 'm.onnx': content });
    await t.test(name, () => refuses(join(folder, 'm.onnx'), message));
  }
});

test('every truncation is an error or a shorter header, never a crash', async (t) => {
  const path = join(filledFolder(t, { 'm.onnx': MODEL }), 'm.onnx');
  const whole = await readOnnxHeader(path);
  assert.equal(whole.docString, 'd');
  let errors = 0;
  for (let bytes = MODEL.byteLength - 1; bytes >= 0; bytes--) {
    truncateSync(path, bytes);
    try {
      const header = await readOnnxHeader(path);
      assert.equal(header.fileBytes, bytes);
    } catch (error) {
      assert.ok(error instanceof ServalError && error.code === ErrorCode.ModelInvalid);
      errors += 1;
    }
  }
  assert.ok(errors >= MODEL.byteLength - 4, `${errors} of ${MODEL.byteLength}`);
});

test('every changed byte is an error or a header, never anything else', async (t) => {
  const path = join(tempFolder(t), 'm.onnx');
  for (let at = 0; at < MODEL.byteLength; at++) {
    for (const mask of [0x01, 0x80, 0xff]) {
      const changed = MODEL.slice();
      changed[at] = (changed[at] ?? 0) ^ mask;
      writeFileSync(path, changed);
      await readOnnxHeader(path).catch((error: unknown) => {
        assert.ok(error instanceof ServalError && error.code === ErrorCode.ModelInvalid);
      });
    }
  }
});

test('the graph is skipped, not read', async (t) => {
  const path = join(tempFolder(t), 'sparse.onnx');
  const graphBytes = 3 * 1024 ** 3;
  const length = new ProtobufWriter().varint(1, graphBytes).concat().subarray(1);
  writeFileSync(path, Buffer.concat([Uint8Array.of(0x08, 0x08, 0x3a), length]));
  truncateSync(path, 3 + length.byteLength + graphBytes);
  const header = await readOnnxHeader(path);
  assert.equal(header.graphBytes, graphBytes);
  assert.equal(header.irVersion, 8n);
});

test('unknown fields of every wire type are skipped', async (t) => {
  const fields = ['f00101', 'f1010102030405060708', 'f20102aabb', 'f50101020304'];
  const unknown = Buffer.from(fields.join(''), 'hex');
  const path = join(filledFolder(t, { 'm.onnx': Buffer.concat([unknown, MODEL]) }), 'm.onnx');
  assert.equal((await readOnnxHeader(path)).docString, 'd');
});

test('a missing file and a folder', async (t) => {
  const folder = tempFolder(t);
  await refuses(join(folder, 'none.onnx'), /ENOENT/);
  await refuses(folder, /expected a file/);
});
