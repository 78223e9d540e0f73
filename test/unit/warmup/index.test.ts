// Warmup as the registry runs it: order, repetition, labels, the log line, and every fixture file.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import { createLogger } from '../../../ts/logger.js';
import { runWarmup, warmupMessages } from '../../../ts/warmup/index.js';
import type { WarmupInputs } from '../../../ts/warmup/index.js';
import { filledFolder, tempFolder } from '../temp-folder.js';
import { collect, errorOf, predictRecord, seenRequest, tfRecordFile, warmupFiles } from
  './support.js';

const FILE = 'assets.extra/tf_serving_warmup_requests';
const files = warmupFiles();

const bytesOf = (name: string): Buffer => {
  const bytes = files[name];
  assert.ok(bytes !== undefined, name);
  return bytes;
};

function inputsWith(versionFolder: string, rest: Partial<WarmupInputs> = {}): WarmupInputs {
  const signature = { name: 'serving_default', inputs: [], outputs: [] };
  return { name: 'm', versionFolder, modelFolder: join(versionFolder, 'model'), config: undefined,
    signature, batchDim: true, iterations: 0, ...rest };
}

const fixture = (context: TestContext, name: string, rest: Partial<WarmupInputs> = {}):
WarmupInputs => inputsWith(filledFolder(context, { [FILE]: bytesOf(name) }), rest);

interface Run {
  readonly requests: number;
  readonly messages: readonly Uint8Array[];
  readonly lines: readonly Record<string, unknown>[];
}

async function run(
  inputs: WarmupInputs, warmUp: (count: number) => void = () => undefined,
): Promise<Run> {
  const messages: Uint8Array[] = [];
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'debug', format: 'json',
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const { requests } = await runWarmup(inputs, async (message) => {
    messages.push(message);
    await Promise.resolve();
    warmUp(messages.length);
  }, logger);
  return { requests, messages, lines };
}

const ZEROS = { model_warmup: [
  { name: 'zeros', batch_size: 2, count: 2,
    inputs: { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } } },
  { name: 'off', inputs: { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } } },
  { name: 'one', batch_size: 1, inputs: {} },
] };

describe('warmup', () => {
  it('runs recorded requests in order and says so once', async (context) => {
    const { requests, messages, lines } = await run(fixture(context, 'good-three-records'));
    assert.equal(requests, 3);
    assert.deepEqual(messages.map((message) => seenRequest(message).inputs), [
      [['x', 'FP32', [3], '0000803f000000400000a040']], [['x', 'FP32', [1], '000080bf']],
      [['x', 'FP32', [2], '0000003f0000803e']],
    ]);
    assert.equal(lines.length, 1);
    const { level, message, model, requests: logged, warmupMs } = lines[0] ?? {};
    assert.deepEqual([level, message, model, logged], ['info', 'warmed up', 'm', 3]);
    assert.ok(Number.isInteger(warmupMs));
  });

  it('repeats recorded requests as told, and samples as they say', async (context) => {
    const inputs = fixture(context, 'good-three-records', { iterations: 2, config: ZEROS });
    const labels = (await collect(warmupMessages(inputs))).map(({ label }) => label);
    assert.deepEqual(labels, ['warmup record 0', 'warmup record 0', 'warmup record 1',
      'warmup record 1', 'warmup record 2', 'warmup record 2', "model_warmup 'zeros'",
      "model_warmup 'zeros'", "model_warmup 'one'"]);
    const { requests, messages, lines } = await run(inputs);
    assert.equal(requests, 9);
    assert.deepEqual(messages.slice(6, 8).map((message) => seenRequest(message).inputs),
      [[['x', 'FP32', [2, 1], '0'.repeat(16)]], [['x', 'FP32', [2, 1], '0'.repeat(16)]]]);
    assert.deepEqual(lines.map(({ level, sample, requests: logged }) => [level, sample, logged]),
      [['warn', 'off', undefined], ['info', undefined, 9]]);
  });

  it('one run is the least', async (context) => {
    for (const iterations of [0, 1]) {
      const inputs = fixture(context, 'good-three-records', { iterations });
      assert.equal((await run(inputs)).requests, 3);
    }
  });

  it('without anything to run there is no request and no error', async (context) => {
    const folder = filledFolder(context, { 'model.onnx': 'x', [FILE]: bytesOf('good-empty') });
    for (const versionFolder of [folder, join(folder, 'model.onnx'), join(folder, 'none'),
      tempFolder(context)]) {
      const { requests, messages, lines } = await run(inputsWith(versionFolder));
      assert.deepEqual([requests, messages.length], [0, 0]);
      assert.deepEqual(lines.map(({ level }) => level), ['debug']);
    }
  });

  it('holds one record at a time', async (context) => {
    const inputs = fixture(context, 'good-three-records');
    const order: string[] = [];
    for await (const { label } of warmupMessages(inputs)) {
      order.push(label);
      if (order.length === 2) break;
    }
    assert.deepEqual(order, ['warmup record 0', 'warmup record 1']);
  });
});

describe('warmup that fails', () => {
  it('names the request, keeps the code, and stops there', async (context) => {
    const inputs = fixture(context, 'good-three-records', { iterations: 2 });
    let runs = 0;
    const fail = (code: ErrorCode) => (count: number): void => {
      runs = count;
      if (count === 4) throw new ServalError(code, 'input "x": too odd');
    };
    assert.equal(await errorOf(() => run(inputs, fail(ErrorCode.InvalidArgument))),
      'INVALID_ARGUMENT: warmup record 1: input "x": too odd');
    assert.equal(runs, 4);
    assert.equal(await errorOf(() => run(inputs, fail(ErrorCode.BackendFailed))),
      'BACKEND_FAILED: warmup record 1: input "x": too odd');
    assert.equal(await errorOf(() => run(inputs, () => { throw new TypeError('bug'); })),
      'INTERNAL: warmup record 0: bug');
    assert.equal(await errorOf(() => run(
      inputsWith(tempFolder(context), { config: ZEROS }), fail(ErrorCode.InvalidArgument))),
    'no error');
  });

  it('on a sample that cannot be made', async (context) => {
    const config = { model_warmup: [{ name: 'file', batch_size: 1, inputs: {
      x: { data_type: 'TYPE_FP32', dims: [1], input_data_file: 'none' } } }] };
    assert.match(await errorOf(() => run(inputsWith(tempFolder(context), { config }))),
      /^MODEL_INVALID: model_warmup 'file': input 'x': .*cannot be read: ENOENT/);
    assert.match(await errorOf(() => run(
      inputsWith(tempFolder(context), { config: { model_warmup: 5 } }))),
    /^INVALID_ARGUMENT: model_warmup: expected a list, got 5$/);
    assert.match(await errorOf(() => run(
      inputsWith(tempFolder(context), { config: ZEROS, batchDim: false }))),
    /^INVALID_ARGUMENT: model_warmup 'zeros': batch_size: expected 1 for a model/);
  });

  it('on every bad fixture file, after the good records before', async (context) => {
    const expected: Readonly<Record<string, readonly [number, RegExp]>> = {
      'bad-checksum': [2, /^MODEL_INVALID: warmup record 2: byte \d+ of .*: DATA_LOSS: checksum/],
      'bad-truncated': [2, /^MODEL_INVALID: warmup record 2: byte \d+ of .*: DATA_LOSS: expected/],
      'bad-too-many-records': [1000, /^MODEL_INVALID: warmup file .*: expected at most 1000 recor/],
      'bad-message': [1, /^MODEL_INVALID: warmup record 1: PredictionLog: byte 0: field 6: 5 byte/],
      'bad-signature': [0, /^SIGNATURE_NOT_FOUND: warmup record 0: Serving signature key "other" /],
      'unimplemented-classify': [1, /^UNIMPLEMENTED: warmup record 1: classify_log comes with Te/],
      'unimplemented-regress': [1, /^UNIMPLEMENTED: warmup record 1: regress_log comes with Tens/],
      'unimplemented-multi_inference': [1, /^UNIMPLEMENTED: warmup record 1: multi_inference_log/],
      'unimplemented-session_run': [1, /^UNIMPLEMENTED: warmup record 1: session_run_log cannot/],
      'unimplemented-predict_streamed': [1, /^UNIMPLEMENTED: warmup record 1: predict_streamed_l/],
    };
    for (const [name, [before, message]] of Object.entries(expected)) {
      let runs = 0;
      const error = await errorOf(
        () => run(fixture(context, name), (count) => { runs = count; }));
      assert.match(error, message, name);
      assert.equal(runs, before, name);
    }
    // Only the engine sees what is wrong with these.
    const rest = Object.keys(files).filter((name) => expected[name] === undefined);
    assert.deepEqual(rest.sort(),
      ['bad-dtype', 'bad-input', 'good-empty', 'good-three-records']);
    for (const name of ['bad-dtype', 'bad-input']) {
      assert.equal((await run(fixture(context, name))).requests, 1);
    }
  });

  it('names the record of a bad tensor', async (context) => {
    const bad = { x: { dtype: 1, tensor_shape: { unknown_rank: true } } };
    const file = tfRecordFile([predictRecord({}), predictRecord(bad)]);
    const folder = filledFolder(context, { [FILE]: file });
    assert.equal(await errorOf(() => run(inputsWith(folder))), 'INVALID_ARGUMENT: warmup record 1: '
      + 'tensor parsing error: x: expected a full shape, got unknown rank');
    const place = filledFolder(context, { [`${FILE}/inner`]: '' });
    assert.match(await errorOf(() => run(inputsWith(place))),
      /^MODEL_INVALID: warmup file .*tf_serving_warmup_requests: expected a regular file$/);
  });
});
