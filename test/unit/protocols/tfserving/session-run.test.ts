// SessionService.SessionRun. Source: tensorflow/serving session_service.proto.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { TF_PREDICT } from '../../../../ts/model/request-kinds.js';
import { decode } from '../raw-client.js';
import { encoded, outcome, servingRig, SPEC, types } from './serving-rig.js';

const { engine, call, answered } = servingRig();

describe('SessionRun', () => {
  const tensor = (...values: readonly number[]): object => ({
    dtype: 1,
    tensor_shape: { dim: [{ size: values.length }] },
    float_val: values,
  });
  const run = (feeds: readonly string[], fetches: readonly string[], more: object = {}): Buffer =>
    encoded('SessionRunRequest', {
      model_spec: SPEC,
      feed: feeds.map((name) => ({ name, tensor: tensor(1, 2) })),
      fetch: fetches,
      ...more,
    });
  const PREDICTED = encoded('PredictResponse', {
    outputs: [
      { key: 'y', value: tensor(3) },
      { key: 'z', value: tensor(4) },
    ],
    model_spec: { name: 'tf', version: { value: 7 }, signature_name: 'serving_default' },
  });
  const predicted = (): object =>
    decode(types, 'tensorflow.serving.PredictRequest', engine.request(0).message);

  it('becomes a Predict of the signature that takes the feeds', async () => {
    engine.reply = () => PREDICTED;
    for (const message of [
      run(['x:0'], ['z:1', 'y', 'y:0']),
      run(['x'], ['z', 'y', 'y'], { tensor_name_is_alias: true }),
    ]) {
      engine.requests = [];
      const response = (await answered('SessionRun', message, 'SessionRunResponse')) as {
        tensor: { name: string; tensor: { float_val: number[] } }[];
        model_spec: object;
      };
      const names = response.tensor.map(({ name }) => name);
      assert.ok(['z:1,y,y:0', 'z,y,y'].includes(names.join()), names.join());
      assert.deepEqual(
        response.tensor.map((one) => one.tensor.float_val),
        [[4], [3], [3]],
      );
      assert.deepEqual(response.model_spec, {
        name: 'tf',
        version: { value: '7' },
        signature_name: 'serving_default',
      });
      const request = predicted() as {
        model_spec: object;
        inputs: { key: string; value: { float_val: number[] } }[];
        output_filter: string[];
      };
      assert.equal(engine.request(0).protocol, TF_PREDICT);
      assert.deepEqual(request.model_spec, response.model_spec);
      assert.deepEqual(
        request.inputs.map(({ key, value }) => [key, value.float_val]),
        [['x', [1, 2]]],
      );
      assert.deepEqual(request.output_filter, ['z', 'y']);
    }
  });

  it('finds a signature by its tensors, the named one alone where one is named', async () => {
    engine.reply = () =>
      encoded('PredictResponse', {
        outputs: [{ key: 'scores', value: tensor(1) }],
      });
    const asked = async (more: object): Promise<unknown> => {
      engine.requests = [];
      await call('SessionRun', run(['tf_example:0'], ['y:0'], more));
      return (predicted() as { model_spec: { signature_name: string } }).model_spec.signature_name;
    };
    assert.equal(await asked({}), 'c');
    assert.equal(await asked({ model_spec: { name: 'tf', signature_name: 'r' } }), 'r');
  });

  it('is limited by its own timeout and by the deadline, whichever is earlier', async () => {
    engine.reply = () => PREDICTED;
    const limit = async (timeoutMs: number, options: object): Promise<number> => {
      engine.requests = [];
      await call(
        'SessionRun',
        run(['x:0'], ['y:0'], { options: { timeout_in_ms: timeoutMs } }),
        options,
      );
      return engine.request(0).timeoutUs;
    };
    assert.equal(await limit(0, {}), 0);
    assert.equal(await limit(20, {}), 20_000);
    assert.equal(await limit(20, { deadline: Date.now() + 60_000 }), 20_000);
    const left = await limit(90_000, { deadline: Date.now() + 60_000 });
    // The clock counts whole milliseconds.
    assert.ok(left > 50_000_000 && left <= 60_001_000, String(left));
  });

  it('refuses what no signature does', async () => {
    const none =
      "SessionRun runs signatures only, and no signature of model 'tf' accepts exactly " +
      'the feeds ';
    const cases: readonly [Buffer, readonly [number, string]][] = [
      [run([], ['y:0']), [12, `${none}[] and returns the fetches [y:0]`]],
      [run(['x:0', 'w:0'], ['y:0']), [12, `${none}[x, w] and returns the fetches [y:0]`]],
      [
        run(['x:0'], ['y:0', 'hidden:0']),
        [12, `${none}[x] and returns the fetches [y:0, hidden:0]`],
      ],
      [
        run(['x:0'], ['y:0'], { tensor_name_is_alias: true }),
        [12, `${none}[x:0] and returns the fetches [y:0]`],
      ],
      [
        run(['x:0'], ['y:0'], { model_spec: { name: 'tf', signature_name: 'r' } }),
        [12, `${none}[x] and returns the fetches [y:0]`],
      ],
      [
        run(['v:0'], ['y:0'], { model_spec: { name: 'tf', signature_name: 'sparse' } }),
        [9, 'Serving signature key "sparse" not found.'],
      ],
      [run(['x:0', 'x'], ['y:0']), [3, 'feed: expected each tensor once, got x twice']],
      [run(['x:0'], []), [3, 'Must specify at least one target to fetch or execute.']],
      [
        run(['x:0'], ['y:0'], { target: ['init'] }),
        [12, 'target: operations cannot be run by name, got init; expected only fetches'],
      ],
      [
        run(['x:0'], ['y:0'], { model_spec: { name: 'nope' } }),
        [5, 'Servable not found for request: Latest(nope)'],
      ],
      [encoded('SessionRunRequest', { fetch: ['y:0'] }), [3, 'Missing ModelSpec']],
      [
        Buffer.from('12050a', 'hex'),
        [3, 'SessionRunRequest: byte 0: field 2: expected 5 bytes, but only 1 remain'],
      ],
    ];
    for (const [message, expected] of cases) {
      assert.deepEqual(outcome(await call('SessionRun', message)), expected);
    }
    assert.equal(engine.requests.length, 0);
    engine.reply = () => ({ code: ErrorCode.InvalidArgument, message: 'wrong dtype' });
    assert.deepEqual(outcome(await call('SessionRun', run(['x:0'], ['y:0']))), [3, 'wrong dtype']);
  });
});
