// Native calls at work: requests, bodies in chunks, cancellation, models, sockets and files.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadBinding } from '../../ts/engine/binding.js';
import { call } from './calls.js';
import type { EngineOptions } from '../../ts/engine/open-link.js';
import { readTraces, writeTraceRules } from '../../ts/engine/flat.js';
import { ErrorCode } from '../../ts/base/errors.js';
import { V1_PREDICT, V2_REST } from '../../ts/model/request-kinds.js';
import { Asked, bytes, inferred, nullModel, withEngine } from './support.js';

const V1_BODY = '{"instances":[1,2.5]}';
const V2_BODY = '{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2.5]}]}';

test('refuses an unknown, mistyped or excessive option of attach() by its name', async () => {
  const attach = (options: object): unknown =>
    call(loadBinding(), 'attach', [options, () => undefined]);
  await withEngine(() => {
    const own = { name: 'TypeError' };
    assert.throws(() => attach({ bodyByteMax: 1 }), {
      ...own,
      message: 'attach: unknown option bodyByteMax',
    });
    assert.throws(() => attach({ metrics: 1 }), {
      ...own,
      message: 'attach: metrics: expected a boolean, got 1',
    });
    const ranges: [string, unknown, string][] = [
      ['jsonDepthMax', -1, '4294967295, got -1'],
      ['jsonDepthMax', 2 ** 32, '4294967295, got 4294967296'],
      ['inFlightMax', 0.5, '4294967295, got 0.5'],
      ['loadThreads', 2 ** 31, '2147483647, got 2147483648'],
      ['intraOpThreads', NaN, '2147483647, got NaN'],
      ['unloadMsMax', Infinity, '9007199254740991, got Infinity'],
      ['memoryLimitBytes', 2 ** 53, '9007199254740991, got 9007199254740992'],
      ['bodyBytesMax', '1', '9007199254740991, got a string'],
      ['pinnedPoolBytes', null, '9007199254740991, got null'],
    ];
    for (const [name, value, rest] of ranges) {
      const message = `attach: ${name}: expected an integer from 0 to ${rest}`;
      assert.throws(() => attach({ [name]: value }), { ...own, message });
    }
    // @ts-expect-error: a misspelt option does not compile.
    const misspelt: EngineOptions = { bodyByteMax: 1 };
    assert.ok(misspelt);
    return Promise.resolve();
  });
});

test('a traced request is said to be, in the words of the call that handed it over', async () => {
  const body = bytes(V2_BODY);
  await withEngine(async (engine) => {
    const { link, control } = engine;
    const { handle } = await control.load(nullModel('m', { execMode: 'inline' }));
    const ask = (): string => {
      let traced = '';
      const target = {
        ticket: 0,
        complete: (code: number) => assert.equal(code, ErrorCode.Ok),
        traced: (parent: string) => {
          traced = parent;
        },
      };
      link.infer(V2_REST, handle, body, -1, target);
      return traced;
    };
    const rules = (on: boolean) =>
      writeTraceRules({
        rules: [{ model: '', own: true, on, rate: 1, count: -1, tensors: false }],
        parents: true,
      });
    assert.equal(ask(), '');
    link.run((native) => native.setTraces(rules(true)));
    assert.match(ask(), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    const trace = '0af7651916cd43dd8448eb211c80319c';
    link.traceParent(`00-${trace}-b7ad6b7169203331-01`, 'a=1');
    assert.ok(ask().startsWith(`00-${trace}-`));
    link.run((native) => native.setTraces(rules(false)));
    assert.equal(ask(), '');
    const { records } = readTraces(link.read((native) => native.takeTraces(0)));
    assert.deepEqual(
      records.map(({ model, traceState }) => [model, traceState]),
      [
        ['m', ''],
        ['m', 'a=1'],
      ],
    );
    assert.throws(() => link.run((native) => native.setTraces(Buffer.from('what'))), /trace rules/);
  });
});

test('the sockets that listen on a port are found, and no others', async () => {
  const native = loadBinding();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  assert.equal(native.limitReceive(port, 212_992), 1);
  server.close();
  await once(server, 'close');
  assert.equal(native.limitReceive(port, 212_992), 0);
  for (const wrong of [[port], [65_536, 1], [port, 2 ** 31], ['80', 1]]) {
    assert.throws(() => call(native, 'limitReceive', wrong), { name: 'TypeError' });
  }
});

test('a file is locked by one who opened it, until that is closed', () => {
  const native = loadBinding();
  const folder = mkdtempSync(join(tmpdir(), 'serval-lock-'));
  const path = join(folder, 'lock');
  const [first, second] = [openSync(path, 'w'), openSync(path, 'r+')] as const;
  assert.equal(native.lockFile(first), 0);
  assert.equal(native.lockFile(first), 0, 'it is taken already');
  assert.equal(native.lockFile(second), 1);
  closeSync(first);
  assert.equal(native.lockFile(second), 0);
  closeSync(second);
  assert.equal(native.lockFile(2 ** 31 - 1), 2, 'no open file');
  for (const wrong of [[], [-1], [2 ** 31], ['1']]) {
    assert.throws(() => call(native, 'lockFile', wrong), { name: 'TypeError' });
  }
  rmSync(folder, { recursive: true });
});

test('a load client refuses arguments of other types, and may be closed at any time', () => {
  const native = loadBinding();
  const told = (): void => undefined;
  for (const wrong of [[], [{}], [1, told], [{}, 1]]) {
    assert.throws(() => call(native, 'clientOpen', wrong), { name: 'TypeError' });
  }
  const target = { host: '127.0.0.1', port: 1, http2: false };
  const client = native.clientOpen(target, told);
  assert.ok(client > 0);
  const schedule = { loop: 'closed', concurrency: 1 };
  const traffic = {
    judged: 'http',
    authority: 'h',
    path: '/',
    fields: [],
    bodies: [Buffer.from('x')],
  };
  for (const wrong of [[], [client], [client, 1], ['1', {}]]) {
    assert.throws(() => call(native, 'clientOrder', wrong), { name: 'TypeError' });
  }
  for (const wrong of [
    { schedule },
    { schedule, traffic: { ...traffic, bodies: [] } },
    { schedule: { loop: 'open' }, traffic },
  ]) {
    assert.throws(() => native.clientOrder(client, wrong), /traffic or schedule/);
  }
  native.clientOrder(client, { begins: 1 });
  native.clientOrder(client, { traffic, schedule });
  native.clientClose(client);
  native.clientOrder(client, { traffic, schedule });
  native.clientClose(client);
  assert.throws(() => call(native, 'clientClose', ['1']), { name: 'TypeError' });
});

test('startable threads are counted, and end again', () => {
  const native = loadBinding();
  const threads = (): number => readdirSync('/proc/self/task').length;
  const before = threads();
  assert.equal(native.startableThreads(0), 0);
  assert.equal(native.startableThreads(5), 5);
  assert.ok(threads() <= before + 1, 'they have ended');
  for (const wrong of [[], [-1], [65_537], ['1']]) {
    assert.throws(() => call(native, 'startableThreads', wrong), { name: 'TypeError' });
  }
});

test('garbage where a flatbuffer is due is an error, not a crash', async () => {
  await withEngine(async (engine) => {
    const { native } = engine.link;
    for (const size of [0, 1, 4, 64, 1000]) {
      const junk = Buffer.alloc(size, 0xf7);
      assert.equal(native.load(junk), ErrorCode.InvalidArgument);
      assert.equal(native.publishRoutes(junk), ErrorCode.InvalidArgument);
      assert.equal(native.setRequestLog(junk), ErrorCode.InvalidArgument);
    }
  });
});

test('a request is answered inline and queued with the same bytes', async () => {
  await withEngine(async (engine) => {
    const inline = await engine.control.load(nullModel('a', { execMode: 'inline' }));
    const queued = await engine.control.load(nullModel('b', { execMode: 'queued' }));
    const [first, second] = [new Asked(), new Asked()];
    engine.link.infer(V1_PREDICT, inline.handle, bytes(V1_BODY), -1, first);
    assert.equal(first.outcome?.text, '{"predictions":[1.0,2.5]}');
    engine.link.infer(V1_PREDICT, queued.handle, bytes(V1_BODY), -1, second);
    assert.equal(second.outcome, undefined);
    assert.equal((await second.settled).text, '{"predictions":[1.0,2.5]}');
    assert.equal(engine.control.stats().ticketsOpen, 0);
  });
});

test('many queued requests come back each with its own answer', async () => {
  await withEngine(async (engine) => {
    const model = await engine.control.load(nullModel('m', { execMode: 'queued', instances: 2 }));
    const all = Array.from({ length: 500 }, (_, i) =>
      inferred(engine.link, V1_PREDICT, model.handle, bytes(`{"instances":[${i}]}`)),
    );
    const texts = (await Promise.all(all)).map((one) => one.text);
    assert.deepEqual(
      texts,
      texts.map((_, i) => `{"predictions":[${i}.0]}`),
    );
  });
});

test('a body in chunks equals the body in one piece', async () => {
  await withEngine(async (engine) => {
    const { link } = engine;
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'inline' }));
    const asked = new Asked();
    assert.ok(link.openBody(V2_BODY.length, 0, asked));
    const { ticket } = asked;
    for (const letter of V2_BODY) assert.ok(link.appendBody(bytes(letter), asked));
    link.inferBody(V2_REST, handle, -1, asked);
    const chunked = await asked.settled;
    const whole = await inferred(link, V2_REST, handle, bytes(V2_BODY));
    assert.deepEqual(chunked, whole);
    assert.equal(asked.ticket, 0);
    const again = link.native.appendBody(ticket, bytes('x'));
    assert.equal(again, ErrorCode.Internal, 'the ticket is used up');
  });
});

test('a body that grows too long is dropped', async () => {
  await withEngine(
    (engine) => {
      const asked = new Asked();
      assert.ok(engine.link.openBody(0, 0, asked));
      assert.ok(engine.link.appendBody(new ArrayBuffer(8), asked));
      assert.equal(engine.link.appendBody(new ArrayBuffer(3), asked), false);
      assert.deepEqual([asked.outcome?.code, asked.ticket], [ErrorCode.BodyTooLarge, 0]);
      assert.equal(engine.control.stats().bodiesOpen, 0);
      return Promise.resolve();
    },
    { bodyBytesMax: 10 },
  );
});

test('answers of growing size keep their bytes', async () => {
  await withEngine(async (engine) => {
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'inline' }));
    for (const count of [1, 10, 1000, 100_000, 10, 300_000, 1]) {
      const values = Array.from({ length: count }, (_, i) => i % 1000);
      const body = bytes(JSON.stringify({ instances: values }));
      const answer = await inferred(engine.link, V1_PREDICT, handle, body);
      assert.deepEqual((JSON.parse(answer.text) as { predictions: number[] }).predictions, values);
    }
  });
});

test('cancel: an open body goes, a waiting request goes, unknown is no harm', async () => {
  await withEngine(async (engine) => {
    const { link } = engine;
    const slow = nullModel('m', { execMode: 'queued', nullMode: 'delay', nullDelayUs: 60_000_000 });
    const { handle } = await engine.control.load(slow);
    const open = new Asked();
    link.openBody(10, 0, open);
    assert.equal(engine.control.stats().bodiesOpen, 1);
    link.cancel(open);
    assert.equal(engine.control.stats().bodiesOpen, 0);
    assert.deepEqual([open.ticket, open.outcome], [0, undefined]);
    link.cancel(open);
    assert.equal(link.native.cancel(4_000_000_000), true);
    const [running, waiting] = [new Asked(), new Asked()];
    link.infer(V1_PREDICT, handle, bytes(V1_BODY), -1, running);
    link.infer(V1_PREDICT, handle, bytes(V1_BODY), -1, waiting);
    assert.equal(link.pending, 2);
    link.cancel(waiting);
    assert.equal(waiting.outcome?.code, ErrorCode.Cancelled);
    link.cancel(running);
    assert.equal((await running.settled).code, ErrorCode.Cancelled);
    assert.equal(link.pending, 0);
    assert.equal(engine.control.stats().ticketsOpen, 0);
  });
});

test('a target that throws is reported and the others get their answers', async () => {
  await withEngine(async (engine) => {
    const { link } = engine;
    const { handle } = await engine.control.load(nullModel('m', { execMode: 'queued' }));
    const reported: unknown[] = [];
    link.report = (error) => reported.push(error);
    link.infer(V1_PREDICT, handle, bytes(V1_BODY), -1, {
      ticket: 0,
      complete: () => {
        throw new Error('on purpose');
      },
    });
    const next = await inferred(link, V1_PREDICT, handle, bytes(V1_BODY));
    assert.equal(next.code, ErrorCode.Ok);
    assert.deepEqual(reported.map(String), ['Error: on purpose']);
    assert.equal(engine.control.stats().ticketsOpen, 0);
  });
});

test('load failures and unloads settle their promises', async () => {
  await withEngine(async (engine) => {
    const bad = nullModel('m', { nullMode: 'nonsense' as 'echo' });
    await assert.rejects(engine.control.load(bad), { code: ErrorCode.ModelInvalid });
    const { handle } = await engine.control.load(nullModel('m'));
    await engine.control.unload(handle);
    await assert.rejects(engine.control.unload(handle), { code: ErrorCode.ModelNotFound });
    const gone = await inferred(engine.link, V1_PREDICT, handle, bytes(V1_BODY));
    assert.equal(gone.code, ErrorCode.ModelNotReady);
  });
});

test('a missing runtime library is named in the error', async () => {
  await withEngine(
    async (engine) => {
      const path = '/nowhere.onnx';
      const spec = { name: 'm', version: '1', backend: 'onnxruntime', path } as const;
      await assert.rejects(engine.control.load(spec), {
        code: ErrorCode.RuntimeUnavailable,
        message: /\/no\/such\/libonnxruntime\.so/,
      });
    },
    { onnxruntimeLibrary: '/no/such/libonnxruntime.so' },
  );
});
