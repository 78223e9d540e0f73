// Back-pressure of one gRPC stream, on a stream whose client never takes anything until told to.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { GrpcStream, type GrpcStreamCall } from '../../../ts/transport/grpc-call.js';

// Stands for grpc-js's stream: `release` lets every reply leave, as a client that reads does.
class StuckStream extends Duplex {
  readonly written: Buffer[] = [];
  private waiting: (() => void) | undefined;
  private released = false;

  constructor() {
    super({ objectMode: true });
  }

  getDeadline(): number {
    return Infinity;
  }

  override _read(): void {}

  override _write(message: Buffer, _: string, done: () => void): void {
    this.written.push(message);
    if (this.released) done();
    else this.waiting = done;
  }

  release(): void {
    this.released = true;
    this.waiting?.();
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
};

// A handler that answers each message with `bytes` bytes.
function answering(stream: StuckStream, bytes: number) {
  const seen: string[] = [];
  const open = (call: GrpcStreamCall) => ({
    onMessage(message: Buffer): void {
      seen.push(message.toString());
      call.write(Buffer.alloc(bytes));
    },
    onHalfClose: () => call.end(null),
    onCancel: () => undefined,
    onFlushed: () => undefined,
    onDrain: () => undefined,
  });
  const call = new GrpcStream(stream as unknown as ServerDuplexStream<Buffer, Buffer>, open);
  return { seen, call };
}

describe('gRPC stream back-pressure', () => {
  for (const [bytes, expected] of [
    [10, 64],
    [5 * 1024 * 1024, 2],
  ] as const) {
    it(`stops reading at ${expected} replies of ${bytes} bytes, and goes on`, async () => {
      const stream = new StuckStream();
      const { seen, call } = answering(stream, bytes);
      const total = bytes > 1000 ? 5 : 200;
      for (let index = 0; index < total; index += 1) stream.push(Buffer.from(String(index)));
      stream.push(null);
      await turns(20);
      assert.equal(seen.length, expected);
      assert.equal(call.unflushed, expected);
      const finished = new Promise<void>((resolve) => {
        stream.once('finish', resolve);
      });
      stream.release();
      await finished;
      assert.deepEqual(
        seen,
        Array.from({ length: total }, (_, index) => String(index)),
      );
      assert.equal(stream.written.length, total);
      assert.equal(call.unflushed, 0);
    });
  }

  it('reads nothing while the handler has paused it', async () => {
    const stream = new StuckStream();
    const { seen, call } = answering(stream, 1);
    call.setPaused(true);
    stream.push(Buffer.from('a'));
    await turns(3);
    assert.deepEqual(seen, []);
    call.setPaused(false);
    await turns(3);
    assert.deepEqual(seen, ['a']);
  });
});
