// The console's example requests: which protocols a signature gets, and their paths and bodies.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SignatureInfo, TensorInfo } from '../../../../ts/model/snapshot.js';
import type { ModelFacts } from '../../../../ts/server/console/page/models.js';
import { examplesOf } from '../../../../ts/server/console/page/request/examples.js';

const tensor = (
  name: string,
  datatype: TensorInfo['datatype'],
  shape: readonly number[],
): TensorInfo =>
  ({ name, datatype, shape, symbols: shape.map(() => ''), unknownRank: false }) as TensorInfo;

const signature = (inputs: readonly TensorInfo[], more: object = {}): SignatureInfo =>
  ({ name: 'serving_default', inputs, outputs: [], ...more }) as unknown as SignatureInfo;

const facts = (signatures: readonly SignatureInfo[], isTable = false): ModelFacts =>
  ({ platform: 'p', isTable, signatures }) as unknown as ModelFacts;

const examples = (signatures: readonly SignatureInfo[], isTable = false) =>
  examplesOf('m/1', facts(signatures, isTable));

describe('examplesOf a model of tensors', () => {
  it('offers V2 infer first and V1 predict second, with escaped paths', () => {
    const made = examples([signature([tensor('x', 'FP32', [-1])])]);
    assert.deepEqual(
      made.map(({ label, path }) => [label, path]),
      [
        ['V2 infer', '/v2/models/m%2F1/infer'],
        ['V1 predict', '/v1/models/m%2F1:predict'],
      ],
    );
  });

  it('writes small inputs as values of the declared shape', () => {
    const [v2] = examples([signature([tensor('x', 'FP32', [2, 2])])]);
    const { inputs } = JSON.parse(v2?.body ?? '') as { inputs: Record<string, unknown>[] };
    assert.deepEqual(inputs[0]?.['shape'], [2, 2]);
    assert.equal((inputs[0]?.['data'] as unknown[]).flat(9).length, 4);
    assert.deepEqual(v2?.filled, []);
  });

  it('writes a placeholder for long inputs, and describes what fills it', () => {
    const [v2, v1] = examples([signature([tensor('x', 'INT32', [-1, 100_000])])]);
    assert.match(v2?.body ?? '', /"@random"/);
    assert.match(v1?.body ?? '', /"@random"/);
    const { shape, nested } = v2?.filled[0] ?? {};
    assert.deepEqual([shape, nested], [[1, 100_000], false]);
    assert.equal(v1?.filled[0]?.nested, true);
  });

  it('writes an image placeholder with sides of 224 for free sides', () => {
    const [v2] = examples([signature([tensor('image', 'FP32', [-1, -1, -1, 3])])]);
    assert.match(v2?.body ?? '', /"@image"/);
    assert.deepEqual(v2?.filled[0]?.shape, [1, 224, 224, 3]);
  });

  it('names every signature but the first in V1 bodies', () => {
    const second = signature([tensor('x', 'FP32', [1])], { name: 'other' });
    const made = examples([signature([tensor('x', 'FP32', [1])]), second]);
    const last = made.at(-1);
    assert.equal(last?.label, 'V1 predict · other');
    assert.deepEqual(made.map(({ id }) => id).length, new Set(made.map(({ id }) => id)).size);
    const { signature_name: name } = JSON.parse(last?.body ?? '') as { signature_name?: string };
    assert.equal(name, 'other');
    assert.doesNotMatch(made[1]?.body ?? '', /signature_name/);
  });

  it('sends Examples to classify and regress, and offers no V2 for them', () => {
    for (const verb of ['classify', 'regress']) {
      const made = examples([
        signature([tensor('x', 'BYTES', [-1])], { methodName: `tensorflow/serving/${verb}` }),
      ]);
      assert.deepEqual(
        made.map(({ path }) => path),
        [`/v1/models/m%2F1:${verb}`],
      );
      assert.deepEqual(JSON.parse(made[0]?.body ?? ''), { examples: [{ x: 1 }] });
      assert.notEqual(made[0]?.note, undefined);
    }
  });

  it('has no examples without a signature', () => {
    assert.deepEqual(examples([]), []);
  });
});

describe('examplesOf a tabular model', () => {
  const fields = [tensor('age', 'FP64', [-1]), tensor('name, "x"', 'STRING', [-1])];

  it('offers V1 rows, V2, CSV and LeapFrame', () => {
    const made = examples([signature(fields)], true);
    assert.deepEqual(
      made.map(({ id, type }) => [id, type]),
      [
        ['predict0', 'json'],
        ['v2', 'json'],
        ['csv', 'csv'],
        ['leap', 'json'],
      ],
    );
  });

  it('quotes names with commas and quotation marks in CSV', () => {
    const csv = examples([signature(fields)], true).find(({ type }) => type === 'csv');
    assert.equal(csv?.body, 'age,"name, ""x"""\n1.5,a\n');
  });

  it('gives LeapFrame its own types', () => {
    const typed = [tensor('v', 'VECTOR', [-1, -1]), tensor('i', 'INT32', [-1]), ...fields];
    const leap = examples([signature(typed)], true).at(-1);
    const { schema } = JSON.parse(leap?.body ?? '') as { schema: { fields: { type: unknown }[] } };
    assert.deepEqual(
      schema.fields.map(({ type }) => type),
      [{ type: 'tensor', base: 'double', dimensions: [2] }, 'integer', 'double', 'string'],
    );
  });
});
