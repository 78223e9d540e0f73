// Control calls between threads, over a real message channel, so that values are cloned and
// transferred as between a listener and the main thread.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import {
  ControlProxy,
  answerControl,
  type ControlAnswer,
  type ControlRequest,
} from '../../../../ts/server/admin/control-proxy.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { ENTRIES, FakeControl, LOG_SETTINGS, CUDA_REGION, REGION } from './fake-control.js';

function connected(context: TestContext) {
  const { port1, port2 } = new MessageChannel();
  context.after(() => port1.close());
  const control = new FakeControl();
  const remote = new ControlProxy((request, transfer) => port1.postMessage(request, transfer));
  port1.on('message', (answer: ControlAnswer) => remote.settle(answer));
  port2.on('message', (request: ControlRequest) => {
    void answerControl(control, request).then((answer) => port2.postMessage(answer));
  });
  return { control, remote };
}

const failure =
  (code: ErrorCode, message: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServalError);
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };

describe('remote control', () => {
  it('carries every call and its answer', async (context) => {
    const { control, remote } = connected(context);
    assert.deepEqual(await remote.index('r', false), ENTRIES);
    assert.deepEqual(await remote.index('', true), [ENTRIES[1]]);
    assert.equal(await remote.load({ model: 'm', config: undefined, files: new Map() }), undefined);
    assert.equal(await remote.unload('m', true), undefined);
    assert.equal(await remote.reload(), undefined);
    assert.equal(await remote.reloadModels(Buffer.from('0a00', 'hex')), undefined);
    assert.deepEqual(await remote.logSettings(), LOG_SETTINGS);
    assert.deepEqual(await remote.updateLogSettings({ log_verbose_level: 2 }), {
      ...LOG_SETTINGS,
      log_verbose_level: 2,
    });
    assert.deepEqual(await remote.sharedRegions('r'), [REGION]);
    assert.equal(await remote.registerSharedRegion(REGION), undefined);
    assert.equal(await remote.unregisterSharedRegion(''), undefined);
    assert.deepEqual(await remote.cudaRegions('c'), [CUDA_REGION]);
    const handle = Buffer.from('a0b1', 'hex');
    assert.equal(await remote.registerCudaRegion(CUDA_REGION, handle), undefined);
    assert.equal(handle.toString('hex'), 'a0b1', 'it is still the caller’s');
    assert.equal(await remote.unregisterCudaRegion('c'), undefined);
    assert.deepEqual(control.calls, [
      ['index', 'r', false],
      ['index', '', true],
      ['load', 'm', undefined, []],
      ['unload', 'm', true],
      ['reload'],
      ['reloadModels', '0a00'],
      ['logSettings'],
      ['updateLogSettings', { log_verbose_level: 2 }],
      ['sharedRegions', 'r'],
      ['registerSharedRegion', REGION],
      ['unregisterSharedRegion', ''],
      ['cudaRegions', 'c'],
      ['registerCudaRegion', CUDA_REGION, 'a0b1'],
      ['unregisterCudaRegion', 'c'],
    ]);
  });

  it('moves the bytes of files, and copies those that share their memory', async (context) => {
    const { control, remote } = connected(context);
    const whole = new Uint8Array(1_000_000).fill(7);
    const pooled = Buffer.from('abc');
    const part = new Uint8Array(whole.buffer.slice(0, 8), 2, 3);
    const files = new Map<string, Uint8Array>([
      ['1/model.onnx', whole],
      ['1/a', pooled],
      ['1/b', part],
      ['1/none', new Uint8Array(0)],
    ]);
    await remote.load({ model: 'm', config: '{}', files });
    assert.deepEqual(control.calls, [
      [
        'load',
        'm',
        '{}',
        [
          ['1/model.onnx', '07'.repeat(1_000_000)],
          ['1/a', '616263'],
          ['1/b', '070707'],
          ['1/none', ''],
        ],
      ],
    ]);
    assert.deepEqual([whole.byteLength, pooled.toString(), part.byteLength], [0, 'abc', 3]);
  });

  it("rejects with the error's code and text; other errors are internal", async (context) => {
    const { control, remote } = connected(context);
    control.error = new ServalError(ErrorCode.ModelNotFound, 'no such model');
    await assert.rejects(
      remote.unload('m', false),
      failure(ErrorCode.ModelNotFound, 'no such model'),
    );
    control.error = new RangeError('oops');
    await assert.rejects(remote.reload(), failure(ErrorCode.Internal, 'oops'));
    assert.deepEqual(await remote.logSettings(), LOG_SETTINGS);
  });

  it('settles each call with its own answer, whatever the order', async (context) => {
    const { control, remote } = connected(context);
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    control.gate = () => opened;
    const slow = remote.index('slow', false);
    while (control.calls.length === 0) await new Promise(setImmediate);
    control.gate = () => Promise.resolve();
    assert.deepEqual(await remote.index('fast', true), [ENTRIES[1]]);
    open();
    assert.deepEqual(await slow, ENTRIES);
  });

  it('knows no answer to what was not asked', () => {
    const remote = new ControlProxy(() => undefined);
    const answer: ControlAnswer = { kind: 'control-answer', id: 5, ok: true, value: undefined };
    assert.throws(() => remote.settle(answer), /no control call has the id 5/);
  });

  it('rejects what cannot be sent', async () => {
    const remote = new ControlProxy((request) => void structuredClone(request));
    await assert.rejects(
      remote.updateLogSettings({ log_info: () => undefined }),
      /could not be cloned/,
    );
  });
});
