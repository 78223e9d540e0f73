// A link completes its targets, at once or later, on a native side that the test plays.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../ts/base/errors.js';
import { V1_PREDICT, V2_GRPC, V2_GRPC_STREAM } from '../../../ts/model/request-kinds.js';
import type { CompletionTarget } from '../../../ts/engine/link.js';
import { FakeNative, PENDING } from './fake-native.js';

class Target implements CompletionTarget {
  ticket = 0;
  readonly answers: [number, string][] = [];
  taken: (body: Buffer) => void = () => undefined;

  complete(code: number, body: Buffer): void {
    this.answers.push([code, body.toString()]);
    this.taken(body);
  }
}

describe('EngineLink', () => {
  it('hands message, kind and time left over; answers now or later', () => {
    const native = new FakeNative();
    const { link } = native;
    const [now, later] = [new Target(), new Target()];
    const message = Buffer.from('m');
    native.text = Buffer.from('now');
    link.inferMessage(message, V2_GRPC_STREAM, 0, now);
    assert.deepEqual([now.ticket, now.answers], [0, [[ErrorCode.Ok, 'now']]]);
    native.code = PENDING;
    link.inferMessage(message, V2_GRPC, 1500, later);
    assert.deepEqual([later.ticket, later.answers, link.pending], [2, [], 1]);
    native.complete(2, ErrorCode.DeadlineExceeded, 'waited too long');
    assert.deepEqual(native.calls, [
      ['inferMessage', message, V2_GRPC_STREAM, 0],
      ['inferMessage', message, V2_GRPC, 1500],
    ]);
    assert.deepEqual(later.answers, [[ErrorCode.DeadlineExceeded, 'waited too long']]);
    assert.deepEqual([later.ticket, link.pending], [0, 0]);
  });

  it('cancels once, and nothing that was answered', () => {
    const native = new FakeNative();
    native.code = PENDING;
    const { link } = native;
    const [gone, answered] = [new Target(), new Target()];
    link.inferMessage(Buffer.from('m'), V2_GRPC, 0, gone);
    link.cancel(gone);
    link.cancel(gone);
    link.inferMessage(Buffer.from('n'), V2_GRPC, 0, answered);
    native.complete(2, ErrorCode.Ok, 'answer');
    link.cancel(answered);
    assert.deepEqual(gone.answers, [[ErrorCode.Cancelled, 'the client cancelled the call']]);
    assert.deepEqual(answered.answers, [[ErrorCode.Ok, 'answer']]);
    assert.deepEqual(native.cancelled, [1]);
  });

  it('completes what was cancelled as it ran when it has ended', () => {
    const native = new FakeNative();
    native.code = PENDING;
    const target = new Target();
    native.link.inferMessage(Buffer.from('m'), V2_GRPC, 0, target);
    native.running.add(1);
    native.link.cancel(target);
    assert.deepEqual([target.answers, native.link.pending], [[], 1]);
    native.complete(1, ErrorCode.Cancelled, 'ended');
    assert.deepEqual(target.answers, [[ErrorCode.Cancelled, 'ended']]);
  });

  it('keeps the memory of an answer that is being handed over, and no other', () => {
    const native = new FakeNative();
    const { link } = native;
    const [now, later] = [new Target(), new Target()];
    const kept: ((() => void) | undefined)[] = [];
    now.taken = later.taken = (body) => {
      kept.push(link.keepAnswer(Buffer.from('own')), link.keepAnswer(body.subarray(1)));
    };
    native.text = Buffer.from('now');
    link.infer(V1_PREDICT, 1, new ArrayBuffer(1), -1, now);
    native.code = PENDING;
    link.infer(V1_PREDICT, 1, new ArrayBuffer(1), -1, later);
    native.complete(2, ErrorCode.Ok, 'later');
    assert.deepEqual(
      kept.map((release) => release === undefined),
      [true, true, true, false],
    );
    kept[3]?.();
    assert.deepEqual(native.cancelled, [2]);
    assert.equal(link.keepAnswer(Buffer.from('x')), undefined);
  });

  it('reads what is there at once as memory of its own, or throws what the engine says', () => {
    const native = new FakeNative();
    const { link } = native;
    native.text = Buffer.from('lines');
    const read = (): Buffer => link.read((calls) => calls.takeAccessLog());
    const lines = read();
    lines.fill(0);
    assert.equal(read().toString(), 'lines');
    native.code = ErrorCode.ShuttingDown;
    native.text = Buffer.from('no');
    const expected = { code: ErrorCode.ShuttingDown, message: 'no' };
    assert.throws(read, expected);
    assert.throws(() => link.run((calls) => calls.takeAccessLog()), expected);
  });

  it('counts and logs until it leaves, and then no more: sockets close later', () => {
    const { link, calls } = new FakeNative();
    const line = Buffer.from('{}\n');
    const say = (): void => {
      link.serverValue('connections_http', -1, true);
      link.addAccessLog(line);
    };
    say();
    link.detach();
    say();
    assert.deepEqual(calls, [
      ['serverValue', 'connections_http', -1, true],
      ['addAccessLog', line],
      ['detach'],
    ]);
  });
});
