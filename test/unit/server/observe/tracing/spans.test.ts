// Records converted to spans: times to the nanosecond, parents, children, links, states, failures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { SpanWriter } from '../../../../../ts/server/observe/tracing/spans.js';
import { environmentAttributes } from '../../../../../ts/server/observe/tracing/otlp-exporter.js';
import { BATCHED, SPAN, TRACE, bytes, record } from './records.js';

function writer(): SpanWriter {
  let last = 0;
  return new SpanWriter(resourceFromAttributes({}), '1.2.3', () => {
    last += 1;
    return String(last).padStart(16, '0');
  });
}

test('makes spans of a request and its steps in order', () => {
  const spans = writer().spans([record({ requestId: 'r' })]);
  assert.deepEqual(
    spans.map(({ name, startTime, endTime, parentSpanContext }) => [
      name,
      startTime,
      endTime,
      parentSpanContext?.spanId,
    ]),
    [
      ['infer m', [1_700_000_000, 999_999_000], [1_700_000_001, 10_000], undefined],
      ['queue', [1_700_000_000, 999_999_000], [1_700_000_001, 0], SPAN],
      ['decode', [1_700_000_001, 0], [1_700_000_001, 2000], SPAN],
      ['compute', [1_700_000_001, 2000], [1_700_000_001, 5000], SPAN],
      ['encode', [1_700_000_001, 5000], [1_700_000_001, 9000], SPAN],
    ],
  );
  const [root] = spans;
  assert.equal(root?.spanContext().traceId, TRACE);
  assert.deepEqual(root?.attributes, {
    'serval.model.name': 'm',
    'serval.model.version': '3',
    'serval.protocol': 'v2-rest',
    'serval.rows': 2,
    'serval.request.bytes': 10,
    'serval.response.bytes': 20,
    'serval.request.id': 'r',
  });
  assert.deepEqual(root?.instrumentationScope, { name: 'serval', version: '1.2.3' });
  assert.equal(new Set(spans.map((span) => span.spanContext().spanId)).size, spans.length);
});

test('the wait for a load is a span before the queue, and a part of its time', () => {
  const spans = writer().spans([record({ loadWaitNs: 400 })]);
  assert.deepEqual(
    spans.slice(1, 4).map(({ name, startTime, endTime }) => [name, startTime, endTime]),
    [
      ['load', [1_700_000_000, 999_999_000], [1_700_000_000, 999_999_400]],
      ['queue', [1_700_000_000, 999_999_400], [1_700_000_001, 0]],
      ['decode', [1_700_000_001, 0], [1_700_000_001, 2000]],
    ],
  );
});

test('makes no span for steps that were not reached, and names the failure', () => {
  const failed = record({ code: ErrorCode.QueueFull, inputNs: 0, inferNs: 0, outputNs: 0 });
  const spans = writer().spans([failed]);
  assert.deepEqual(
    spans.map(({ name }) => name),
    ['infer m', 'queue'],
  );
  assert.deepEqual(spans[0]?.status, { code: 2, message: 'QUEUE_FULL' });
  assert.equal(spans[0]?.attributes['error.type'], 'QUEUE_FULL');
});

test("a caller's span is the parent, its state goes on", () => {
  const parentId = bytes('0123456789abcdef');
  const [root] = writer().spans([record({ parentId, traceState: 'a=1, b=x=y' })]);
  assert.deepEqual(
    [root?.parentSpanContext?.spanId, root?.parentSpanContext?.isRemote],
    ['0123456789abcdef', true],
  );
  const { traceState } = root?.spanContext() ?? {};
  assert.deepEqual(
    [traceState?.serialize(), traceState?.get('b'), traceState?.get('c')],
    ['a=1, b=x=y', 'x=y', undefined],
  );
  assert.equal(traceState?.set('c', '1').unset('a').serialize(), 'a=1, b=x=y');
});

test('a batch has one span, however often its requests come', () => {
  const spans = writer();
  const other = { ...BATCHED, spanId: bytes('3333333333333333') };
  const first = spans.spans([record(BATCHED), record(other)]);
  const batches = first.filter(({ name }) => name === 'batch m');
  assert.equal(batches.length, 1);
  assert.deepEqual(
    batches[0]?.links.map(({ context }) => context.spanId),
    [SPAN, '3333333333333333'],
  );
  assert.equal(batches[0]?.attributes['serval.batch.rows'], 4);
  const linked = first.filter(({ links }) => links[0]?.context.spanId === '22'.repeat(8));
  assert.deepEqual(
    linked.map(({ name }) => name),
    ['compute', 'compute'],
  );
  const late = spans.spans([record(BATCHED)]);
  assert.ok(late.every(({ name }) => name !== 'batch m'));
});

test('batches are not remembered for ever', () => {
  const spans = writer();
  for (let i = 1; i <= 3000; i += 1) {
    const batchSpanId = bytes(i.toString(16).padStart(16, '0'));
    const made = spans.spans([record({ ...BATCHED, batchSpanId })]);
    assert.equal(made.filter(({ name }) => name === 'batch m').length, 1);
  }
});

test("OpenTelemetry's environment names the resource", () => {
  assert.deepEqual(environmentAttributes({}), {});
  assert.deepEqual(
    environmentAttributes({
      OTEL_RESOURCE_ATTRIBUTES: 'a=1, b=two%20words,bad,c=%zz',
      OTEL_SERVICE_NAME: 's',
    }),
    { a: '1', b: 'two words', c: '%zz', 'service.name': 's' },
  );
});
