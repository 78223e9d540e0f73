// ModelStreamInfer over a real socket, with an engine that the test answers for.
// Source: proto/wire/inference.proto, Triton's ModelStreamInfer.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { V2_GRPC_STREAM } from '../../../../ts/model/request-kinds.js';
import { ErrorCode } from '../../../../ts/errors.js';
import { missing } from '../missing.js';
import { decode } from '../raw-client.js';
import { noResponse, registryOfAll, SERVICE, started, startedForSuite, types } from './grpc-rig.js';

describe('V2 gRPC: ModelStreamInfer', () => {
  const server = startedForSuite();

  const open = () => {
    const { engine, client } = server();
    const from = engine.requests.length;
    const stream = client.stream(`${SERVICE}ModelStreamInfer`);
    const arrived = (count: number) => engine.until(() => engine.requests.length >= from + count);
    return { engine, from, stream, arrived };
  };

  it('answers in the order of the requests, whatever is ready first', async () => {
    const { engine, from, stream, arrived } = open();
    const texts = ['a', 'b', 'now:c', 'd'];
    for (const text of texts) stream.call.write(Buffer.from(text));
    await arrived(4);
    assert.equal(engine.request(from).protocol, V2_GRPC_STREAM);
    engine.answer(engine.request(from + 1));
    engine.answer(engine.request(from + 3));
    assert.equal(stream.count, 0);
    engine.answer(engine.request(from));
    for (const [index, text] of texts.entries()) {
      assert.equal((await stream.reply(index)).toString(), text);
    }
    stream.call.write(Buffer.from('now:e'));
    assert.equal((await stream.reply(4)).toString(), 'now:e');
    stream.call.end();
    assert.equal((await stream.ended).code, 0);
  });

  it("hands the stream's deadline over with each request", async () => {
    const { engine, client } = server();
    const stream = client.stream(`${SERVICE}ModelStreamInfer`, { deadline: Date.now() + 60_000 });
    stream.call.write(Buffer.from('now:timed'));
    await stream.reply(0);
    const { timeoutUs = 0 } = engine.requests.at(-1) ?? {};
    assert.ok(timeoutUs > 30_000_000 && timeoutUs <= 60_000_000, `${timeoutUs} us`);
    stream.call.end();
    await stream.ended;
  });

  it('ends after the last reply when the client has no more requests', async () => {
    const { engine, from, stream, arrived } = open();
    stream.call.write(Buffer.from('a'));
    stream.call.write(Buffer.from('b'));
    stream.call.end();
    await arrived(2);
    engine.answer(engine.request(from + 1));
    engine.answer(engine.request(from));
    assert.equal((await stream.ended).code, 0);
    assert.deepEqual(
      [(await stream.reply(0)).toString(), (await stream.reply(1)).toString()],
      ['a', 'b'],
    );
    assert.deepEqual(engine.cancelled, []);
  });

  it('holds at most 64 requests, then reads on as they are answered', async () => {
    const { engine, from, stream, arrived } = open();
    for (let index = 0; index < 200; index += 1) stream.call.write(Buffer.from(`r${index}`));
    stream.call.end();
    await arrived(64);
    // A later call on the same connection is served: what the stream sent has been looked at.
    await server().client.unary(`${SERVICE}ServerLive`, Buffer.alloc(0));
    assert.equal(engine.requests.length - from, 64);
    for (let index = 0; index < 200; index += 1) {
      await arrived(index + 1);
      engine.answer(engine.request(from + index));
    }
    assert.equal((await stream.ended).code, 0);
    assert.equal((await stream.reply(199)).toString(), 'r199');
  });

  it('cancels what is open when the client goes away', async () => {
    const { engine, from, stream, arrived } = open();
    for (const text of ['a', 'b', 'c']) stream.call.write(Buffer.from(text));
    await arrived(3);
    engine.answer(engine.request(from + 1));
    stream.call.cancel();
    await engine.until(() => engine.cancelled.length >= 2);
    assert.deepEqual(engine.cancelled, [from + 1, from + 3]);
    for (const index of [0, 2]) {
      engine.fail(engine.request(from + index), ErrorCode.Cancelled, 'cancelled');
    }
    assert.equal((await stream.ended).code, 1);
  });

  it("ends with the status of an error that is no single request's", async () => {
    const { engine, from, stream, arrived } = open();
    stream.call.write(Buffer.from('a'));
    stream.call.write(Buffer.from('b'));
    await arrived(2);
    const cancelled = engine.cancelled.length;
    engine.fail(engine.request(from), ErrorCode.ShuttingDown, 'engine stops');
    const { code, details } = await stream.ended;
    assert.deepEqual([code, details], [14, 'engine stops']);
    assert.deepEqual(engine.cancelled.slice(cancelled), [from + 2]);
    engine.answer(engine.request(from + 1));
  });

  it("answers for a model that is missing in the engine's words, and goes on", async () => {
    const { engine, from, stream, arrived } = open();
    for (const text of ['a', 'b', 'c']) stream.call.write(Buffer.from(text));
    await arrived(3);
    const unready = { foundVersion: '12', reason: 'failed to load: cut short', requestId: 'r7' };
    engine.complete(engine.request(from + 1), missing('ready', 'm', unready));
    engine.complete(engine.request(from), missing('model', 'nope'));
    engine.answer(engine.request(from + 2));
    const replies = [await stream.reply(0), await stream.reply(1)].map((reply) =>
      decode(types, 'inference.ModelStreamInferResponse', reply),
    );
    // The mark of the last reply to a request, as the engine's own replies have it.
    const parameters = [{ key: 'triton_final_response', value: { bool_param: true } }];
    assert.deepEqual(replies, [
      {
        error_message: "Request for unknown model: 'nope' is not found",
        infer_response: { ...noResponse, parameters },
      },
      {
        error_message: "model 'm' version 12 is not ready: failed to load: cut short",
        infer_response: { ...noResponse, id: 'r7', parameters },
      },
    ]);
    assert.equal((await stream.reply(2)).toString(), 'c');
    stream.call.end();
    assert.equal((await stream.ended).code, 0);
  });

  it('finishes what was begun when the server drains', async () => {
    const { engine, listener, client } = await started(registryOfAll);
    const busy = client.stream(`${SERVICE}ModelStreamInfer`);
    const idle = client.stream(`${SERVICE}ModelStreamInfer`);
    idle.call.write(Buffer.from('now:x'));
    await idle.reply(0);
    busy.call.write(Buffer.from('a'));
    await engine.until(() => engine.requests.length === 2);
    const drained = listener.drain(60);
    assert.deepEqual((await idle.ended).details, 'the server is shutting down');
    engine.answer(engine.request(1));
    assert.equal((await busy.reply(0)).toString(), 'a');
    assert.equal((await busy.ended).code, 14);
    assert.deepEqual(await drained, { requests: 0, models: {} });
    client.close();
  });
});
