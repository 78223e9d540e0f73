// engine.fbs tables as TypeScript writes and reads them, compared through the generated accessors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Builder, ByteBuffer } from 'flatbuffers';
import type { ModelSpec as ModelSpecInfo } from '../../../ts/model/engine-api.js';
import { readModelInfo, readStats, writeModelSpec } from '../../../ts/native/flat.js';
import { BatchMode } from '../../../ts/native/generated/serval/fb/batch-mode.js';
import { BatchProof } from '../../../ts/native/generated/serval/fb/batch-proof.js';
import { BatchStat } from '../../../ts/native/generated/serval/fb/batch-stat.js';
import { DurationStat } from '../../../ts/native/generated/serval/fb/duration-stat.js';
import { EngineStats } from '../../../ts/native/generated/serval/fb/engine-stats.js';
import { ExecMode } from '../../../ts/native/generated/serval/fb/exec-mode.js';
import { ModelInfo } from '../../../ts/native/generated/serval/fb/model-info.js';
import { ModelSpec } from '../../../ts/native/generated/serval/fb/model-spec.js';
import { ModelStats } from '../../../ts/native/generated/serval/fb/model-stats.js';
import { TensorOverride } from '../../../ts/native/generated/serval/fb/tensor-override.js';
import { TimeoutAction } from '../../../ts/native/generated/serval/fb/timeout-action.js';

const PLAIN: ModelSpecInfo = { name: 'm', version: '3', backend: 'null' };
const BATCH = {
  mode: 'on',
  rowsMax: 16,
  requestRowsMax: 12,
  preferredRows: [4, 8],
  allowedRows: [4, 16],
  delayUs: 250,
  split: true,
  padInner: false,
  preserveOrdering: true,
  onlyIfBatchable: false,
} as const;
const POLICY = {
  timeoutAction: 'delay',
  defaultTimeoutUs: 5_000,
  allowTimeoutOverride: true,
  requestsMax: 7,
} as const;
const OVERRIDE = { name: 'x', dims: [-1, 4], modelDims: [-1, 2, 2], labels: ['cat', '', 'dög'] };

function written(members: Partial<ModelSpecInfo>): ModelSpec {
  const bytes = writeModelSpec(new Builder(64), { ...PLAIN, ...members });
  return ModelSpec.getRootAsModelSpec(new ByteBuffer(bytes));
}

function listOf<T>(count: number, at: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => at(i));
}

test('absent members are absent: the engine has the defaults', () => {
  const spec = written({});
  assert.equal(spec.name(), 'm');
  assert.equal(spec.version(), 3n);
  assert.equal(spec.batch(), null);
  assert.equal(spec.queuePolicy(), null);
  assert.equal(spec.nullSignature(), null);
  assert.equal(spec.queueRequestsMax(), 1024);
  assert.equal(spec.instances(), 1);
  assert.equal(spec.execMode(), ExecMode.Auto);
  assert.equal(spec.batchDim(), false);
  assert.deepEqual(
    [
      spec.priorityPoliciesLength(),
      spec.inputsLength(),
      spec.outputsLength(),
      spec.devicesLength(),
      spec.sessionConfigLength(),
    ],
    [0, 0, 0, 0, 0],
  );
});

test('batch', () => {
  const batch = written({ batch: BATCH }).batch();
  assert.ok(batch);
  assert.equal(batch.mode(), BatchMode.On);
  assert.equal(batch.rowsMax(), 16);
  assert.equal(batch.requestRowsMax(), 12);
  assert.deepEqual([...(batch.preferredRowsArray() ?? [])], [4, 8]);
  assert.deepEqual([...(batch.allowedRowsArray() ?? [])], [4, 16]);
  assert.equal(batch.delayUs(), 250);
  assert.deepEqual(
    [batch.split(), batch.padInner(), batch.preserveOrdering(), batch.onlyIfBatchable()],
    [true, false, true, false],
  );
  const other = written({
    batch: {
      ...BATCH,
      mode: 'auto',
      split: false,
      padInner: true,
      preserveOrdering: false,
      onlyIfBatchable: true,
      rowsMax: 2 ** 32 - 1,
    },
  }).batch();
  assert.ok(other);
  assert.equal(other.mode(), BatchMode.Auto);
  assert.equal(other.rowsMax(), 2 ** 32 - 1);
  assert.deepEqual(
    [other.split(), other.padInner(), other.preserveOrdering(), other.onlyIfBatchable()],
    [false, true, false, true],
  );
  assert.equal(
    written({ batch: { ...BATCH, mode: 'off' } })
      .batch()
      ?.mode(),
    BatchMode.Off,
  );
});

test('queue and priorities', () => {
  const spec = written({
    queueRequestsMax: 9,
    priorityLevels: 3,
    defaultPriority: 2,
    queuePolicy: POLICY,
    priorityPolicies: [
      { level: 3, policy: { ...POLICY, timeoutAction: 'reject', requestsMax: 1 } },
      { level: 1, policy: { ...POLICY, allowTimeoutOverride: false } },
    ],
  });
  assert.equal(spec.queueRequestsMax(), 9);
  assert.equal(spec.priorityLevels(), 3);
  assert.equal(spec.defaultPriority(), 2);
  const policy = spec.queuePolicy();
  assert.ok(policy);
  assert.equal(policy.timeoutAction(), TimeoutAction.Delay);
  assert.equal(policy.defaultTimeoutUs(), 5_000n);
  assert.equal(policy.allowTimeoutOverride(), true);
  assert.equal(policy.requestsMax(), 7);
  assert.equal(spec.priorityPoliciesLength(), 2);
  assert.equal(spec.priorityPolicies(0)?.level(), 3);
  assert.equal(spec.priorityPolicies(0)?.policy()?.timeoutAction(), TimeoutAction.Reject);
  assert.equal(spec.priorityPolicies(0)?.policy()?.requestsMax(), 1);
  assert.equal(spec.priorityPolicies(1)?.level(), 1);
  assert.equal(spec.priorityPolicies(1)?.policy()?.allowTimeoutOverride(), false);
});

function overrideOf(tensor: TensorOverride | null): unknown {
  assert.ok(tensor);
  return {
    name: tensor.name(),
    dims: listOf(tensor.dimsLength(), (i) => Number(tensor.dims(i))),
    modelDims: listOf(tensor.modelDimsLength(), (i) => Number(tensor.modelDims(i))),
    labels: listOf(tensor.labelsLength(), (i) => tensor.labels(i)),
  };
}

test('tensors, devices and session options', () => {
  const bare = { name: 'y', dims: [], modelDims: [], labels: [] };
  const spec = written({
    batchDim: true,
    inputs: [bare, { ...OVERRIDE, labels: [] }],
    outputs: [OVERRIDE],
    devices: [1, 0],
    sessionConfig: { 'session.a': '1', b: '' },
  });
  assert.equal(spec.batchDim(), true);
  assert.deepEqual(
    listOf(spec.inputsLength(), (i) => overrideOf(spec.inputs(i))),
    [bare, { ...OVERRIDE, labels: [] }],
  );
  assert.deepEqual(
    listOf(spec.outputsLength(), (i) => overrideOf(spec.outputs(i))),
    [OVERRIDE],
  );
  assert.deepEqual([...(spec.devicesArray() ?? [])], [1, 0]);
  const pairs = listOf(spec.sessionConfigLength(), (i) => spec.sessionConfig(i)).map((pair) => [
    pair?.key(),
    pair?.value(),
  ]);
  assert.deepEqual(pairs, [
    ['session.a', '1'],
    ['b', ''],
  ]);
});

test('the members of before', () => {
  const tensor = {
    name: 'x',
    datatype: 'BF16',
    shape: [-1, 2],
    symbols: ['n', ''],
    unknownRank: false,
  } as const;
  const spec = written({
    version: '-9223372036854775808',
    path: '/m/1',
    intraOpThreads: 1,
    interOpThreads: 2,
    graphOptimization: 0,
    instances: 3,
    execMode: 'queued',
    inlineUsMax: 0,
    nullMode: 'delay',
    nullDelayUs: 4,
    nullSignature: { name: 's', inputs: [tensor], outputs: [] },
    providers: [{ name: 'cuda', options: { device_id: '1' } }],
  });
  assert.equal(spec.version(), -(2n ** 63n));
  assert.equal(spec.path(), '/m/1');
  assert.deepEqual(
    [
      spec.intraOpThreads(),
      spec.interOpThreads(),
      spec.graphOptimization(),
      spec.instances(),
      spec.execMode(),
      spec.inlineUsMax(),
      spec.nullMode(),
      spec.nullDelayUs(),
    ],
    [1, 2, 0, 3, ExecMode.Queued, 0, 'delay', 4n],
  );
  assert.equal(spec.nullSignature()?.inputs(0)?.symbols(0), 'n');
  assert.equal(spec.providers(0)?.name(), 'cuda');
  assert.equal(spec.providers(0)?.options(0)?.value(), '1');
});

// The builder would cut these to other numbers: 2^32 + 1 rows to one row.
test('numbers that do not fit are refused with their member', () => {
  const wrong: readonly [Partial<ModelSpecInfo>, RegExp][] = [
    [{ batch: { ...BATCH, rowsMax: 2 ** 32 } }, /ModelSpec.batch.rowsMax is 4294967296, expected/],
    [{ batch: { ...BATCH, rowsMax: -1 } }, /batch.rowsMax is -1/],
    [{ batch: { ...BATCH, delayUs: 0.5 } }, /batch.delayUs is 0.5/],
    [{ batch: { ...BATCH, requestRowsMax: NaN } }, /batch.requestRowsMax is NaN/],
    [{ batch: { ...BATCH, preferredRows: [1, 2 ** 33] } }, /batch.preferredRows is 8589934592/],
    [{ batch: { ...BATCH, allowedRows: [-4] } }, /batch.allowedRows is -4/],
    [{ queuePolicy: { ...POLICY, defaultTimeoutUs: -1 } }, /queuePolicy.defaultTimeoutUs is -1/],
    [{ queuePolicy: { ...POLICY, requestsMax: 1.5 } }, /queuePolicy.requestsMax is 1.5/],
    [{ priorityPolicies: [{ level: 2 ** 32, policy: POLICY }] }, /priorityPolicies\[0\].level is/],
    [{ priorityLevels: -1 }, /priorityLevels is -1/],
    [{ defaultPriority: 2 ** 40 }, /defaultPriority is/],
    [{ queueRequestsMax: 2 ** 31 }, /queueRequestsMax is 2147483648/],
    [{ devices: [2 ** 31] }, /devices is 2147483648/],
    [{ inputs: [{ ...OVERRIDE, dims: [2 ** 63] }] }, /inputs\[0\].dims is/],
    [{ version: '9223372036854775808' }, /version is 9223372036854775808/],
  ];
  for (const [members, message] of wrong) {
    assert.throws(() => written(members), { name: 'RangeError', message });
  }
  assert.throws(() => written({ version: 'latest' }), SyntaxError);
});

test('a timeout of all 64 bits does not become none', () => {
  const policy = written({ queuePolicy: { ...POLICY, defaultTimeoutUs: 2 ** 64 } }).queuePolicy();
  assert.equal(policy?.defaultTimeoutUs(), 2n ** 64n - 1n);
});

test('what a load answers', () => {
  const builder = new Builder(64);
  const finding = builder.createString("output 'y'");
  ModelInfo.startModelInfo(builder);
  ModelInfo.addHandle(builder, 5);
  ModelInfo.addBatchMode(builder, BatchMode.Auto);
  ModelInfo.addInputsBatchable(builder, true);
  ModelInfo.addBatchProof(builder, BatchProof.Contradicted);
  ModelInfo.addBatchFinding(builder, finding);
  builder.finish(ModelInfo.endModelInfo(builder));
  const info = readModelInfo(new ByteBuffer(builder.asUint8Array()));
  assert.equal(info.handle, 5);
  assert.equal(info.batchMode, 'auto');
  assert.equal(info.inputsBatchable, true);
  assert.deepEqual([info.batchProof, info.batchFinding], ['contradicted', "output 'y'"]);
  const empty = new Builder(64);
  ModelInfo.startModelInfo(empty);
  empty.finish(ModelInfo.endModelInfo(empty));
  const none = readModelInfo(new ByteBuffer(empty.asUint8Array()));
  assert.equal(none.batchMode, 'off');
  assert.equal(none.inputsBatchable, false);
  assert.deepEqual([none.batchProof, none.batchFinding], ['untried', '']);
});

function statsBytes(fill: (builder: Builder) => () => void): ByteBuffer {
  const builder = new Builder(64);
  const add = fill(builder);
  ModelStats.startModelStats(builder);
  add();
  const model = ModelStats.endModelStats(builder);
  const models = EngineStats.createModelsVector(builder, [model]);
  builder.finish(EngineStats.createEngineStats(builder, models, 1n, 2n, 3n, 4n));
  return new ByteBuffer(builder.asUint8Array());
}

const NONE = { count: 0, ns: 0 };

test('statistics of a model that served nothing', () => {
  assert.deepEqual(readStats(statsBytes(() => () => undefined)), {
    models: [
      {
        handle: 0,
        requestsInline: 0,
        requestsQueued: 0,
        failures: 0,
        cancelled: 0,
        queueFull: 0,
        queueNs: 0,
        computeNs: 0,
        lastInferenceMs: 0,
        inferenceCount: 0,
        executionCount: 0,
        success: NONE,
        fail: NONE,
        queue: NONE,
        computeInput: NONE,
        computeInfer: NONE,
        computeOutput: NONE,
        batches: [],
        rejected: 0,
        pending: 0,
      },
    ],
    tensorBytesCopied: 1,
    tensorBytesViewed: 2,
    bodiesOpen: 3,
    ticketsOpen: 4,
  });
});

test('every statistic arrives where it belongs', () => {
  const bytes = statsBytes((builder) => {
    const duration = (n: bigint): number => DurationStat.createDurationStat(builder, n, n * 100n);
    const [success, fail, queue, input, infer, output, batchInput, batchInfer, batchOutput] = [
      1n,
      2n,
      3n,
      4n,
      5n,
      6n,
      7n,
      8n,
      9n,
    ].map(duration) as [number, number, number, number, number, number, number, number, number];
    BatchStat.startBatchStat(builder);
    BatchStat.addBatchSize(builder, 32n);
    BatchStat.addComputeInput(builder, batchInput);
    BatchStat.addComputeInfer(builder, batchInfer);
    BatchStat.addComputeOutput(builder, batchOutput);
    const batches = ModelStats.createBatchesVector(builder, [BatchStat.endBatchStat(builder)]);
    return () => {
      ModelStats.addHandle(builder, 11);
      ModelStats.addRequestsInline(builder, 12n);
      ModelStats.addRequestsQueued(builder, 13n);
      ModelStats.addFailures(builder, 14n);
      ModelStats.addCancelled(builder, 15n);
      ModelStats.addQueueFull(builder, 16n);
      ModelStats.addQueueNs(builder, 17n);
      ModelStats.addComputeNs(builder, 18n);
      ModelStats.addLastInferenceMs(builder, 1_700_000_000_000n);
      ModelStats.addInferenceCount(builder, 19n);
      ModelStats.addExecutionCount(builder, 20n);
      ModelStats.addSuccess(builder, success);
      ModelStats.addFail(builder, fail);
      ModelStats.addQueue(builder, queue);
      ModelStats.addComputeInput(builder, input);
      ModelStats.addComputeInfer(builder, infer);
      ModelStats.addComputeOutput(builder, output);
      ModelStats.addBatches(builder, batches);
      ModelStats.addRejected(builder, 21n);
      ModelStats.addPending(builder, 22n);
    };
  });
  assert.deepEqual(readStats(bytes).models, [
    {
      handle: 11,
      requestsInline: 12,
      requestsQueued: 13,
      failures: 14,
      cancelled: 15,
      queueFull: 16,
      queueNs: 17,
      computeNs: 18,
      lastInferenceMs: 1_700_000_000_000,
      inferenceCount: 19,
      executionCount: 20,
      success: { count: 1, ns: 100 },
      fail: { count: 2, ns: 200 },
      queue: { count: 3, ns: 300 },
      computeInput: { count: 4, ns: 400 },
      computeInfer: { count: 5, ns: 500 },
      computeOutput: { count: 6, ns: 600 },
      batches: [
        {
          batchSize: 32,
          computeInput: { count: 7, ns: 700 },
          computeInfer: { count: 8, ns: 800 },
          computeOutput: { count: 9, ns: 900 },
        },
      ],
      rejected: 21,
      pending: 22,
    },
  ]);
});
