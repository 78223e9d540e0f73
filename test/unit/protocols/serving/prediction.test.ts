// PredictionService.Predict, Classify, Regress and MultiInference. Source: tfserving.md 1.10, 2.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/errors.js';
import {
  TF_CLASSIFY,
  TF_MULTI_INFERENCE,
  TF_PREDICT,
  TF_REGRESS,
} from '../../../../ts/model/request-kinds.js';
import type { InferError } from '../../../../ts/protocols/grpc/infer.js';
import { truncated } from '../../../../ts/protocols/serving/grpc-spec.js';
import { missing } from '../missing.js';
import type { Outcome } from '../raw-client.js';
import { encoded, outcome, servingRig, SPEC } from './serving-rig.js';

const { engine, call } = servingRig();

describe('Predict, Classify, Regress, MultiInference', () => {
  it('hand the message to the engine as it is, and its answer back', async () => {
    engine.reply = ({ message }) => Buffer.concat([message, Buffer.from('!')]);
    const message = Buffer.from('whatever it is');
    for (const [method, protocol] of [
      ['Predict', TF_PREDICT],
      ['Classify', TF_CLASSIFY],
      ['Regress', TF_REGRESS],
      ['MultiInference', TF_MULTI_INFERENCE],
    ] as const) {
      const { message: answer } = await call(method, message);
      assert.equal(answer?.toString(), 'whatever it is!');
      assert.equal(engine.requests.at(-1)?.protocol, protocol);
      assert.equal(engine.requests.at(-1)?.timeoutUs, 0);
    }
  });

  it('give the engine what is left of the deadline, and take back what the client drops', async () => {
    const call1 = call('Predict', Buffer.alloc(0), { deadline: Date.now() + 200 });
    await engine.until(() => engine.requests.length === 1);
    const { timeoutUs } = engine.request(0);
    assert.ok(timeoutUs > 0 && timeoutUs <= 200_000, String(timeoutUs));
    assert.equal((await call1).code, 4);
    await engine.until(() => engine.cancelled.length === 1);
    assert.deepEqual(engine.cancelled, [1]);
  });

  it("answer errors with canonical codes and TensorFlow Serving's words", async () => {
    const cases: readonly [InferError, readonly [number, string]][] = [
      [
        { code: ErrorCode.SignatureNotFound, message: 'Serving signature key "s" not found.' },
        [9, 'Serving signature key "s" not found.'],
      ],
      [
        { code: ErrorCode.QueueFull, message: 'limit 4' },
        [14, 'The batch scheduling queue to which this task was submitted is full: limit 4'],
      ],
      [
        { code: ErrorCode.ModelNotFound, message: 'Servable not found for request: Latest(x)' },
        [5, 'Servable not found for request: Latest(x)'],
      ],
      [{ code: ErrorCode.MalformedBody, message: 'byte 3' }, [3, 'byte 3']],
      [{ code: ErrorCode.DeadlineExceeded, message: 'late' }, [4, 'late']],
      [
        { code: ErrorCode.BackendFailed, message: 'm'.repeat(1025) },
        [13, `${'m'.repeat(1024)}...TRUNCATED`],
      ],
    ];
    for (const [error, expected] of cases) {
      engine.reply = () => error;
      assert.deepEqual(
        outcome(
          await call(
            'Predict',
            encoded('PredictRequest', {
              model_spec: SPEC,
            }),
          ),
        ),
        expected,
      );
    }
  });

  it('say why a model is not served', async () => {
    const text = 'Servable not found for request: Specific(tf, 8)';
    const ask = (error: InferError): Promise<Outcome> => {
      engine.reply = () => error;
      return call('Predict', Buffer.alloc(0));
    };
    assert.deepEqual(outcome(await ask(missing('version', 'tf', { version: '8' }))), [
      5,
      `${text}: version 8 is END: cut short`,
    ]);
    assert.deepEqual(outcome(await ask(missing('version', 'tf', { version: '7' }))), [
      5,
      'Servable not found for request: Specific(tf, 7)', // it came meanwhile
    ]);
    assert.deepEqual(outcome(await ask(missing('model', 'x'))), [
      5,
      'Servable not found for request: Latest(x)',
    ]);
    assert.deepEqual(outcome(await ask(missing('label', 'tf', { label: 'l'.repeat(300) }))), [
      3,
      `Unrecognized servable version label: ${'l'.repeat(300)}`,
    ]);
  });

  it('say why a signature of the file is not served', async () => {
    const text = 'Serving signature key "sparse" not found.';
    const reason = 'It is not served: operator SparseFoo is not supported';
    const ask = (model: string, message: string, code: ErrorCode): Promise<Outcome> => {
      const more = { version: '7', signature: 'sparse' };
      engine.reply = () => ({ ...missing('signature', model, more, message), code });
      return call('Predict', Buffer.alloc(0));
    };
    const { SignatureNotFound, InvalidArgument } = ErrorCode;
    assert.deepEqual(outcome(await ask('tf', text, SignatureNotFound)), [9, `${text} ${reason}`]);
    for (const name of ['m', 'nope']) {
      assert.deepEqual(outcome(await ask(name, text, SignatureNotFound)), [9, text]);
    }
    const classify = 'No signature was found with the name: sparse';
    const task = 'Requested signature not found in model graph: sparse';
    for (const words of [classify, task]) {
      assert.deepEqual(outcome(await ask('tf', words, InvalidArgument)), [
        3,
        `${words}. ${reason}`,
      ]);
    }
  });

  it('cut long texts between characters', () => {
    assert.equal(truncated('é'.repeat(512)), 'é'.repeat(512));
    assert.equal(truncated(`${'x'.repeat(1023)}é`), `${'x'.repeat(1023)}...TRUNCATED`);
    assert.equal(truncated(`${'x'.repeat(1021)}\u{1F600}y`), `${'x'.repeat(1021)}...TRUNCATED`);
  });
});
