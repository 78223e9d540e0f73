// PredictionService.MultiInference. Source: tensorflow/serving multi_inference.cc.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/errors.js';
import { TF_CLASSIFY, TF_REGRESS } from '../../../../ts/model/request-kinds.js';
import { decode } from '../raw-client.js';
import { encoded, outcome, servingRig, types, type Request } from './serving-rig.js';

const { engine, call, answered } = servingRig();

const task = (signature: string, verb: string, name = 'tf'): object => ({
  model_spec: { name, signature_name: signature },
  method_name: `tensorflow/serving/${verb}`,
});
const INPUT = { example_list: { examples: [{}, {}] } };
const multi = (tasks: readonly object[], input: object = INPUT): Buffer =>
  encoded('MultiInferenceRequest', { tasks, input });

const CLASSIFIED = encoded('ClassificationResponse', {
  result: { classifications: [{ classes: [{ label: 'a', score: 0.5 }] }] },
  model_spec: { name: 'tf', version: { value: 7 }, signature_name: 'c' },
});
const REGRESSED = encoded('RegressionResponse', {
  result: { regressions: [{ value: 2.5 }] },
  model_spec: { name: 'tf', version: { value: 7 }, signature_name: 'r' },
});

describe('MultiInference', () => {
  const BOTH = multi([task('c', 'classify'), task('r', 'regress')]);

  it("runs each task on the first one's version and keeps their order", async () => {
    const pending = call(
      'MultiInference',
      multi([
        {
          ...task('c', 'classify'),
          model_spec: { name: 'tf', signature_name: 'c', version_label: 'stable' },
        },
        {
          ...task('r', 'regress'),
          model_spec: { name: 'tf', signature_name: 'r', version: { value: 99 } },
        },
      ]),
      { deadline: Date.now() + 60_000 },
    );
    await engine.until(() => engine.requests.length === 2);
    const [first, second] = [engine.request(0), engine.request(1)];
    assert.deepEqual([first.protocol, second.protocol], [TF_CLASSIFY, TF_REGRESS]);
    assert.ok(first.timeoutUs > 50_000_000);
    const specOf = (request: Request): object =>
      (
        decode(types, 'tensorflow.serving.ClassificationRequest', request.message) as {
          model_spec: object;
        }
      ).model_spec;
    assert.deepEqual(specOf(first), { name: 'tf', version: { value: '7' }, signature_name: 'c' });
    assert.deepEqual(specOf(second), { name: 'tf', version: { value: '7' }, signature_name: 'r' });
    const wanted = encoded('ClassificationRequest', { input: INPUT });
    for (const { message } of engine.requests) {
      assert.ok(message.subarray(-wanted.length).equals(wanted));
    }
    engine.answer(second, REGRESSED);
    engine.answer(first, CLASSIFIED);
    const { message } = await pending;
    assert.ok(message !== undefined);
    assert.deepEqual(decode(types, 'tensorflow.serving.MultiInferenceResponse', message), {
      results: [
        {
          model_spec: { name: 'tf', version: { value: '7' }, signature_name: 'c' },
          classification_result: {
            classifications: [{ classes: [{ label: 'a', score: 0.5 }] }],
          },
        },
        {
          model_spec: { name: 'tf', version: { value: '7' }, signature_name: 'r' },
          regression_result: { regressions: [{ value: 2.5 }] },
        },
      ],
    });
  });

  it('answers at once when the engine does', async () => {
    engine.reply = ({ protocol }) => (protocol === TF_CLASSIFY ? CLASSIFIED : REGRESSED);
    const { results } = (await answered('MultiInference', BOTH, 'MultiInferenceResponse')) as {
      results: object[];
    };
    assert.equal(results.length, 2);
  });

  it('holds few copies of a large input: one task after the other', async () => {
    const large = {
      example_list: {
        examples: [
          {
            features: {
              feature: [
                { key: 'x', value: { bytes_list: { value: [Buffer.alloc(40 * 1024 * 1024)] } } },
              ],
            },
          },
        ],
      },
    };
    const pending = call(
      'MultiInference',
      multi([task('c', 'classify'), task('r', 'regress')], large),
    );
    await engine.until(() => engine.requests.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(engine.requests.length, 1);
    engine.answer(engine.request(0), CLASSIFIED);
    assert.equal(engine.requests.length, 2);
    engine.answer(engine.request(1), REGRESSED);
    assert.equal((await pending).code, 0);
  });

  it('ends with the first failure and drops the other tasks', async () => {
    const pending = call('MultiInference', BOTH);
    await engine.until(() => engine.requests.length === 2);
    engine.answer(engine.request(1), {
      code: ErrorCode.InvalidArgument,
      message: 'Input is empty.',
    });
    assert.deepEqual(outcome(await pending), [3, 'Input is empty.']);
    assert.deepEqual(engine.cancelled, [1]);
    engine.answer(engine.request(0), { code: ErrorCode.Cancelled, message: 'cancelled' });
    engine.requests = [];
    engine.reply = () => ({ code: ErrorCode.QueueFull, message: 'full' });
    assert.equal((await call('MultiInference', BOTH)).code, 14);
    assert.equal(engine.requests.length, 1, 'nothing is begun behind a failure');
  });

  it('that the client drops takes its tasks back', async () => {
    const pending = call('MultiInference', BOTH, { deadline: Date.now() + 150 });
    await engine.until(() => engine.cancelled.length === 2);
    assert.equal((await pending).code, 4);
    assert.deepEqual(engine.cancelled, [1, 2]);
  });

  it('refuses what TensorFlow Serving refuses', async () => {
    const classify = task('c', 'classify');
    const cases: readonly [Buffer, readonly [number, string]][] = [
      [Buffer.alloc(0), [3, 'ModelSpec has no name specified.']],
      [
        multi([{ method_name: 'tensorflow/serving/classify' }]),
        [3, 'ModelSpec has no name specified.'],
      ],
      [multi([task('c', 'classify', 'nope')]), [5, 'Servable not found for request: Latest(nope)']],
      [
        multi([classify, task('r', 'regress', '')]),
        [3, 'Found ModelSpec with an empty model name.'],
      ],
      [
        multi([classify, task('r', 'regress', 'm')]),
        [3, 'All ModelSpecs in a MultiInferenceRequest must access the same model name.'],
      ],
      [multi([classify, classify]), [3, 'Duplicate evaluation of signature: c']],
      [
        multi([task('', 'classify'), task('serving_default', 'regress')]),
        [3, 'Duplicate evaluation of signature: serving_default'],
      ],
      [
        multi([classify, task('r', 'predict')]),
        [12, 'Unsupported signature method_name: tensorflow/serving/predict'],
      ],
      [
        multi([task('nope', 'classify')]),
        [3, 'Requested signature not found in model graph: nope'],
      ],
      [
        multi([task('sparse', 'classify')]),
        [
          3,
          'Requested signature not found in model graph: ' +
            'sparse. It is not served: operator SparseFoo is not supported',
        ],
      ],
      [
        Buffer.from('0a05', 'hex'),
        [3, 'MultiInferenceRequest: byte 0: field 1: 5 bytes expected, 0 are left'],
      ],
    ];
    for (const [message, expected] of cases) {
      assert.deepEqual(outcome(await call('MultiInference', message)), expected);
    }
    assert.equal(engine.requests.length, 0);
  });
});
