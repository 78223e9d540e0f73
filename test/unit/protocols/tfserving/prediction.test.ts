// PredictionService.Predict, Classify, Regress and MultiInference. Source: tfserving.md 1.10, 2.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { InferError } from '../../../../ts/protocols/grpc/infer.js';
import { truncated } from '../../../../ts/protocols/tfserving/grpc-spec.js';
import { servingServices } from '../../../../ts/protocols/tfserving/grpc.js';
import { GrpcStatus } from '../../../../ts/listeners/grpc/call.js';
import { errorAnswer, missing } from '../missing.js';
import { FakeControl } from '../../server/admin/fake-control.js';
import { FakeReadings } from '../fake-readings.js';
import { SERVING_REGISTRY } from './serving-snapshot.js';

const [prediction] = servingServices({
  snapshot: () => SERVING_REGISTRY,
  shown: () => SERVING_REGISTRY,
  infer: { inferMessage: () => undefined, cancel: () => undefined },
  control: new FakeControl(),
  readings: new FakeReadings(),
});

/** The status for an error of the engine. */
function explained(error: InferError): readonly [number, string] {
  const status = prediction?.engine?.['Predict']?.explain(...errorAnswer(error));
  assert.ok(status instanceof GrpcStatus);
  return [status.code, status.details];
}

describe('Predict, Classify, Regress, MultiInference', () => {
  it("answer errors with canonical codes and TensorFlow Serving's words", () => {
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
    for (const [error, expected] of cases) assert.deepEqual(explained(error), expected);
  });

  it('say why a model is not served', () => {
    const text = 'Servable not found for request: Specific(tf, 8)';
    assert.deepEqual(explained(missing('version', 'tf', { version: '8' })), [
      5,
      `${text}: version 8 is END: cut short`,
    ]);
    assert.deepEqual(explained(missing('version', 'tf', { version: '7' })), [
      5,
      'Servable not found for request: Specific(tf, 7)', // it was loaded meanwhile
    ]);
    assert.deepEqual(explained(missing('model', 'x')), [
      5,
      'Servable not found for request: Latest(x)',
    ]);
    assert.deepEqual(explained(missing('label', 'tf', { label: 'l'.repeat(300) })), [
      3,
      `Unrecognized servable version label: ${'l'.repeat(300)}`,
    ]);
  });

  it('say why a signature of the file is not served', () => {
    const text = 'Serving signature key "sparse" not found.';
    const reason = 'It is not served: operator SparseFoo is not supported';
    const ask = (model: string, message: string, code: ErrorCode): unknown => {
      const more = { version: '7', signature: 'sparse' };
      return explained({ ...missing('signature', model, more, message), code });
    };
    const { SignatureNotFound, InvalidArgument } = ErrorCode;
    assert.deepEqual(ask('tf', text, SignatureNotFound), [9, `${text} ${reason}`]);
    for (const name of ['m', 'nope']) {
      assert.deepEqual(ask(name, text, SignatureNotFound), [9, text]);
    }
    const classify = 'No signature was found with the name: sparse';
    const task = 'Requested signature not found in model graph: sparse';
    for (const words of [classify, task]) {
      assert.deepEqual(ask('tf', words, InvalidArgument), [3, `${words}. ${reason}`]);
    }
  });

  it('cut long texts between characters', () => {
    assert.equal(truncated('é'.repeat(512)), 'é'.repeat(512));
    assert.equal(truncated(`${'x'.repeat(1023)}é`), `${'x'.repeat(1023)}...TRUNCATED`);
    assert.equal(truncated(`${'x'.repeat(1021)}\u{1F600}y`), `${'x'.repeat(1021)}...TRUNCATED`);
  });
});
