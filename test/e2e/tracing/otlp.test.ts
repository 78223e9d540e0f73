// Traced requests, from the client to a collector: over OTLP's HTTP and gRPC, in both protocols and
// all listeners, with callers' context in and out; the cost of a dead collector. Source: W3C Trace
// Context; OpenTelemetry protocol; docs/guides/tracing.md.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, metric, predict, putDelayModel, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { findPython } from '../support/python-suites.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { Collector, type Span } from './collector.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT_SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${PARENT_SPAN}-01`;
const NOT_TRACED = `00-${TRACE}-${PARENT_SPAN}-00`;
const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;
const CHILDREN = ['queue', 'decode', 'compute', 'encode'];
const MODEL_INFER = '/inference.GRPCInferenceService/ModelInfer';
const BATCHED = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}]}';
/** A request that the model refuses. */
const FAILING = '{"instances":[7]}';
const types = messageTypes();
const { python, missing } = findPython();

// Sent soon, so that a test waits for spans and not for the batch's delay.
const SOON = ['--trace-config=opentelemetry,bsp_schedule_delay=50', '--trace-rate=1'];

interface Called {
  readonly code: number;
  readonly head: Metadata;
}

function grpcCall(
  client: RawClient,
  path: string,
  message: Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<Called> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    let head = new Metadata();
    let code: number | undefined;
    const call = client.client.makeUnaryRequest(
      path,
      same,
      same,
      message,
      metadata,
      (error: ServiceError | null) => {
        code = error?.code ?? 0;
        resolve({ code, head });
      },
    );
    call.on('metadata', (came: Metadata) => {
      head = came;
    });
  });
}

const inferMessage = (model: string, id = ''): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    id,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [2], contents: { fp32_contents: [1, 2] } }],
  });

const failingMessage = (): Buffer =>
  encode(types, 'inference.ModelInferRequest', {
    model_name: 'fails_at_run',
    inputs: [{ name: 'index', datatype: 'INT64', shape: [1], contents: { int64_contents: [7] } }],
  });

/**
 * A request's span and its children, by name; checks that their times are ordered, inside, and add
 * up.
 */
function checkedTrace(spans: readonly Span[], root: Span): Readonly<Record<string, Span>> {
  const children = spans.filter(({ parentId }) => parentId === root.spanId);
  const byName = Object.fromEntries(children.map((span) => [span.name, span]));
  let at = root.startNs;
  for (const name of CHILDREN) {
    const child = byName[name];
    if (child === undefined) continue;
    assert.equal(child.traceId, root.traceId);
    assert.equal(child.startNs, at, `${name} begins where the one before ends`);
    at = child.endNs;
  }
  assert.ok(at <= root.endNs, 'what it went through is no longer than it');
  assert.equal(children.length, Object.keys(byName).length, 'each once');
  return byName;
}

const rootsOf = (spans: readonly Span[], model: string): readonly Span[] =>
  spans.filter(({ name }) => name === `infer ${model}`);

describe('traces', { skip: missing !== '' && missing }, () => {
  const folders = new ModelFolders();
  let models = '';
  let collector: Collector;
  before(async () => {
    models = folders.repository('traced', ['half_plus_three', 'identity_fp32', 'fails_at_run']);
    putDelayModel(models, 'batched', 30, 'max_batch_size: 16\ndynamic_batching { }\n');
    collector = await Collector.start(python);
  });
  after(async () => {
    await collector.stop();
    folders.remove();
  });

  const started = async (
    context: TestContext,
    ...args: readonly string[]
  ): Promise<ServalProcess> => {
    const server = await startServer([models, ...SOON, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const whole = (traceId: string, count: number): Promise<readonly Span[]> =>
    collector.spans(count, (span) => span.traceId === traceId);

  overListeners('of REST requests', (flags) => {
    it('are sent over OTLP/HTTP, with the steps of the request', async (context) => {
      const server = await started(context, '--trace-otlp', collector.http, ...flags);
      const body = { ...(JSON.parse(v2Body('x', [1, 2])) as object), id: 'my id' };
      const answer = await exchange(
        server.httpPort,
        'POST',
        '/v2/models/half_plus_three/infer',
        JSON.stringify(body),
      );
      assert.equal(answer.status, 200);
      const [, traceId = '', spanId] =
        TRACE_PARENT.exec(answer.headers.get('traceparent') ?? '') ?? [];
      assert.notEqual(traceId, '', 'the answer says what it is traced as');
      const spans = await whole(traceId, 4);
      const root = spans.find((span) => span.spanId === spanId);
      assert.ok(root);
      assert.deepEqual(
        [root.name, root.kind, root.parentId],
        ['infer half_plus_three', 'SPAN_KIND_SERVER', ''],
      );
      assert.deepEqual(root.failed, undefined);
      assert.equal(root.resource['service.name'], 'serval');
      assert.match(String(root.resource['service.version']), /^\d+\.\d+\.\d+/);
      assert.equal(root.attributes['serval.model.name'], 'half_plus_three');
      assert.equal(root.attributes['serval.model.version'], '123');
      assert.equal(root.attributes['serval.protocol'], 'v2-rest');
      assert.equal(root.attributes['serval.request.id'], 'my id');
      assert.equal(root.attributes['serval.request.bytes'], JSON.stringify(body).length);
      const { decode, compute, encode: written } = checkedTrace(spans, root);
      assert.ok(decode && compute && written);
      const now = BigInt(Date.now()) * 1_000_000n;
      assert.ok(now - root.endNs < 60_000_000_000n, 'by the clock on the wall');
    });

    it("continue a caller's, and leave out requests that it does not trace", async (context) => {
      const server = await started(context, '--trace-otlp', collector.http, ...flags);
      const ask = (traceparent: string, model = 'half_plus_three', id = '') =>
        exchange(server.httpPort, 'POST', `/v1/models/${model}:predict`, FAILING, [
          `traceparent: ${traceparent}`,
          `Tracestate: serval=${id}`,
        ]);
      const unsampled = await ask(NOT_TRACED, 'half_plus_three', 'unsampled');
      assert.equal(unsampled.status, 200);
      assert.equal(unsampled.headers.get('traceparent'), undefined);
      const state = `one-${flags[1]}`;
      const answer = await ask(PARENT, 'half_plus_three', state);
      const [, traceId, spanId] = TRACE_PARENT.exec(answer.headers.get('traceparent') ?? '') ?? [];
      assert.equal(traceId, TRACE);
      const [root] = await collector.spans(1, (span) => span.spanId === spanId);
      assert.ok(root);
      assert.equal(root.parentId, PARENT_SPAN);
      assert.equal(root.traceState, `serval=${state}`);
      assert.equal(root.attributes['serval.protocol'], 'v1-rest');
      // An invalid context is ignored: the request starts a new trace.
      const own = await ask('nonsense');
      const [, ownId] = TRACE_PARENT.exec(own.headers.get('traceparent') ?? '') ?? [];
      assert.ok(ownId !== undefined && ownId !== TRACE);
      const failed = await ask(PARENT, 'fails_at_run');
      assert.notEqual(failed.status, 200);
      assert.ok(failed.headers.get('traceparent') !== undefined, 'an error says it too');
      assert.ok(!collector.all.some(({ traceState }) => traceState === 'serval=unsampled'));
    });

    it('cover queued requests and bodies that arrive in pieces or compressed', async (context) => {
      const args = ['--trace-otlp', collector.http, '--exec-mode', 'queued', ...flags];
      const server = await started(context, ...args);
      const answer = await predict(server, 'half_plus_three', '{"instances":[1.0,2.0]}');
      assert.equal(answer.status, 200);
      const [, traceId = ''] = TRACE_PARENT.exec(answer.headers.get('traceparent') ?? '') ?? [];
      const spans = await whole(traceId, 5);
      const [root] = rootsOf(spans, 'half_plus_three');
      assert.ok(root);
      assert.ok(checkedTrace(spans, root)['queue'], 'it waited');
      const large = JSON.stringify({ instances: Array.from({ length: 200_000 }, (_, i) => i % 7) });
      const pieces = await predict(server, 'identity_fp32', large);
      assert.match(pieces.headers.get('traceparent') ?? '', TRACE_PARENT);
    });
  });

  describe('for gRPC requests', () => {
    it('are sent over OTLP/gRPC, in and out as REST requests are', async (context) => {
      const server = await started(context, '--trace-otlp', collector.grpc);
      const client = new RawClient(server.grpcPort);
      context.after(() => client.close());
      const state = `two`;
      const headers = { traceparent: PARENT, tracestate: `serval=${state}` };
      const called = await grpcCall(client, MODEL_INFER, inferMessage('half_plus_three'), headers);
      assert.equal(called.code, 0);
      const text = String(called.head.get('traceparent')[0] ?? '');
      const [, traceId, spanId] = TRACE_PARENT.exec(text) ?? [];
      assert.equal(traceId, TRACE);
      const [root] = await collector.spans(1, (span) => span.spanId === spanId);
      assert.ok(root);
      assert.deepEqual(
        [root.parentId, root.transport, root.traceState],
        [PARENT_SPAN, 'grpc', `serval=${state}`],
      );
      assert.equal(root.attributes['serval.protocol'], 'v2-grpc');
      const unsampled = { traceparent: NOT_TRACED };
      const quiet = await grpcCall(client, MODEL_INFER, inferMessage('half_plus_three'), unsampled);
      assert.deepEqual([quiet.code, quiet.head.get('traceparent')], [0, []]);
      const failing = await grpcCall(client, MODEL_INFER, failingMessage());
      assert.notEqual(failing.code, 0);
      // A context belongs to its request: the next one has none.
      const next = await grpcCall(client, MODEL_INFER, inferMessage('half_plus_three', 'last'));
      const [, own] = TRACE_PARENT.exec(String(next.head.get('traceparent')[0])) ?? [];
      assert.ok(own !== undefined && own !== TRACE);
      const spans = await whole(own, 4);
      const [last] = rootsOf(spans, 'half_plus_three');
      assert.ok(last);
      checkedTrace(spans, last);
      const [failed] = await collector.spans(
        1,
        ({ name, transport }) => transport === 'grpc' && name === 'infer fails_at_run',
      );
      assert.ok(failed);
      assert.deepEqual(
        [failed.failed, failed.attributes['error.type']],
        ['INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
      );
    });

    it('cover streams and queued requests', async (context) => {
      const args = ['--trace-otlp', collector.grpc, '--exec-mode', 'queued'];
      const server = await started(context, ...args);
      const client = new RawClient(server.grpcPort);
      context.after(() => client.close());
      const queued = await grpcCall(client, MODEL_INFER, inferMessage('half_plus_three'));
      assert.match(String(queued.head.get('traceparent')[0] ?? ''), TRACE_PARENT);
      const stream = client.stream('/inference.GRPCInferenceService/ModelStreamInfer');
      const head = once(stream.call, 'metadata') as Promise<[Metadata]>;
      const id = `streamed`;
      for (const n of [1, 2]) stream.call.write(inferMessage('half_plus_three', `${id}-${n}`));
      const isOurs = ({ attributes }: Span): boolean =>
        String(attributes['serval.request.id'] ?? '').startsWith(id);
      const spans = await collector.spans(2, isOurs);
      assert.ok(
        spans.every(({ attributes }) => attributes['serval.protocol'] === 'v2-grpc-stream'),
      );
      const [{ spanId = '' } = {}] = spans.filter(
        ({ attributes }) => attributes['serval.request.id'] === `${id}-1`,
      );
      const [named] = (await head)[0].get('traceparent');
      assert.ok(String(named).includes(spanId) && spanId !== '', `${String(named)}: ${spanId}`);
      stream.call.end();
    });
  });

  it('are linked to their batch, and the batch to them', async (context) => {
    const server = await started(context, '--trace-otlp', collector.http);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => infer(server, 'batched', BATCHED)),
    );
    assert.ok(answers.every(({ status }) => status === 200));
    const [batch] = await collector.spans(1, ({ name }) => name === 'batch batched');
    assert.ok(batch);
    const requests = Number(batch.attributes['serval.batch.requests']);
    assert.ok(requests > 1);
    const linked = await collector.spans(requests, ({ links }) =>
      links.some(({ spanId }) => spanId === batch.spanId),
    );
    assert.equal(linked.length, requests, 'each request that ran in it, by what it computed');
    assert.ok(linked.every(({ name, traceId }) => name === 'compute' && traceId !== batch.traceId));
    assert.ok(batch.links.length > 0);
    const known = new Set(collector.all.map(({ spanId }) => spanId));
    assert.ok(batch.links.every(({ spanId }) => known.has(spanId)));
  });

  it("take the collector's address and names from the environment", async (context) => {
    const on = ['--trace-config=level=TIMESTAMPS', '--trace-config=mode=opentelemetry'];
    const server = await startServer([models, ...SOON, ...on], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.http,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test%20one',
      OTEL_SERVICE_NAME: 'named-by-environment',
    });
    context.after(() => server.stop());
    assert.equal((await predict(server, 'half_plus_three', '{"instances":[1]}')).status, 200);
    const [span] = await collector.spans(
      1,
      ({ resource }) => resource['service.name'] === 'named-by-environment',
    );
    assert.equal(span?.resource['deployment.environment'], 'test one');
  });

  it('are written when the server stops', async (context) => {
    const args = ['--trace-otlp', collector.http, '--trace-rate=1'];
    const server = await startServer([models, ...args]); // every five seconds
    context.after(() => server.stop());
    const answer = await predict(server, 'half_plus_three', '{"instances":[1]}');
    const [, traceId = ''] = TRACE_PARENT.exec(answer.headers.get('traceparent') ?? '') ?? [];
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    await whole(traceId, 4);
  });

  it('are counted, with one warning, if no collector accepts them', async (context) => {
    const gone = await Collector.start(python);
    const url = gone.http;
    await gone.stop();
    const args = ['--trace-otlp', url, '--trace-config=opentelemetry,bsp_max_queue_size=20'];
    const server = await started(context, ...args, '--drain-seconds', '5');
    for (let i = 0; i < 60; i += 1) {
      const answer = await predict(server, 'half_plus_three', '{"instances":[1]}');
      assert.equal(answer.status, 200);
    }
    await until(
      'dropped traces',
      async () => (await metric(server, 'serval_trace_dropped_total')) > 0,
    );
    assert.equal(await metric(server, 'serval_trace_requests_total'), 60);
    await until('a warning', () => server.stderr.includes('traces are dropped'));
    assert.equal(server.stderr.split('traces are dropped').length, 2, 'one a minute');
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  it('are not made unless they are configured', async (context) => {
    const server = await startServer([models]);
    context.after(() => server.stop());
    const { headers } = await exchange(
      server.httpPort,
      'POST',
      '/v1/models/half_plus_three:predict',
      '{"instances":[1]}',
      [`traceparent: ${PARENT}`],
    );
    assert.equal(headers.get('traceparent'), undefined);
    const { body } = await exchange(server.httpPort, 'GET', '/metrics', '');
    assert.ok(!body.toString().includes('serval_trace_'));
  });
});
