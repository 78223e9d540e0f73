// Tables of engine.fbs written and read by TypeScript: read back, and read from what flatc made of
// the same JSON. test/boundary tests that the engine reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelSpec as ModelSpecInfo } from '../../../ts/model/engine-api.js';
import { readModelInfo, readStats, writeModelSpec, writeRoutes } from '../../../ts/engine/flat.js';
import {
  ENGINE_STATS,
  MODEL_INFO,
  MODEL_SPEC,
  ROUTE_TABLE,
} from '../../../ts/engine/generated/flat-tables.js';
import { readFlatTable, writeFlatTable } from '../../../ts/model/flat-table.js';

const PLAIN: ModelSpecInfo = { name: 'm', version: '3', backend: 'null' };
const BATCH = {
  mode: 'on',
  rowsMax: 2 ** 32 - 1,
  requestRowsMax: 12,
  preferredRows: [4, 8],
  allowedRows: [],
  anyRows: false,
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
const OVERRIDE = {
  name: 'y',
  dims: [-1, 4],
  modelDims: [],
  labels: ['cat', '', 'dög'],
  optional: false,
  ragged: false,
};
const TENSOR = {
  name: 'x',
  datatype: 'BF16',
  shape: [-1, 2],
  symbols: ['n', ''],
  unknownRank: true,
  unchecked: false,
  ranks: { min: 2, of: 'MatMul' },
  defaultProto: Uint8Array.of(8, 255),
} as const;
const WEIGHT = { name: 'w', datatype: 'FP32', dims: [3], file: 0, offset: 8, bytes: 12 } as const;
const FULL: ModelSpecInfo = {
  ...PLAIN,
  version: '-9223372036854775808',
  path: '/m/1',
  intraOpThreads: -1,
  graphOptimization: 0,
  providers: [{ name: 'cuda', options: { device_id: '1' } }],
  instances: 3,
  execMode: 'queued',
  nullDelayUs: 4,
  nullSignature: { name: 's', inputs: [TENSOR], outputs: [] },
  batch: BATCH,
  queuePolicy: POLICY,
  batchDim: true,
  outputs: [OVERRIDE],
  devices: [1, 0],
  sessionConfig: { 'session.a': '1', b: '' },
  weights: [{ ...WEIGHT, maskedCrc32c: 0 }],
  states: [0],
};

// The output of flatc -b for the same in JSON.
const FULL_BYTES = `
  RAAAAAAAPgBUAAgARAAMABAAFAAAABgAHAAgAAAABgAAAAAATAAkACgAAAAAACwAAAAHAAAAMAA0ADgAAAA8AAAAQAA+AAAA
  AAACARQDAAAEAwAA9AIAAP////8AAAAAlAIAAAMAAADUAQAAmAEAAGQBAADgAAAA0AAAAIAAAAAgAAAAFAAAAAAAAAAAAACA
  BAAAAAAAAAABAAAAAAAAAAEAAAAYAAAAAAASACgACAAHAAwAAAAUABwAEAASAAAAAAAACzAAAAAcAAAAAAAAAAgAAAAAAAAA
  DAAAAAAAAAAAAAAAAQAAAAMAAAAAAAAAAAAAAAEAAAB3AAAAAgAAACQAAAAEAAAA+P3//xAAAAAEAAAAAAAAAAAAAAABAAAA
  YgAAABT+//8QAAAABAAAAAEAAAAxAAAACQAAAHNlc3Npb24uYQAAAAIAAAABAAAAAAAAAAEAAAAQAAAADAAUAAQACAAMABAA
  DAAAAFQAAAA8AAAANAAAAAQAAAADAAAAIAAAABQAAAAEAAAABAAAAGTDtmcAAAAAAAAAAAAAAAADAAAAY2F0AAAAAAACAAAA
  //////////8EAAAAAAAAAAEAAAB5AAAADAAaAAYADAAHAAgADAAAAAAAAQEHAAAAiBMAAAAAAAAAAAAAAAAWABwABQAIAAwA
  EAAUABgABgAAAAcAFgAAAAACAQH/////DAAAABAAAAAIAAAA+gAAAAAAAAACAAAABAAAAAgAAAAAAAoAEAAEAAgADAAKAAAA
  rAAAAAwAAAAEAAAAAAAAAAEAAAAYAAAAFAAcAAgABQAMABAABgAHABQAGAAUAAAAAA4BAHAAAABUAAAANAAAABgAAAAEAAAA
  AgAAAAj/CgAMAAcAAAAIAAoAAAAAAAACBAAAAAYAAABNYXRNdWwAAAIAAAAQAAAABAAAAAAAAAAAAAAAAQAAAG4AAAACAAAA
  //////////8CAAAAAAAAAAAAAAABAAAAeAAAAAEAAABzAAAAAQAAAAQAAADs////PAAAAAQAAAABAAAADAAAAAgADAAEAAgA
  CAAAABAAAAAEAAAAAQAAADEAAAAJAAAAZGV2aWNlX2lkAAAABAAAAGN1ZGEAAAAABAAAAC9tLzEAAAAABAAAAG51bGwAAAAA
  AQAAAG0AAAA=`;
const STATS_BYTES = `
  GAAAAAAAAAAAAA4ALAAEAAgAEAAYACAADgAAACgAAAABAAAAAAAAAAIAAAAAAAAAAwAAAAAAAAAEAAAAAAAAAAAAAAACAAAA
  PAAAAAgAAAAEAAQABAAAACwAiAAEACQALAA0ADwARABMAFQAXABkAGwACAAMABAAFAAYABwAIAB0AHwALAAAAAsAAACAAQAA
  XAEAADgBAAAcAQAAAAEAAOQAAABoAAAADAAAAAAAAAANAAAAAAAAAA4AAAAAAAAADwAAAAAAAAAQAAAAAAAAABEAAAAAAAAA
  EgAAAAAAAAAAaOXPiwEAABMAAAAAAAAAFAAAAAAAAAAVAAAAAAAAABYAAAAAAAAAAAAAAAEAAAAQAAAADAAcABAABAAIAAwA
  DAAAAEgAAAAsAAAAEAAAACAAAAAAAAAAAAAAAFj///8JAAAAAAAAAIQDAAAAAAAAAAAAAHD///8IAAAAAAAAACADAAAAAAAA
  AAAAAIj///8HAAAAAAAAALwCAAAAAAAAAAAAAKD///8GAAAAAAAAAFgCAAAAAAAAAAAAALj///8FAAAAAAAAAPQBAAAAAAAA
  AAAAAND///8EAAAAAAAAAJABAAAAAAAAAAAAAOj///8DAAAAAAAAACwBAAAAAAAAAAAAAAgAGAAEAAwACAAAAAIAAAAAAAAA
  yAAAAAAAAAAAAAAACAAUAAQADAAIAAAAAQAAAAAAAABkAAAAAAAAAA==`;

const written = (members: Partial<ModelSpecInfo>): ModelSpecInfo =>
  readFlatTable(MODEL_SPEC, writeModelSpec({ ...PLAIN, ...members })) as ModelSpecInfo;

test('reads what flatc wrote', () => {
  assert.deepEqual(readFlatTable(MODEL_SPEC, Buffer.from(FULL_BYTES, 'base64')), FULL);
});

test('options that the server set itself are named for the engine, by provider', () => {
  const cuda = { name: 'cuda', options: { a: '1', b: '2' }, setByServer: ['a'] };
  const { providers, serverOptions } = written({ providers: [cuda, { name: 'x', options: {} }] });
  assert.deepEqual(serverOptions, [{ provider: 'cuda', options: ['a'] }]);
  assert.deepEqual(providers?.[0], { name: 'cuda', options: { a: '1', b: '2' } });
});

test('absent members are absent: the engine has the defaults', () => {
  assert.deepEqual(written({}), PLAIN);
  assert.deepEqual(written({ weights: [WEIGHT] }).weights, [WEIGHT]);
});

test('reads what it wrote', () => {
  assert.deepEqual(written(FULL), FULL);
  const members: Partial<ModelSpecInfo> = {
    interOpThreads: 2,
    inlineUsMax: 0,
    nullMode: 'delay',
    queueRequestsMax: 9,
    priorityLevels: 3,
    defaultPriority: 2,
    priorityPolicies: [
      { level: 3, policy: { ...POLICY, timeoutAction: 'reject', requestsMax: 1 } },
      { level: 1, policy: { ...POLICY, allowTimeoutOverride: false } },
    ],
    batch: { ...BATCH, mode: 'auto', split: false, padInner: true, onlyIfBatchable: true },
    inputs: [
      { ...OVERRIDE, name: 'x', dims: [], modelDims: [-1, 2, 2], labels: [], optional: true },
      { ...OVERRIDE, ragged: true },
    ],
    batchInputs: [{ input: 'i', kind: 'itemshapeflatten', datatype: 'FP32', source: 'x' }],
    batchOutputs: [{ output: 'y', source: 'x' }],
    weightFiles: ['/w'],
    graphs: [
      {
        signature: { name: 's', methodName: 'm', inputs: [], outputs: [TENSOR] },
        model: Uint8Array.of(1, 2, 255),
        inputNames: [],
        outputNames: ['y:0'],
        weights: [0],
        states: [{ state: 0, input: 'in', output: '' }],
      },
    ],
  };
  assert.deepEqual(written(members), { ...PLAIN, ...members });
  assert.equal(written({ batch: { ...BATCH, mode: 'off' } }).batch?.mode, 'off');
});

// The builder would truncate these: 2^32 + 1 rows to one row.
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

test('words that an enum has not are refused', () => {
  const batch = { ...BATCH, mode: 'sometimes' as 'on' };
  assert.throws(() => written({ batch }), {
    name: 'RangeError',
    message: /batch.mode is sometimes/,
  });
});

test('a timeout of all 64 bits does not become none', () => {
  const { queuePolicy } = written({ queuePolicy: { ...POLICY, defaultTimeoutUs: 2 ** 64 } });
  assert.equal(queuePolicy?.defaultTimeoutUs, 2 ** 64);
});

test('what a load answers', () => {
  const none = readModelInfo(writeFlatTable<object>(MODEL_INFO, {}));
  assert.equal(none.batchMode, 'off');
  assert.equal(none.inputsBatchable, false);
  assert.deepEqual([none.batchProof, none.batchFinding], ['untried', '']);
  assert.deepEqual([none.signatures, none.metadata, none.modelVersion], [[], {}, '0']);
  const info = { ...none, handle: 5, batchMode: 'auto', batchProof: 'contradicted' } as const;
  assert.deepEqual(readModelInfo(writeFlatTable(MODEL_INFO, info)), info);
});

test('routes say which models are gone', () => {
  const version = { version: '7', handle: 2, ready: true, reason: '' };
  const model = { name: 'a', defaultVersion: 0, versions: [version], labels: { stable: '7' } };
  assert.deepEqual(readFlatTable(ROUTE_TABLE, writeRoutes(4, [model], ['b'])), {
    epoch: 4,
    models: [
      { ...model, labels: [{ label: 'stable', version: '7' }], gone: false },
      { name: 'b', defaultVersion: -1, versions: [], labels: [], gone: true },
    ],
  });
});

const NONE = { count: 0, ns: 0 };

const COUNTS = { tensorBytesCopied: 1, tensorBytesViewed: 2, bodiesOpen: 3, ticketsOpen: 4 };

test('statistics of a model that served nothing', () => {
  assert.deepEqual(readStats(writeFlatTable<object>(ENGINE_STATS, { models: [{}], ...COUNTS })), {
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
        cacheHit: NONE,
        cacheMiss: NONE,
      },
    ],
    ...COUNTS,
  });
});

test('every statistic arrives where it belongs', () => {
  assert.deepEqual(readStats(Buffer.from(STATS_BYTES, 'base64')).models.slice(0, 1), [
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
      cacheHit: NONE, // the bytes are older
      cacheMiss: NONE,
    },
  ]);
  const cached = { cacheHit: { count: 1, ns: 2 }, cacheMiss: { count: 3, ns: 4 } };
  const written = writeFlatTable<object>(ENGINE_STATS, { models: [cached], ...COUNTS });
  const { cacheHit, cacheMiss } = readStats(written).models[0] ?? {};
  assert.deepEqual({ cacheHit, cacheMiss }, cached);
});
