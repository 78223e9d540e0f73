// The tracer between settings, engine and sink: the engine's settings, the listeners' view, and
// records read and passed on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import type { TraceConfig } from '../../../../../ts/config/observation/tracing.js';
import type { Logger } from '../../../../../ts/base/logger.js';
import type {
  TraceRecord,
  TraceRules,
  TraceTake,
} from '../../../../../ts/base/generated/engine.js';
import { readFlatTable, writeFlatTable } from '../../../../../ts/model/flat-table.js';
import type { NativeBinding } from '../../../../../ts/engine/binding.js';
import { TRACE_RULES, TRACE_TAKE } from '../../../../../ts/engine/generated/flat-tables.js';
import { Tracer } from '../../../../../ts/server/observe/tracing/tracer.js';
import { record } from './records.js';

const CONFIG: TraceConfig = {
  levels: ['TIMESTAMPS'],
  rate: 5,
  count: -1,
  logFrequency: 0,
  mode: 'opentelemetry',
  file: '',
  otlp: {
    url: 'http://c/v1/traces',
    protocol: 'http',
    resource: {},
    waitingMax: 1,
    delayMs: 1,
    spansMax: 1,
  },
  options: {},
};

class Rig {
  readonly rules: TraceRules[] = [];
  readonly lost: number[] = [];
  readonly word = new SharedArrayBuffer(4);
  readonly written: TraceRecord[] = [];
  take: TraceTake = { records: [], left: [] };
  closed = 0;
  opened = 0;
  tracer: Tracer;

  constructor(change: Partial<TraceConfig> = {}) {
    const native = {
      setTraces: (bytes: Uint8Array): number => {
        this.rules.push(readFlatTable(TRACE_RULES, Buffer.from(bytes)));
        return ErrorCode.Ok;
      },
      takeTraces: (lost: number): number => {
        this.lost.push(lost);
        return ErrorCode.Ok;
      },
    } as unknown as NativeBinding;
    this.tracer = new Tracer({
      config: { ...CONFIG, ...change },
      word: this.word,
      logger: { error: () => undefined } as unknown as Logger,
      link: {
        run: (call) => void call(native),
        read: (call) => {
          call(native);
          const bytes = writeFlatTable(TRACE_TAKE, this.take);
          this.take = { ...this.take, records: [] };
          return Buffer.from(bytes);
        },
      },
      openSink: () => {
        this.opened += 1;
        return Promise.resolve({
          write: (records) => void this.written.push(...records),
          takeLost: () => 3,
          close: () => {
            this.closed += 1;
            return Promise.resolve();
          },
        });
      },
    });
  }

  get parents(): number | undefined {
    return new Uint32Array(this.word)[0];
  }
}

test('applies configured settings at once, so that listeners read callers', async () => {
  const rig = new Rig();
  assert.deepEqual(rig.rules, [
    {
      rules: [{ model: '', own: true, on: true, rate: 5, count: -1, tensors: false }],
      parents: true,
    },
  ]);
  assert.equal(rig.parents, 1);
  assert.equal(rig.opened, 1);
  await rig.tracer.close();
  assert.equal(rig.closed, 1);
});

test('has no sink and reads nothing when it is off', async () => {
  const rig = new Rig({ levels: [] });
  assert.deepEqual([rig.rules.length, rig.opened, rig.parents], [0, 0, 0]);
  assert.deepEqual(rig.tracer.settings('')['trace_level'], ['OFF']);
  assert.deepEqual(rig.lost, []);
  rig.tracer.update('m', { trace_level: ['TIMESTAMPS'], trace_rate: '1' });
  assert.deepEqual([rig.rules.length, rig.opened, rig.parents], [1, 1, 1]);
  rig.tracer.update('m', { trace_level: null, trace_rate: null });
  assert.equal(rig.parents, 0);
  assert.equal(rig.rules.at(-1)?.rules[0]?.own, false);
  await rig.tracer.close();
});

test("Triton's mode takes no caller's context", async () => {
  const rig = new Rig({ mode: 'triton', file: '/t.json' });
  assert.deepEqual([rig.rules[0]?.parents, rig.parents], [false, 0]);
  await rig.tracer.close();
});

test('passes records on, reports lost ones, and returns the rest', async () => {
  const rig = new Rig();
  await new Promise(setImmediate);
  const left = [{ model: '', own: true, on: true, rate: 5, count: 7, tensors: false }];
  rig.take = { records: [record()], left };
  assert.equal(rig.tracer.settings('')['trace_count'], '7');
  assert.equal(rig.written.length, 1);
  assert.equal(rig.written[0]?.steadyNs, record().steadyNs);
  assert.equal(rig.lost.at(-1), 3);
  await rig.tracer.close();
});
