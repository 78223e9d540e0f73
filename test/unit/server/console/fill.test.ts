// The console's placeholders in a request's body, replaced by random values and by an image's.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Filled } from '../../../../ts/server/console/page/request/examples.js';
import {
  filledBody,
  VALUES_MAX,
  type Paint,
} from '../../../../ts/server/console/page/request/fill.js';
import { FakeElement, installFakeDocument } from './fake-dom.js';

installFakeDocument();

const PAINT: Paint = {
  canvas: new FakeElement('canvas') as unknown as HTMLCanvasElement,
  scaling: 'bytes',
};
const of = (change: Partial<Filled> = {}): Filled => ({
  name: 'x',
  datatype: 'FP32',
  shape: [2, 3],
  nested: false,
  picture: undefined,
  ...change,
});
const filled = (body: string, ...inputs: readonly Filled[]): unknown =>
  JSON.parse(filledBody(body, inputs, PAINT));

describe('filledBody', () => {
  it('replaces @random by a flat list for V2 and by nested lists for V1', () => {
    const flat = filled('{"data":"@random"}', of()) as { data: number[] };
    assert.equal(flat.data.length, 6);
    assert.ok(flat.data.every((value) => value >= 0 && value <= 1));
    const nested = filled('{"inputs":"@random"}', of({ nested: true })) as { inputs: number[][] };
    assert.deepEqual(
      nested.inputs.map((row) => row.length),
      [3, 3],
    );
  });

  it('makes values of the datatype', () => {
    const first = (datatype: string): unknown =>
      (filled('["@random"]', of({ datatype, shape: [1] })) as unknown[][])[0]?.[0];
    assert.equal(typeof first('BOOL'), 'boolean');
    assert.equal(first('BYTES'), 'text');
    assert.equal(first('INT64'), 1);
    const byte = first('UINT8') as number;
    assert.ok(Number.isInteger(byte) && byte >= 0 && byte < 256);
  });

  it('follows a shape that the user changed before the placeholder', () => {
    const body = '{"shape":[4],"data":"@random"}';
    assert.equal((filled(body, of()) as { data: number[] }).data.length, 4);
    const kept = '{"inputs":"@random"}';
    const nested = filled(kept, of({ nested: true, shape: [1, 2] })) as { inputs: number[][] };
    assert.deepEqual(
      nested.inputs.map((row) => row.length),
      [2],
    );
  });

  it('fills several inputs in their order', () => {
    const body = '{"a":"@random","b":"@random"}';
    const both = filled(body, of({ shape: [1] }), of({ shape: [2], datatype: 'BYTES' }));
    assert.deepEqual((both as { b: string[] }).b, ['text', 'text']);
  });

  it("replaces @image by the image's values, as bytes or scaled", () => {
    const picture = { batch: 0, rows: 1, columns: 2, channels: 3 };
    const input = of({ datatype: 'UINT8', shape: [1, 2, 2, 3], picture });
    const { data } = filled('{"data":"@image"}', input) as { data: number[] };
    assert.deepEqual(data, [255, 128, 0, 255, 128, 0, 255, 128, 0, 255, 128, 0]);
    const unit = filledBody('"@image"', [input], { ...PAINT, scaling: 'unit' });
    assert.deepEqual((JSON.parse(unit) as number[]).slice(0, 3), [1, 0.50196, 0]);
  });

  it('refuses more values than the limit, naming the input', () => {
    const large = of({ name: 'huge', shape: [VALUES_MAX, 2] });
    assert.throws(() => filled('"@random"', large), /input 'huge': 33554432 values.*16777216/);
  });

  it('refuses a placeholder for which there is no input', () => {
    assert.throws(() => filled('["@random","@random"]', of()), /"@random": no input is left/);
  });
});
