// The endpoints for frames: URLs, methods, errors, and the requests to the engine.
import assert from 'node:assert/strict';
import { FakeControl } from '../../server/admin/fake-control.js';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { V2_REST } from '../../../../ts/model/request-kinds.js';
import type { CompletionTarget, EngineLink } from '../../../../ts/engine/link.js';
import { framesRoute } from '../../../../ts/protocols/frames/route.js';
import { UNCOUNTED } from '../../../../ts/listeners/http/listener.js';
import { ask, begin, type Sent } from '../fake-http.js';
import { model, registry, version } from '../snapshots.js';

const tensor = (name: string, datatype: 'FP64' | 'STRING') => ({
  name,
  datatype,
  shape: [-1],
  symbols: [''],
  unknownRank: false,
});
const TABLE = {
  table: { extra: ['hidden'], open: [], untyped: [], examples: {} },
  signatures: [
    { name: 'serving_default', inputs: [tensor('x', 'FP64')], outputs: [tensor('y', 'STRING')] },
  ],
};
const snapshot = registry([
  model('t', [version('2', 'AVAILABLE', TABLE), version('1', 'AVAILABLE', TABLE)]),
  model('onnx', [version('1')]),
  model('loading', [version('1', 'LOADING')]),
]);

interface Call {
  readonly protocol: number;
  readonly handle: number;
  readonly body: string;
}

/** An engine that returns "y" for every row of the request's first input. */
function engine(calls: Call[], code: ErrorCode = ErrorCode.Ok): EngineLink {
  const infer = (
    protocol: number,
    handle: number,
    bytes: ArrayBuffer,
    jsonBytes: number,
    target: CompletionTarget,
  ): void => {
    assert.equal(jsonBytes, -1);
    const body = Buffer.from(bytes).toString();
    calls.push({ protocol, handle, body });
    const { inputs } = JSON.parse(body) as { inputs: readonly { shape: number[] }[] };
    const rows = inputs[0]?.shape[0] ?? 0;
    const data = Array.from({ length: rows }, (_, i) => `y${i}`);
    const answer = { outputs: [{ name: 'y', datatype: 'STRING', shape: [rows], data }] };
    const text = code === ErrorCode.Ok ? JSON.stringify(answer) : 'bad row 0';
    target.complete(code, Buffer.from(text), 0);
  };
  return { infer } as unknown as EngineLink;
}

async function post(
  path: string,
  body: string | Uint8Array,
  more: { code?: ErrorCode; calls?: Call[]; method?: string; query?: string } = {},
): Promise<Sent> {
  const { code, calls = [], method = 'POST', query = '' } = more;
  const context = {
    link: engine(calls, code),
    bodyBytesMax: 1000,
    inflatedBytesMax: 1000,
    held: UNCOUNTED,
    control,
  };
  const route = framesRoute(context, { snapshot, shown: snapshot }, method, path);
  assert.ok(route !== undefined, path);
  return ask(route, { method, path, query, body: [body] });
}

const control = new FakeControl();

const FRAME = '{"schema":{"fields":[{"name":"x","type":"double"}]},"rows":[[1.0],[2.0]]}';

test('a LeapFrame is answered with a LeapFrame', async () => {
  const calls: Call[] = [];
  const sent = await post('/models/t/transform', FRAME, { calls });
  assert.deepEqual([sent.status, sent.contentType], [200, 'application/json'], sent.body);
  assert.deepEqual((JSON.parse(sent.body) as { rows: unknown }).rows, [
    [1, 'y0'],
    [2, 'y1'],
  ]);
  assert.deepEqual(calls, [
    {
      protocol: V2_REST,
      handle: 2,
      body:
        '{"parameters":{"string_datatype":"STRING"},"inputs":[{"name":"x","datatype":"FP64",' +
        '"shape":[2],"data":[1.0,2.0]}]}',
    },
  ]);
});

test('CSV is answered with CSV, of a version too, and of chosen outputs', async () => {
  const calls: Call[] = [];
  const path = '/v2/models/t/versions/1/csv';
  const sent = await post(path, 'x\n1\n', { calls, query: 'outputs=hidden,y' });
  assert.deepEqual([sent.status, sent.contentType], [200, 'text/csv; charset=utf-8']);
  assert.equal(sent.body, 'y\r\ny0\r\n');
  assert.equal(calls[0]?.handle, 1);
  assert.match(calls[0]?.body ?? '', /"outputs":\[\{"name":"hidden"\},\{"name":"y"\}\]/);
  assert.equal((await post('/v2/models/t/csv', 'x\n1\n')).status, 200);
});

test('errors: of the body, of the engine, of names, of the method', async () => {
  const cases: readonly (readonly [Promise<Sent>, number, RegExp])[] = [
    [post('/models/t/transform', '{'), 400, /JSON: expected/],
    [post('/models/t/transform', '{}'), 400, /LeapFrame: expected/],
    [post('/models/t/transform', new Uint8Array([0xff])), 400, /UTF-8/],
    [post('/models/t/transform', 'x'.repeat(1001)), 413, /1000/],
    [post('/v2/models/t/csv', ''), 400, /header row/],
    [post('/v2/models/t/csv', 'x\nabc\n'), 400, /column "x": expected FP64/],
    [post('/models/t/transform', FRAME, { code: ErrorCode.InvalidArgument }), 400, /bad row 0/],
    [post('/models/t/transform', FRAME, { code: ErrorCode.QueueFull }), 503, /bad row 0/],
    [post('/models/none/transform', FRAME), 404, /'none' is not found/],
    [post('/v2/models/t/versions/9/csv', 'x\n1\n'), 404, /version 9 is not found/],
    [post('/models/loading/transform', FRAME), 503, /not ready|no ready version/],
    [post('/models/onnx/transform', FRAME), 400, /model 'onnx' does not accept frames/],
    [post('/models/t/transform', '', { method: 'GET' }), 405, /expected POST/],
  ];
  for (const [sending, status, why] of cases) {
    const sent = await sending;
    assert.equal(sent.status, status, sent.body);
    assert.match((JSON.parse(sent.body) as { error: string }).error, why);
  }
});

test('a client that leaves takes its request along', async () => {
  const waiting: CompletionTarget[] = [];
  const link = {
    infer: (_protocol: number, _handle: number, _body: ArrayBuffer, _json: number, target) => {
      target.ticket = 7;
      waiting.push(target);
    },
    cancel: (target: CompletionTarget) => {
      waiting.splice(waiting.indexOf(target), 1);
      target.complete(ErrorCode.Cancelled, Buffer.from('the client cancelled the call'), 0);
    },
  } as Pick<EngineLink, 'infer' | 'cancel'> as EngineLink;
  const context = { link, bodyBytesMax: 1000, inflatedBytesMax: 1000, held: UNCOUNTED, control };
  for (const [path, body] of [
    ['/models/t/transform', FRAME],
    ['/v2/models/t/csv', 'x\n1\n'],
  ] as const) {
    const route = framesRoute(context, { snapshot, shown: snapshot }, 'POST', path);
    assert.ok(route !== undefined);
    const exchange = begin(route, { method: 'POST', path, body: [body] });
    await new Promise(setImmediate);
    assert.equal(waiting.length, 1, path);
    route.abort(exchange);
    assert.equal(waiting.length, 0, path);
    assert.match((await exchange.answered).body, /cancelled the call/);

    // The client left while its body was being decompressed: the engine is not called.
    const early = begin(route, { method: 'POST', path, body: [body] });
    route.abort(early);
    assert.match((await early.answered).body, /went away/);
    assert.equal(waiting.length, 0, path);
  }
});

test('other URLs are not ours', () => {
  const context = {
    link: engine([]),
    bodyBytesMax: 1,
    inflatedBytesMax: 1,
    held: UNCOUNTED,
    control,
  };
  for (const path of ['/v2/models/t/infer', '/models/t', '/v2/models/t', '/models/a/b/transform']) {
    assert.equal(framesRoute(context, { snapshot, shown: snapshot }, 'POST', path), undefined);
  }
});
