// Conversion of Triton's model_warmup to V2 requests. Source: v2-protocol.md 3; Triton's
// ModelWarmup.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { V2_DATATYPES, configTypeOf, dataTypeOf } from '../../../../ts/model/datatype.js';
import { LENGTH_BYTES } from '../../../../ts/model/infer/tensor.js';
import { sampleRequest, warmupSamples } from '../../../../ts/models/warmup/model-warmup.js';
import { filledFolder } from '../../temp-folder.js';
import { errorOf, hex, seenRequest } from './support.js';

const sampleOf = (inputs: object, rest: object = {}): ReturnType<typeof warmupSamples>[number] => {
  const [sample] = warmupSamples({ model_warmup: [{ name: 's', batch_size: 1, inputs, ...rest }] });
  assert.ok(sample !== undefined);
  return sample;
};

const seen = async (
  inputs: object,
  rest: object = {},
  batchDim = true,
  folder = '/nowhere',
): Promise<unknown> =>
  seenRequest(await sampleRequest(sampleOf(inputs, rest), folder, batchDim)).inputs;

const zeros = (type: string, dims: readonly number[]): object => ({
  data_type: type,
  dims,
  zero_data: true,
});

const folderWith = (context: TestContext, data: Record<string, Uint8Array>): string =>
  filledFolder(
    context,
    Object.fromEntries(Object.entries(data).map(([name, bytes]) => [`warmup/${name}`, bytes])),
  );

describe('model_warmup', () => {
  it('is a list of samples with their defaults', () => {
    assert.deepEqual(warmupSamples(undefined), []);
    assert.deepEqual(warmupSamples({ name: 'm' }), []);
    assert.deepEqual(warmupSamples({ model_warmup: [] }), []);
    assert.deepEqual(
      warmupSamples({ model_warmup: [{}, { name: 'n', batch_size: 4, count: 3 }] }),
      [
        { name: '', batchSize: 0, count: 1, inputs: [] },
        { name: 'n', batchSize: 4, count: 3, inputs: [] },
      ],
    );
    assert.equal(sampleOf({}, { count: 0 }).count, 1);
  });

  it('knows every type', async () => {
    const inputs = Object.fromEntries(
      V2_DATATYPES.map((type) => [`in_${type}`, zeros(configTypeOf(type), [2])]),
    );
    assert.deepEqual(
      await seen(inputs, {}, false),
      V2_DATATYPES.map((type) => {
        const bytes = type === 'BYTES' ? LENGTH_BYTES : dataTypeOf(type).bytes;
        return [`in_${type}`, type, [2], '00'.repeat(2 * bytes)];
      }),
    );
  });

  it('puts batch_size in front and repeats the data per row', async (context) => {
    const folder = folderWith(context, { f: hex('0102'), t: hex('01000000 61 00000000') });
    const file = (type: string, name: string): object => ({
      data_type: type,
      dims: [2],
      input_data_file: name,
    });
    assert.deepEqual(
      await seen(
        { x: file('TYPE_UINT8', 'f'), t: file('TYPE_STRING', 't') },
        { batch_size: 3 },
        true,
        folder,
      ),
      [
        ['x', 'UINT8', [3, 2], '010201020102'],
        ['t', 'BYTES', [3, 2], '010000006100000000'.repeat(3)],
      ],
    );
    assert.deepEqual(await seen({ x: zeros('TYPE_FP32', []) }, { batch_size: 2 }), [
      ['x', 'FP32', [2], '0000000000000000'],
    ]);
    assert.deepEqual(await seen({ x: zeros('TYPE_FP32', [0, 5]) }, { batch_size: 2 }), [
      ['x', 'FP32', [2, 0, 5], ''],
    ]);
  });

  it('leaves the shape alone without batch dimension', async () => {
    assert.deepEqual(await seen({ x: zeros('TYPE_INT16', [2, 1]) }, {}, false), [
      ['x', 'INT16', [2, 1], '00000000'],
    ]);
    assert.deepEqual(await seen({}, {}, false), []);
  });

  it('makes random data, the same in each row and each time', async () => {
    const random = { data_type: 'TYPE_INT64', dims: [4], random_data: true };
    const [[, , shape, raw]] = (await seen({ x: random }, { batch_size: 2 })) as [
      [string, string, number[], string],
    ];
    assert.deepEqual(shape, [2, 4]);
    assert.equal(raw.slice(0, 64), raw.slice(64));
    assert.notEqual(raw.slice(0, 16), raw.slice(16, 32));
    assert.deepEqual(await seen({ x: random }, { batch_size: 2 }), [['x', 'INT64', shape, raw]]);
  });

  it('counts that zero_data or random_data is there, not its value', async () => {
    const input = { data_type: 'TYPE_BOOL', dims: [2], zero_data: false };
    assert.deepEqual(await seen({ x: input }), [['x', 'BOOL', [1, 2], '0000']]);
  });

  it('takes the first bytes of a file that is too long', async (context) => {
    const folder = folderWith(context, { f: hex('010203040506') });
    const input = { data_type: 'TYPE_UINT16', dims: [2], input_data_file: 'f' };
    assert.deepEqual(await seen({ x: input }, {}, false, folder), [
      ['x', 'UINT16', [2], '01020304'],
    ]);
  });
});

describe('model_warmup, refused', () => {
  it('members of the wrong kind', async () => {
    const input = (value: object): object => ({ model_warmup: [{ inputs: { x: value } }] });
    const place = 'model_warmup[0]';
    const at = `${place}.inputs["x"]`;
    const cases: readonly [object, string][] = [
      [{ model_warmup: {} }, 'model_warmup: expected a list, got {}'],
      [{ model_warmup: [null] }, `${place}: expected an object, got null`],
      [{ model_warmup: [{ name: 5 }] }, `${place}.name: expected text, got 5`],
      [
        { model_warmup: [{ batch_size: -1 }] },
        `${place}.batch_size: expected a whole number from 0, got -1`,
      ],
      [
        { model_warmup: [{ count: 1.5 }] },
        `${place}.count: expected a whole number from 0, got 1.5`,
      ],
      [{ model_warmup: [{ inputs: [] }] }, `${place}.inputs: expected an object, got []`],
      [input([]), `${at}: expected an object, got []`],
      [input({ dims: [1] }), `${at}.data_type: expected a type such as TYPE_FP32, got nothing`],
      [
        input({ data_type: 'FP32' }),
        `${at}.data_type: expected a type such as TYPE_FP32, ` + 'got "FP32"',
      ],
      [
        input({ data_type: 'toString' }),
        `${at}.data_type: expected a type such as TYPE_FP32, ` + 'got "toString"',
      ],
      [input({ data_type: 'TYPE_FP32', dims: 3 }), `${at}.dims: expected a list, got 3`],
      [
        input({ data_type: 'TYPE_FP32', dims: [2, -1] }),
        `${at}.dims[1]: expected a whole number from 0, got -1`,
      ],
      [
        input({ data_type: 'TYPE_FP32', dims: [2] }),
        `${at}: expected one of zero_data, random_data, input_data_file, got []`,
      ],
      [
        input({ data_type: 'TYPE_FP32', zero_data: true, random_data: true }),
        `${at}: expected one of zero_data, random_data, input_data_file, got ` +
          '["zero_data","random_data"]',
      ],
      [
        input({ data_type: 'TYPE_FP32', input_data_file: 1 }),
        `${at}.input_data_file: expected text, got 1`,
      ],
    ];
    for (const [config, message] of cases) {
      assert.equal(
        await errorOf(() => warmupSamples({ ...config })),
        `INVALID_ARGUMENT: ${message}`,
      );
    }
  });

  it('a batch for a model without batch dimension', async () => {
    assert.equal(
      await errorOf(() => seen({}, { batch_size: 2 }, false)),
      'INVALID_ARGUMENT: ' + 'batch_size: expected 1 for a model without batch dimension, got 2',
    );
  });

  it('tensors that no request could carry', async () => {
    const most = 'expected at most 2147483647 bytes, got';
    assert.equal(
      await errorOf(() => seen({ x: zeros('TYPE_FP32', [2 ** 20, 2 ** 20]) })),
      `INVALID_ARGUMENT: input 'x': FP32 of shape [1048576,1048576]: ${most} 4398046511104`,
    );
    assert.equal(
      await errorOf(() => seen({ x: zeros('TYPE_INT8', [1000]) }, { batch_size: 1e9 })),
      `INVALID_ARGUMENT: input 'x': INT8 of shape [1000000000,1000]: ${most} 1000000000000`,
    );
  });

  it('files that do not fit their tensor', async (context) => {
    const folder = folderWith(context, {
      short: hex('010203'),
      text: hex('01000000 61'),
      more: hex('01000000 61 00000000 02'),
      over: hex('05000000 61'),
      cut: hex('010000'),
    });
    const error = (type: string, file: string, count: number): Promise<string> =>
      errorOf(() =>
        seen({ x: { data_type: type, dims: [count], input_data_file: file } }, {}, true, folder),
      );
    assert.match(
      await error('TYPE_INT32', 'short', 1),
      /^INVALID_ARGUMENT: input 'x': .*short: expected 4 bytes, got 3$/,
    );
    assert.match(await error('TYPE_INT32', 'none', 1), /^MODEL_INVALID: input 'x': .*ENOENT/);
    assert.match(await error('TYPE_INT32', '../x', 1), /^INVALID_ARGUMENT: input 'x': input_data_/);
    const text = (file: string, count: number, what: string): Promise<void> =>
      error('TYPE_STRING', file, count).then((got) =>
        assert.equal(
          got,
          'INVALID_ARGUMENT: ' +
            `input 'x': ${file}: expected ${count} elements, each after a 4-byte length, ${what}`,
        ),
      );
    await text('text', 2, 'got 1 in 5 bytes');
    await text('cut', 1, 'got 0 in 3 bytes');
    await text('over', 1, 'element 0 has 5 bytes, but only 1 remain');
    await text('more', 2, '1 bytes remain');
    await text('text', 0, '5 bytes remain');
  });

  it('a batch of text that is too long only as a whole', async (context) => {
    const text = Buffer.alloc(70_000, 'a');
    text.writeUInt32LE(text.length - 4);
    const folder = folderWith(context, { text });
    const input = { data_type: 'TYPE_STRING', dims: [1], input_data_file: 'text' };
    assert.equal(
      await errorOf(() => seen({ x: input }, { batch_size: 100_000 }, true, folder)),
      "INVALID_ARGUMENT: input 'x': BYTES of shape [100000,1]: expected at most 2147483647 bytes, " +
        'got 7000000000',
    );
  });
});
