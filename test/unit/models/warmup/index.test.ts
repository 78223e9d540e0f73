// Warm-up as the registry runs it: order, repetition, labels, the log line, and every fixture file.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { createLogger } from '../../../../ts/base/logger.js';
import {
  TF_CLASSIFY,
  TF_PREDICT,
  TF_REGRESS,
  V2_GRPC,
  type MessageProtocol,
} from '../../../../ts/model/request-kinds.js';
import { runWarmup, warmupMessages } from '../../../../ts/models/warmup/index.js';
import type { WarmupInputs } from '../../../../ts/models/warmup/index.js';
import { decode, messageTypes } from '../../protocols/raw-client.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';
import { collect, errorOf, seenRequest, warmupFiles } from './support.js';

const FILE = 'assets.extra/tf_serving_warmup_requests';
const files = warmupFiles();

const bytesOf = (name: string): Buffer => {
  const bytes = files[name];
  assert.ok(bytes !== undefined, name);
  return bytes;
};

function inputsWith(versionFolder: string, rest: Partial<WarmupInputs> = {}): WarmupInputs {
  return {
    name: 'm',
    versionFolder,
    modelFolder: join(versionFolder, 'model'),
    config: undefined,
    batchDim: true,
    iterations: 0,
    ...rest,
  };
}

const fixture = (
  context: TestContext,
  name: string,
  rest: Partial<WarmupInputs> = {},
): WarmupInputs => inputsWith(filledFolder(context, { [FILE]: bytesOf(name) }), rest);

interface Run {
  readonly requests: number;
  readonly protocols: readonly MessageProtocol[];
  readonly messages: readonly Uint8Array[];
  readonly lines: readonly Record<string, unknown>[];
}

async function run(
  inputs: WarmupInputs,
  warmUp: (count: number) => void = () => undefined,
): Promise<Run> {
  const protocols: MessageProtocol[] = [];
  const messages: Uint8Array[] = [];
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const { requests } = await runWarmup(
    inputs,
    async (protocol, message) => {
      protocols.push(protocol);
      messages.push(message);
      await Promise.resolve();
      warmUp(messages.length);
    },
    logger,
  );
  return { requests, protocols, messages, lines };
}

const ZEROS = {
  model_warmup: [
    {
      name: 'zeros',
      batch_size: 2,
      count: 2,
      inputs: { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } },
    },
    { name: 'off', inputs: { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } } },
    { name: 'one', batch_size: 1, inputs: {} },
  ],
};

describe('warmup', () => {
  it('runs recorded requests in order and says so once', async (context) => {
    const { requests, protocols, messages, lines } = await run(
      fixture(context, 'good-three-records'),
    );
    assert.equal(requests, 3);
    assert.deepEqual(protocols, [TF_PREDICT, TF_PREDICT, TF_PREDICT]);
    const types = messageTypes();
    const values = messages.map((message) => {
      const request = decode(types, 'tensorflow.serving.PredictRequest', Buffer.from(message));
      const { inputs } = request as { inputs: { key: string; value: { float_val: number[] } }[] };
      return inputs.map(({ key, value }) => [key, value.float_val]);
    });
    assert.deepEqual(values, [[['x', [1, 2, 5]]], [['x', [-1]]], [['x', [0.5, 0.25]]]]);
    assert.equal(lines.length, 1);
    const { level, message, model, requests: logged, warmupMs } = lines[0] ?? {};
    assert.deepEqual([level, message, model, logged], ['info', 'warmed up', 'm', 3]);
    assert.ok(Number.isInteger(warmupMs));
  });

  it('repeats recorded requests as told, and samples as they say', async (context) => {
    const inputs = fixture(context, 'good-three-records', { iterations: 2, config: ZEROS });
    const labels = (await collect(warmupMessages(inputs))).map(({ label }) => label);
    assert.deepEqual(labels, [
      'warmup record 0',
      'warmup record 0',
      'warmup record 1',
      'warmup record 1',
      'warmup record 2',
      'warmup record 2',
      "model_warmup 'zeros'",
      "model_warmup 'zeros'",
      "model_warmup 'one'",
    ]);
    const { requests, protocols, messages, lines } = await run(inputs);
    assert.equal(requests, 9);
    assert.deepEqual([...new Set(protocols.slice(6))], [V2_GRPC]);
    assert.deepEqual(
      messages.slice(6, 8).map((message) => seenRequest(message).inputs),
      [[['x', 'FP32', [2, 1], '0'.repeat(16)]], [['x', 'FP32', [2, 1], '0'.repeat(16)]]],
    );
    assert.deepEqual(
      lines.map(({ level, sample, requests: logged }) => [level, sample, logged]),
      [
        ['warn', 'off', undefined],
        ['info', undefined, 9],
      ],
    );
  });

  it('one run is the least', async (context) => {
    for (const iterations of [0, 1]) {
      const inputs = fixture(context, 'good-three-records', { iterations });
      assert.equal((await run(inputs)).requests, 3);
    }
  });

  it('without anything to run there is no request and no error', async (context) => {
    const folder = filledFolder(context, { 'model.onnx': 'x', [FILE]: bytesOf('good-empty') });
    for (const versionFolder of [
      folder,
      join(folder, 'model.onnx'),
      join(folder, 'none'),
      tempFolder(context),
    ]) {
      const { requests, messages, lines } = await run(inputsWith(versionFolder));
      assert.deepEqual([requests, messages.length], [0, 0]);
      assert.deepEqual(
        lines.map(({ level }) => level),
        ['debug'],
      );
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
    const fail =
      (code: ErrorCode) =>
      (count: number): void => {
        runs = count;
        if (count === 4) throw new ServalError(code, 'input "x": too odd');
      };
    assert.equal(
      await errorOf(() => run(inputs, fail(ErrorCode.InvalidArgument))),
      'INVALID_ARGUMENT: warmup record 1: input "x": too odd',
    );
    assert.equal(runs, 4);
    assert.equal(
      await errorOf(() => run(inputs, fail(ErrorCode.BackendFailed))),
      'BACKEND_FAILED: warmup record 1: input "x": too odd',
    );
    assert.equal(
      await errorOf(() =>
        run(inputs, () => {
          throw new TypeError('bug');
        }),
      ),
      'INTERNAL: warmup record 0: bug',
    );
    assert.equal(
      await errorOf(() =>
        run(inputsWith(tempFolder(context), { config: ZEROS }), fail(ErrorCode.InvalidArgument)),
      ),
      'no error',
    );
  });

  it('on a sample that cannot be made', async (context) => {
    const config = {
      model_warmup: [
        {
          name: 'file',
          batch_size: 1,
          inputs: {
            x: { data_type: 'TYPE_FP32', dims: [1], input_data_file: 'none' },
          },
        },
      ],
    };
    assert.match(
      await errorOf(() => run(inputsWith(tempFolder(context), { config }))),
      /^MODEL_INVALID: model_warmup 'file': input 'x': .*cannot be read: ENOENT/,
    );
    assert.match(
      await errorOf(() => run(inputsWith(tempFolder(context), { config: { model_warmup: 5 } }))),
      /^INVALID_ARGUMENT: model_warmup: expected a list, got 5$/,
    );
    assert.match(
      await errorOf(() => run(inputsWith(tempFolder(context), { config: ZEROS, batchDim: false }))),
      /^INVALID_ARGUMENT: model_warmup 'zeros': batch_size: expected 1 for a model/,
    );
  });

  it('on every bad fixture file, after the good records before', async (context) => {
    const expected: Readonly<Record<string, readonly [number, RegExp]>> = {
      'bad-checksum': [2, /^MODEL_INVALID: warmup record 2: byte \d+ of .*: DATA_LOSS: checksum/],
      'bad-truncated': [2, /^MODEL_INVALID: warmup record 2: byte \d+ of .*: DATA_LOSS: expected/],
      'bad-too-many-records': [1000, /^MODEL_INVALID: warmup file .*: expected at most 1000 recor/],
      'bad-message': [
        1,
        /^MODEL_INVALID: warmup record 1: PredictionLog: byte 0: field 6: expected 5 byte/,
      ],
      'bad-multi_inference-tasks': [
        1,
        /^INVALID_ARGUMENT: warmup record 1: Duplicate evaluation of signature: serving_defa/,
      ],
      'unimplemented-session_run': [1, /^UNIMPLEMENTED: warmup record 1: session_run_log cannot/],
      'unimplemented-predict_streamed': [1, /^UNIMPLEMENTED: warmup record 1: predict_streamed_l/],
    };
    for (const [name, [before, message]] of Object.entries(expected)) {
      let runs = 0;
      const error = await errorOf(() =>
        run(fixture(context, name), (count) => {
          runs = count;
        }),
      );
      assert.match(error, message, name);
      assert.equal(runs, before, name);
    }
    // Only the engine detects the errors in these.
    const rest = Object.keys(files).filter((name) => expected[name] === undefined);
    assert.deepEqual(rest.sort(), [
      'bad-classify',
      'bad-dtype',
      'bad-input',
      'bad-multi_inference',
      'bad-regress',
      'bad-signature',
      'good-empty',
      'good-three-records',
    ]);
    for (const [name, protocols] of [
      ['bad-dtype', [TF_PREDICT]],
      ['bad-input', [TF_PREDICT]],
      ['bad-signature', [TF_PREDICT]],
      ['bad-classify', [TF_PREDICT, TF_CLASSIFY]],
      ['bad-regress', [TF_PREDICT, TF_REGRESS]],
      ['bad-multi_inference', [TF_PREDICT, TF_CLASSIFY, TF_REGRESS]],
    ] as const) {
      assert.deepEqual((await run(fixture(context, name))).protocols, protocols, name);
    }
  });

  it('names a file that is none', async (context) => {
    const place = filledFolder(context, { [`${FILE}/inner`]: '' });
    assert.match(
      await errorOf(() => run(inputsWith(place))),
      /^MODEL_INVALID: warmup file .*tf_serving_warmup_requests: expected a regular file$/,
    );
  });

  const silent = createLogger({ level: 'off', format: 'json' });
  const forever = inputsWith('/none', {
    config: {
      model_warmup: [
        {
          name: 'zeros',
          batch_size: 1,
          count: 4294967295,
          inputs: { x: { data_type: 'TYPE_FP32', dims: [1], zero_data: true } },
        },
      ],
    },
  });

  it('begins no more runs than the limit, and says so', async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: 'warn',
      format: 'text',
      write: (line) => lines.push(line),
    });
    const { requests } = await runWarmup(forever, () => Promise.resolve(), logger, undefined, {
      runsMax: 7,
    });
    assert.equal(requests, 7);
    assert.match(lines.join(''), /WARN +warm-up stopped at its limit .*requests=7 runsMax=7/);
    const inTime = await runWarmup(forever, () => Promise.resolve(), silent, undefined, {
      msMax: 0,
    });
    assert.equal(inTime.requests, 0);
  });

  // Like the engine: an endless run that only its signal ends.
  const endless = (_protocol: MessageProtocol, _message: Uint8Array, signal: AbortSignal) =>
    new Promise<void>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });

  it('ends a run that never ends', async () => {
    const error = await errorOf(() =>
      runWarmup(forever, endless, silent, undefined, { endMs: 20 }),
    );
    assert.equal(
      error,
      "DEADLINE_EXCEEDED: model_warmup 'zeros': the warm-up took longer than 20 ms",
    );
  });

  it('ends when nobody wants the version any more', async () => {
    const unwanted = new AbortController();
    const error = errorOf(() => runWarmup(forever, endless, silent, unwanted.signal));
    unwanted.abort();
    assert.match(await error, /^CANCELLED: model_warmup 'zeros': the version is no longer wanted/);
    const before = await errorOf(() => runWarmup(forever, endless, silent, unwanted.signal));
    assert.match(before, /^CANCELLED: /);
  });
});
