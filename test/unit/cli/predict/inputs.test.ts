// The values of --input and --random; NumPy's files.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { join } from 'node:path';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { Datatype } from '../../../../ts/model/snapshot.js';
import type { InputInfo } from '../../../../ts/library/types.js';
import { answerJson, answerText } from '../../../../ts/cli/predict/answer-text.js';
import { randomInputs, randomNumbers, readInputs } from '../../../../ts/cli/predict/inputs.js';
import { readNpy } from '../../../../ts/cli/predict/npy.js';

const refusal =
  (text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ServalError &&
    error.code === ErrorCode.InvalidArgument &&
    text.test(error.message);

const info = (name: string, datatype: Datatype, shape: number[]): InputInfo => ({
  name,
  datatype,
  shape,
  unknownRank: false,
});

function npy(descr: string, shape: string, data: Uint8Array, fortran = 'False'): Buffer {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': (${shape}), }\n`;
  const head = Buffer.alloc(10);
  head.write('\u0093NUMPY\u0001\u0000', 'latin1');
  head.writeUInt16LE(text.length, 8);
  return Buffer.concat([head, Buffer.from(text), data]);
}

const bytesOf = (values: Float32Array | Int32Array): Uint8Array => new Uint8Array(values.buffer);

describe('.npy', () => {
  const six = bytesOf(Int32Array.of(1, 2, 3, 4, 5, 6));

  it('reads both memory orders and both byte orders', () => {
    const rows = readNpy('a', npy('<i4', '2, 3', six));
    assert.deepEqual(rows.shape, [2, 3]);
    assert.deepEqual(rows.data, Int32Array.of(1, 2, 3, 4, 5, 6));
    const columns = readNpy('a', npy('<i4', '2, 3', six, 'True'));
    assert.deepEqual(columns.data, Int32Array.of(1, 3, 5, 2, 4, 6));
    const big = readNpy('a', npy('>i4', '1,', Uint8Array.of(0, 0, 1, 2)));
    assert.deepEqual(big.data, Int32Array.of(258));
    assert.deepEqual(readNpy('a', npy('|b1', '', Uint8Array.of(1))).shape, []);
  });

  it('reads strings of both widths', () => {
    assert.deepEqual(readNpy('a', npy('|S3', '2,', Buffer.from('ab\0c\0\0'))).data, ['ab', 'c']);
    assert.deepEqual(readNpy('a', npy('<U2', '1,', Buffer.from('a\0\0\0\0\0\0\0'))).data, ['a']);
  });

  for (const [file, text] of [
    [Buffer.from('PK'), /first bytes/],
    [npy('<i4', '7,', six), /expected 28 bytes of \[7\] <i4, got 24/],
    [npy('|O', '1,', six), /not "\|O"/],
    [npy('<c8', '3,', six), /not "<c8"/],
    [npy('<i4', '9007199254740993,', six), /smaller shape/],
    [npy('<i4', '6,', six).subarray(0, 20), /whole header/],
  ] as const) {
    it(`is refused: ${String(text)}`, () => {
      assert.throws(() => readNpy('a', file), refusal(text));
    });
  }
});

describe('--input', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-predict-'));
  after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return `@${name}`;
  };
  const infos = [info('x', 'FP32', [-1]), info('t', 'BYTES', [-1])];
  const read = (...texts: string[]): unknown => readInputs(texts, infos, folder);

  it('accepts JSON, text and files', () => {
    const big = '12345678901234567890';
    const list = [1, 12345678901234567890n, Number.NaN];
    assert.deepEqual(read(`x=[1, ${big}, NaN]`, 't=hello'), { x: list, t: 'hello' });
    assert.deepEqual(read(`x=${write('a.json', '[[1]]')}`), { x: [[1]] });
    const file = write('a.npy', npy('<f4', '1,', bytesOf(Float32Array.of(2))));
    assert.deepEqual(read(`x=${file}`), { x: { data: Float32Array.of(2), shape: [1] } });
    assert.deepEqual(read(`t=${write('a.jpg', 'JFIF')}`), {
      t: new Uint8Array(Buffer.from('JFIF')),
    });
  });

  it('accepts whole requests', () => {
    assert.deepEqual(read(write('b.json', '{"x": [1]}')), { x: [1] });
    const v2 = '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [4]}]}';
    const tensor = { name: 'x', datatype: 'FP32', shape: [1], data: [4] };
    assert.deepEqual(read(write('c.json', v2)), { x: tensor });
    assert.deepEqual(read(write('d.json', '[{"a": 1}]')), [{ a: 1 }]);
    assert.deepEqual(read(write('e.json', '{"instances": [{"a": 1}]}')), [{ a: 1 }]);
  });

  it('names the fault', () => {
    assert.throws(() => read('x'), refusal(/expected NAME=VALUE or @FILE, got "x"/));
    assert.throws(() => read('x=foo'), refusal(/--input x: expected JSON \(or @FILE\)/));
    assert.throws(() => read('x=@none.json'), refusal(/no such file/));
    assert.throws(
      () => read(`x=${write('f.png', '')}`),
      refusal(/f.png: expected a PNG or JPEG image/),
    );
    assert.throws(() => read(write('g.json', '{')), refusal(/g.json: JSON: expected/));
    assert.throws(() => read(write('h.json', '[]'), 'x=1'), refusal(/expected no other --input/));
  });
});

describe('--random', () => {
  it('generates values for every input, the same for each seed', () => {
    const datatypes: Datatype[] = ['FP32', 'INT8', 'UINT8', 'BOOL', 'BYTES', 'INT64', 'FP16'];
    const infos = datatypes.map((one) => info(one, one, [-1, 2, -1]));
    const draw = (seed: number) =>
      randomInputs(infos, { rows: 3, next: randomNumbers(seed), isTable: false });
    assert.deepEqual(draw(1), draw(1));
    assert.notDeepEqual(draw(1), draw(2));
    for (const one of Object.values(draw(1))) {
      const { data, shape } = one as { data: unknown[]; shape: number[] };
      assert.deepEqual([data.length, shape], [6, [3, 2, 1]]);
    }
    const cells = { rows: 2, next: randomNumbers(1), isTable: true };
    const columns = randomInputs([info('v', 'VECTOR', [-1, 3])], cells);
    assert.deepEqual(
      (columns['v'] as number[][]).map((row) => row.length),
      [3, 3],
    );
    const huge = [info('x', 'FP32', [1_000_000, 1_000])];
    assert.throws(() => randomInputs(huge, cells), refusal(/'x' has 1000000000 elements/));
  });
});

describe('an answer', () => {
  const data = BigInt64Array.of(9007199254740993n, -1n);
  const outputs = {
    y: { name: 'y', datatype: 'INT64', shape: [2], data },
    z: { name: 'z', datatype: 'FP32', shape: [1, 20], data: new Float32Array(20).fill(Number.NaN) },
  };
  const answered = { model: 'm', version: '1', ms: 1, outputs };
  it('is JSON with every digit', () => {
    const text = answerJson(answered);
    assert.match(text, /"data":\[9007199254740993,-1\]/);
    assert.equal((JSON.parse(text) as { outputs: unknown[] }).outputs.length, 2);
  });
  it('is a table that shows the first values of each output', () => {
    const lines = answerText(answered).split('\n');
    assert.equal(lines[0], 'y  INT64 [2]');
    assert.match(lines[4] ?? '', /NaN {2}\.\.\. 8 more$/);
  });
});
