// Destinations of traces: in batches to a collector, which may be down; to files in Triton's form.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Logger } from '../../../../../ts/base/logger.js';
import type { TracedTensor, TraceRecord } from '../../../../../ts/base/generated/engine.js';
import { FileSink } from '../../../../../ts/server/observe/tracing/file-sink.js';
import { OtlpSink, type SpanExport } from '../../../../../ts/server/observe/tracing/otlp-sink.js';
import { tempFolder } from '../../../temp-folder.js';
import { record } from './records.js';

const SETTINGS = {
  url: 'http://c/v1/traces',
  protocol: 'http',
  resource: {},
  waitingMax: 10,
  delayMs: 1_000_000,
  spansMax: 24,
} as const;

class Log {
  readonly warnings: string[] = [];
  readonly logger = {
    warn: (message: string, fields: object) => {
      this.warnings.push(`${message} ${JSON.stringify(fields)}`);
    },
  } as unknown as Logger;
}

/** A collector that answers on the test's command. */
class FakeExport implements SpanExport {
  readonly sent: number[] = [];
  readonly #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  isShut = false;

  send(records: readonly TraceRecord[]): Promise<void> {
    this.sent.push(records.length);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }
  async answer(error?: Error): Promise<void> {
    const one = this.#waiting.shift();
    if (error === undefined) one?.resolve();
    else one?.reject(error);
    await new Promise(setImmediate);
  }
  shutdown(): Promise<void> {
    this.isShut = true;
    return Promise.resolve();
  }
}

const some = (count: number): TraceRecord[] => Array.from({ length: count }, () => record());

test('traces are sent in batches, one message at a time', async () => {
  const { logger } = new Log();
  const spans = new FakeExport();
  const sink = new OtlpSink({ settings: SETTINGS, spans, logger });
  sink.write(some(3));
  assert.deepEqual(spans.sent, [], 'it waits for company');
  sink.write(some(6));
  assert.deepEqual(spans.sent, [4]);
  await spans.answer();
  assert.deepEqual(spans.sent, [4, 4]);
  await spans.answer();
  const closed = sink.close();
  assert.deepEqual(spans.sent, [4, 4, 1]);
  await spans.answer();
  await closed;
  assert.equal(sink.takeLost(), 0);
  assert.ok(spans.isShut);
});

test('a collector that is gone loses what there is no room for, with one warning', async () => {
  const { logger, warnings } = new Log();
  const spans = new FakeExport();
  const sink = new OtlpSink({ settings: SETTINGS, spans, logger });
  sink.write(some(4));
  sink.write(some(12));
  assert.equal(sink.takeLost(), 2);
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  await spans.answer(refused);
  assert.equal(sink.takeLost(), 4);
  assert.equal(sink.takeLost(), 0, 'counted once');
  await spans.answer(refused);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^traces are dropped: the collector .*"too many are queued"/);
});

function files(context: TestContext) {
  const folder = tempFolder(context);
  return { folder, path: join(folder, 'trace.json') };
}

test("one file is Triton's list, and whole after each write", async (context) => {
  const { path } = files(context);
  const { logger } = new Log();
  const groupOf = () => ({ key: '', tracesMax: 0, timestamps: true });
  const sink = new FileSink({ path, groupOf, logger });
  sink.write([record({ requestId: 'r"1' }), record({ model: 'n' })]);
  sink.write([record()]);
  await sink.close();
  const entries = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>[];
  assert.equal(entries.length, 27);
  assert.deepEqual(entries[0], { id: 1, model_name: 'm', model_version: 3, request_id: 'r"1' });
  assert.deepEqual(entries[9], { id: 2, model_name: 'n', model_version: 3 });
  const names = entries.slice(1, 9).map((entry) => {
    const [time] = entry['timestamps'] as [{ name: string; ns: number }];
    return time.name;
  });
  assert.deepEqual(names, [
    ...['REQUEST_START', 'QUEUE_START', 'COMPUTE_START', 'COMPUTE_INPUT_END'],
    ...['COMPUTE_OUTPUT_START', 'COMPUTE_END', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'],
  ]);
  // A number above 2^53 is exact.
  assert.ok(readFileSync(path, 'utf8').includes('{"name":"COMPUTE_START","ns":9007199254741993}'));
});

test('writes a file of several traces early if they are large, and drops what memory lacks', async (context) => {
  const { folder, path } = files(context);
  const { logger } = new Log();
  const groupOf = () => ({ key: '', tracesMax: 1000, timestamps: false });
  const sink = new FileSink({ path, groupOf, logger });
  const large: TracedTensor = {
    ...{ name: 'x', output: false, shape: [1], missing: new Uint8Array(0), leftOut: false },
    datatype: 'BYTES',
    ...{ data: Buffer.from(`\0\0\x90\0${'x'.repeat(9_437_184)}`) },
  };
  const records = Array.from({ length: 9 }, () => record({ tensors: [large] }));
  sink.write(records);
  assert.equal(sink.takeLost(), 1, 'eight of 9 MB are above 64 MiB');
  await sink.close();
  assert.equal(readdirSync(folder).length, 4, 'two traces in each file');
});

test('writes tensors, with or without times, so that each value can be read back', async (context) => {
  const { path } = files(context);
  const { logger } = new Log();
  const groupOf = (model: string) => ({ key: '', tracesMax: 0, timestamps: model === 'm' });
  const sink = new FileSink({ path, groupOf, logger });
  const tensor = (datatype: TracedTensor['datatype'], data: Uint8Array, more = {}) => ({
    ...{ name: 'x"', output: false, datatype, shape: [2], data, missing: new Uint8Array(0) },
    ...{ leftOut: false, ...more },
  });
  const bytesOf = (elements: ArrayBufferView): Uint8Array => new Uint8Array(elements.buffer);
  const texts = Buffer.from('\u0002\0\0\0a"\u0001\0\0\0b');
  const missing = Uint8Array.of(0, 1);
  const tensors = [
    tensor('FP32', bytesOf(Float32Array.of(0.1, -0))),
    tensor('FP64', bytesOf(Float64Array.of(0.1, Infinity)), { output: true }),
    tensor('INT8', bytesOf(Int8Array.of(-128, 65))),
    tensor('UINT64', bytesOf(BigUint64Array.of(2n ** 64n - 1n, 0n))),
    tensor('BOOL', Uint8Array.of(1, 0)),
    tensor('FP16', bytesOf(Uint16Array.of(0x3c00, 0x7e00))),
    tensor('BYTES', texts),
    tensor('INT64', bytesOf(BigInt64Array.of(5n, 6n)), { missing }),
    tensor('FP32', new Uint8Array(0), { leftOut: true }),
  ];
  sink.write([record({ model: 'n', tensors }), record({ tensors: [] })]);
  await sink.close();
  const entries = JSON.parse(readFileSync(path, 'utf8')) as readonly {
    readonly activity?: string;
    readonly tensor?: Readonly<Record<string, unknown>>;
  }[];
  assert.equal(entries.length, 1 + tensors.length + 9, 'the first has no times');
  assert.deepEqual(
    entries.slice(1, 1 + tensors.length).map((entry) => entry.tensor?.['data']),
    [
      ...['0.1,-0', '0.1,inf', '-128,65', '18446744073709551615,0', '1,0', '1,nan'],
      ...['"a\\"","b"', '5,null', ''],
    ],
  );
  assert.equal(entries[1]?.activity, 'TENSOR_QUEUE_INPUT');
  assert.equal(entries[2]?.activity, 'TENSOR_BACKEND_OUTPUT');
  assert.deepEqual(entries[9]?.tensor, {
    ...{ name: 'x"', data: '', shape: '2', dtype: 'FP32', left_out: true },
  });
});

test('writes a fixed number of traces per file; the rest at the end', async (context) => {
  const { folder, path } = files(context);
  const { logger } = new Log();
  const groupOf = (model: string) => ({
    key: model === 'own' ? 'own' : '',
    tracesMax: 2,
    timestamps: true,
  });
  const sink = new FileSink({ path, groupOf, logger });
  sink.write([record(), record({ model: 'own' }), record(), record()]);
  await sink.close();
  const read = (name: string): number[] => {
    const all = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { id: number }[];
    return [...new Set(all.map(({ id }) => id))];
  };
  assert.deepEqual(readdirSync(folder).sort(), ['trace.json.0', 'trace.json.1', 'trace.json.2']);
  assert.deepEqual(['trace.json.0', 'trace.json.1', 'trace.json.2'].map(read).sort(), [
    [1, 3],
    [2],
    [4],
  ]);
});

test('a file that cannot be written loses traces, with one warning', async (context) => {
  const { path } = files(context);
  mkdirSync(path);
  const { logger, warnings } = new Log();
  const sink = new FileSink({
    path,
    groupOf: () => ({ key: '', tracesMax: 0, timestamps: true }),
    logger,
  });
  sink.write(some(2));
  sink.write(some(1));
  await sink.close();
  assert.equal(sink.takeLost(), 3);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /the file cannot be written .*EISDIR/);
});
