// The console's reading of responses: tensors and tables of every protocol, and scores of classes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  BARS_MAX,
  partsOf,
  scoresOf,
  v1Scores,
  type Answered,
} from '../../../../ts/server/console/page/answer/tensors.js';

const JSON_TYPE = 'application/json';
const tensorsOf = (value: unknown): readonly Answered[] =>
  partsOf(JSON.stringify(value), JSON_TYPE).tensors;
const row = (...values: readonly unknown[]): Answered => ({
  name: 'y',
  datatype: typeof values[0] === 'string' ? 'BYTES' : 'FP32',
  shape: [1, values.length],
  values,
});

describe('partsOf', () => {
  it('reads the outputs of V2, flattening nested data', () => {
    const output = { name: 'y', datatype: 'FP32', shape: [1, 2], data: [[1, 2]] };
    const [tensor] = tensorsOf({ model_name: 'm', outputs: [output] });
    assert.deepEqual([tensor?.name, tensor?.shape, tensor?.values], ['y', [1, 2], [1, 2]]);
  });

  it('reads predictions of V1 as one tensor, or as one for each named output', () => {
    assert.deepEqual(
      tensorsOf({
        predictions: [
          [1, 2],
          [3, 4],
        ],
      }),
      [{ name: 'predictions', datatype: 'number', shape: [2, 2], values: [1, 2, 3, 4] }],
    );
    const named = tensorsOf({
      predictions: [
        { a: 1, b: 'x' },
        { a: 2, b: 'y' },
      ],
    });
    assert.deepEqual(
      named.map(({ name, datatype, values }) => [name, datatype, values]),
      [
        ['a', 'number', [1, 2]],
        ['b', 'string', ['x', 'y']],
      ],
    );
    const columns = tensorsOf({ outputs: { a: [1], b: [[2]] } });
    assert.deepEqual(
      columns.map(({ name, shape }) => [name, shape]),
      [
        ['a', [1]],
        ['b', [1, 1]],
      ],
    );
  });

  it('keeps the outer list only if inner lists differ in length', () => {
    const [tensor] = tensorsOf({ predictions: [[1], [2, 3]] });
    assert.deepEqual([tensor?.shape, tensor?.values], [[2], [[1], [2, 3]]]);
  });

  it('reads CSV with quoted cells, and LeapFrames, as tables', () => {
    const { table } = partsOf('a,"b, ""c"""\n1,"x,y"\n', 'text/csv; charset=utf-8');
    assert.deepEqual(table, { columns: ['a', 'b, "c"'], rows: [['1', 'x,y']] });
    const leap = { schema: { fields: [{ name: 'a', type: 'double' }] }, rows: [[1], [2]] };
    assert.deepEqual(partsOf(JSON.stringify(leap), JSON_TYPE).table, {
      columns: ['a'],
      rows: [[1], [2]],
    });
  });

  it('returns nothing for other text, and never throws', () => {
    for (const text of ['', 'not JSON', '[]', 'null', '7', '{"other":1}']) {
      assert.deepEqual(partsOf(text, JSON_TYPE), { tensors: [], table: undefined }, text);
    }
  });
});

describe('scoresOf', () => {
  it('sorts probabilities, highest first, with class numbers as labels', () => {
    assert.deepEqual(scoresOf(row(0.25, 0.75)), [
      [
        { label: 'class 1', score: 0.75 },
        { label: 'class 0', score: 0.25 },
      ],
    ]);
  });

  it('returns the scores of every row', () => {
    const two: Answered = { ...row(), shape: [2, 2], values: [0.1, 0.9, 0.8, 0.2] };
    assert.deepEqual(
      scoresOf(two)?.map(([best]) => best?.label),
      ['class 1', 'class 0'],
    );
  });

  it('does not take a few fractions for scores unless they add up to 1', () => {
    assert.equal(scoresOf(row(0.5, 0.7)), undefined);
    assert.equal(scoresOf(row(-0.5, 1.5)), undefined);
    assert.equal(scoresOf(row(1, 0)), undefined);
  });

  it('takes many fractions for scores whatever their sum, and returns the best ten', () => {
    const many = scoresOf(row(...Array.from({ length: 20 }, (_, at) => at + 0.5)));
    assert.equal(many?.[0]?.length, BARS_MAX);
    assert.deepEqual(many?.[0]?.[0], { label: 'class 19', score: 19.5 });
  });

  it("reads the strings of V2's classification extension", () => {
    assert.deepEqual(scoresOf({ ...row('0.9:3:cat', '0.1:1'), shape: [2] }), [
      [
        { label: 'cat', score: 0.9 },
        { label: 'class 1', score: 0.1 },
      ],
    ]);
    assert.equal(scoresOf(row('cat', 'dog')), undefined);
    assert.equal(scoresOf(row('nan:1')), undefined);
  });

  it('returns nothing for tensors of other ranks', () => {
    assert.equal(scoresOf({ ...row(0.5, 0.5), shape: [2] }), undefined);
    assert.equal(scoresOf({ ...row(0.5, 0.5), shape: [1, 1, 2] }), undefined);
  });
});

describe('class names', () => {
  it('of the model replace numbers, by the index of the class', () => {
    const [scores] = scoresOf(row(0.1, 0.7, 0.2), ['ant', 'bee', 'cat']) ?? [];
    assert.deepEqual(
      scores?.map(({ label }) => label),
      ['bee', 'cat', 'ant'],
    );
    const [extension] = scoresOf(row('0.9:2'), ['ant', 'bee', 'cat']) ?? [];
    assert.equal(extension?.[0]?.label, 'cat');
  });

  it('that are missing stay numbers, and the names of the response win', () => {
    const [scores] = scoresOf(row(0.3, 0.7), ['ant']) ?? [];
    assert.deepEqual(
      scores?.map(({ label }) => label),
      ['class 1', 'ant'],
    );
    const [extension] = scoresOf(row('0.9:0:own'), ['ant']) ?? [];
    assert.equal(extension?.[0]?.label, 'own');
  });
});

describe('v1Scores', () => {
  it('sorts the classes of each example and numbers those without a label', () => {
    const text = JSON.stringify({
      results: [
        [
          ['a', 0.2],
          ['', 0.8],
        ],
      ],
    });
    assert.deepEqual(v1Scores(text), [
      [
        { label: 'class 1', score: 0.8 },
        { label: 'a', score: 0.2 },
      ],
    ]);
  });

  it('returns nothing for other text', () => {
    assert.equal(v1Scores('not JSON'), undefined);
    assert.equal(v1Scores('{"predictions":[1]}'), undefined);
  });
});
