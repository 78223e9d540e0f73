// Readings and gRPC inference on a port whose native side the test plays.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/errors.js';
import type { NativeBinding } from '../../../ts/native/binding.js';
import { ENGINE_STATS } from '../../../ts/native/generated/tables.js';
import { EnginePort, PENDING } from '../../../ts/native/port.js';
import { writeTable } from '../../../ts/native/table-codec.js';
import { V2_GRPC, V2_GRPC_STREAM } from '../../../ts/model/request-kinds.js';
import { EngineInfer } from '../../../ts/protocols/grpc/engine-infer.js';
import { PortReadings } from '../../../ts/protocols/engine-readings.js';

const WORDS = { bytes: 0, ticket: 2, generation: 3, ring: 16 };

/** A native side whose next calls return `code` with `text` in slot 0. */
class FakeNative {
  readonly control = new Uint32Array(64);
  readonly calls: unknown[][] = [];
  readonly port: EnginePort;
  code: number = ErrorCode.Ok;
  text: Uint8Array = Buffer.alloc(0);
  #completions: (count: number) => void = () => undefined;
  #generation = 0;

  constructor() {
    const call =
      (name: string) =>
      (...args: unknown[]): number =>
        this.#called(name, args);
    const native = {
      attach: (_options: unknown, onCompletions: (count: number) => void): ArrayBuffer => {
        this.#completions = onCompletions;
        return this.control.buffer as ArrayBuffer;
      },
      mapSlot: (): ArrayBuffer => Uint8Array.from(this.text).buffer,
      stats: call('stats'),
      metrics: call('metrics'),
      inferMessage: call('inferMessage'),
      cancel: (): boolean => true,
    };
    this.port = new EnginePort(native as unknown as NativeBinding, { onnxruntimeLibrary: '' });
  }

  /** Completes the request with this ticket. */
  complete(ticket: number, code: number, text: string): void {
    this.text = Buffer.from(text);
    this.#generation += 1;
    this.control.set([ticket, code, 0, this.text.length, 0, this.#generation], WORDS.ring);
    this.#completions(1);
  }

  #called(name: string, args: unknown[]): number {
    this.calls.push([name, ...args]);
    this.#generation += 1;
    this.control[WORDS.bytes] = this.text.length;
    this.control[WORDS.generation] = this.#generation;
    this.control[WORDS.ticket] = this.calls.length;
    return this.code;
  }
}

const statsBytes = (handle: number): Uint8Array =>
  writeTable<object>(ENGINE_STATS, { models: [{ handle }] });

const failure =
  (code: ErrorCode, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServalError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };

describe('PortReadings', () => {
  it('asks for the statistics of the handles', async () => {
    const native = new FakeNative();
    native.text = statsBytes(7);
    const stats = await new PortReadings(native.port).stats([7, 9]);
    assert.deepEqual(native.calls, [['stats', Uint32Array.of(7, 9)]]);
    assert.deepEqual(
      stats.models.map((model) => model.handle),
      [7],
    );
  });

  it('rejects when the engine has none', async () => {
    const native = new FakeNative();
    native.code = ErrorCode.ShuttingDown;
    native.text = Buffer.from('the engine stops');
    const expected = failure(ErrorCode.ShuttingDown, 'the engine stops');
    await assert.rejects(new PortReadings(native.port).stats([1]), expected);
    await assert.rejects(new PortReadings(native.port).metrics(0), expected);
  });

  it('gets metrics when they are written, as memory of its own', async () => {
    const native = new FakeNative();
    native.code = PENDING;
    const readings = new PortReadings(native.port);
    const text = readings.metrics(1);
    const fails = readings.metrics(0);
    assert.deepEqual(native.calls, [
      ['metrics', 1],
      ['metrics', 0],
    ]);
    native.complete(1, ErrorCode.Ok, 'a 1\n');
    native.complete(2, ErrorCode.Internal, 'out of memory');
    assert.equal((await text).toString(), 'a 1\n');
    await assert.rejects(fails, failure(ErrorCode.Internal, 'out of memory'));
  });
});

describe('EngineInfer', () => {
  it('hands message, kind and time left over; answers now or later', () => {
    const native = new FakeNative();
    const infer = new EngineInfer(native.port);
    const answers: unknown[] = [];
    const done = (error: unknown, body: Buffer | null): void => {
      answers.push([error, body?.toString()]);
    };
    const message = Buffer.from('m');
    native.text = Buffer.from('now');
    assert.equal(infer.infer(message, V2_GRPC_STREAM, 0, done), 0);
    native.code = PENDING;
    const ticket = infer.infer(message, V2_GRPC, 1500, done);
    native.complete(ticket, ErrorCode.DeadlineExceeded, 'waited too long');
    assert.deepEqual(native.calls, [
      ['inferMessage', message, V2_GRPC_STREAM, 0],
      ['inferMessage', message, V2_GRPC, 1500],
    ]);
    assert.deepEqual(answers, [
      [null, 'now'],
      [{ code: ErrorCode.DeadlineExceeded, message: 'waited too long' }, undefined],
    ]);
  });

  it('cancels once, and nothing that was answered', () => {
    const native = new FakeNative();
    native.code = PENDING;
    const infer = new EngineInfer(native.port);
    const codes: (number | undefined)[] = [];
    const ticket = infer.infer(Buffer.from('m'), V2_GRPC, 0, (error) => codes.push(error?.code));
    infer.cancel(ticket);
    infer.cancel(ticket);
    const other = infer.infer(Buffer.from('n'), V2_GRPC, 0, (error) => codes.push(error?.code));
    native.complete(other, ErrorCode.Ok, 'answer');
    infer.cancel(other);
    assert.deepEqual(codes, [ErrorCode.Cancelled, undefined]);
  });
});
