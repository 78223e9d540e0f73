// TensorFlow Serving's gRPC API on ONNX models, exact message to exact message or status, over the
// wire. Source of each case: tfserving.md 1.10, 2, unless it names another.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import {
  RawClient,
  decode,
  encode,
  messageTypes,
  type Outcome,
} from '../unit/protocols/raw-client.js';

const types = messageTypes();
const request = (name: string, value: object): Buffer =>
  encode(types, `tensorflow.serving.${name}`, value);

const SERVICES: Readonly<Record<string, string>> = {
  GetModelStatus: 'ModelService',
  HandleReloadConfigRequest: 'ModelService',
  SessionRun: 'SessionService',
};
const SPEC = { name: 'half_plus_three' };
const RESOLVED = { ...SPEC, version: { value: '123' }, signature_name: 'serving_default' };

const floats = (...values: readonly number[]): object => ({
  dtype: 1,
  tensor_shape: { dim: [{ size: values.length }] },
  float_val: values,
});
const predict = (inputs: Readonly<Record<string, object>>, rest: object = {}): Buffer =>
  request('PredictRequest', {
    model_spec: SPEC,
    inputs: Object.entries(inputs).map(([key, value]) => ({ key, value })),
    ...rest,
  });

interface Tensor {
  readonly dtype: string;
  readonly tensor_shape: { readonly dim: readonly { readonly size: string }[] };
  readonly tensor_content: Uint8Array;
  readonly float_val: readonly number[];
}

for (const isContent of [false, true]) {
  const name = `TensorFlow Serving's gRPC API${isContent ? ', tensor_content' : ''}`;
  describe(name, () => {
    const folders = new ModelFolders();
    let server: ServalProcess;
    let client: RawClient;
    before(async () => {
      server = await startServer([
        folders.models,
        `--enable_serialization_as_tensor_content=${isContent}`,
      ]);
      client = new RawClient(server.grpcPort);
    });
    after(async () => {
      client.close();
      await server.stop();
      folders.remove();
    });

    const call = (method: string, message: Buffer): Promise<Outcome> =>
      client.unary(
        `/tensorflow.serving.${SERVICES[method] ?? 'PredictionService'}/${method}`,
        message,
      );
    const answer = async (method: string, message: Buffer): Promise<Record<string, unknown>> => {
      const outcome = await call(method, message);
      assert.deepEqual([outcome.code, outcome.details], [0, '']);
      return decode(
        types,
        `tensorflow.serving.${method}Response`,
        outcome.message ?? Buffer.alloc(0),
      ) as Record<string, unknown>;
    };
    /** The only output's name, shape and floats. */
    const seen = (value: unknown): unknown => {
      const [{ key, value: tensor } = assert.fail()] = value as readonly {
        key: string;
        value: Tensor;
      }[];
      const content = Buffer.from(tensor.tensor_content);
      assert.equal(content.length > 0, isContent);
      const listed = isContent
        ? Array.from({ length: content.length / 4 }, (_, i) => content.readFloatLE(4 * i))
        : tensor.float_val;
      return [key, tensor.dtype, tensor.tensor_shape.dim.map(({ size }) => size), listed];
    };

    it('predicts, and returns the version and signature used', async () => {
      for (const spec of [
        SPEC,
        { ...SPEC, version: { value: 123 } },
        { ...SPEC, signature_name: 'serving_default' },
      ]) {
        const { outputs, model_spec: used } = await answer(
          'Predict',
          predict({ x: floats(1, 2, 5) }, { model_spec: spec, output_filter: ['y'] }),
        );
        assert.deepEqual(seen(outputs), ['y', 'DT_FLOAT', ['3'], [3.5, 4, 5.5]]);
        assert.deepEqual(used, RESOLVED);
      }
    });

    it('runs a session by tensor names', async () => {
      const asked = request('SessionRunRequest', {
        model_spec: SPEC,
        feed: [{ name: 'x:0', tensor: floats(2) }],
        fetch: ['y:0'],
      });
      const { tensor, model_spec: used } = await answer('SessionRun', asked);
      const list = tensor as readonly { name: string; tensor: Tensor }[];
      assert.deepEqual(seen(list.map((one) => ({ key: one.name, value: one.tensor }))), [
        'y:0',
        'DT_FLOAT',
        ['1'],
        [4],
      ]);
      assert.deepEqual(used, RESOLVED);
    });

    it('shows status and metadata', async () => {
      assert.deepEqual(
        await answer('GetModelStatus', request('GetModelStatusRequest', { model_spec: SPEC })),
        {
          model_version_status: [
            { version: '123', state: 'AVAILABLE', status: { error_code: 'OK', error_message: '' } },
          ],
        },
      );
      const { metadata } = await answer(
        'GetModelMetadata',
        request('GetModelMetadataRequest', {
          model_spec: SPEC,
          metadata_field: ['signature_def'],
        }),
      );
      const [{ value } = assert.fail()] = metadata as readonly { value: { value: Uint8Array } }[];
      const { signature_def: map } = decode(
        types,
        'tensorflow.serving.SignatureDefMap',
        Buffer.from(value.value),
      ) as { signature_def: readonly { key: string }[] };
      assert.deepEqual(
        map.map(({ key }) => key),
        ['serving_default'],
      );
    });

    const examples = { example_list: { examples: [{}] } };
    const spec = (more: object): object => ({ model_spec: { ...SPEC, ...more } });
    const cases: readonly [string, string, Buffer, number, RegExp][] = [
      [
        'an unknown model',
        'Predict',
        predict({}, { model_spec: { name: 'nope' } }),
        5,
        /^Servable not found for request: Latest\(nope\)$/,
      ],
      [
        'an unknown version',
        'Predict',
        predict({}, spec({ version: { value: 9 } })),
        5,
        /^Servable not found for request: Specific\(half_plus_three, 9\)$/,
      ],
      [
        'an unknown label',
        'Predict',
        predict({}, spec({ version_label: 'x' })),
        3,
        /^Unrecognized servable version label: x$/,
      ],
      [
        'a label of an unknown model',
        'Predict',
        predict({}, { model_spec: { name: 'nope', version_label: 'x' } }),
        3,
        /^Unrecognized servable version label: x$/,
      ],
      ['no ModelSpec', 'Predict', Buffer.alloc(0), 3, /^Missing ModelSpec$/],
      [
        'no name',
        'Predict',
        predict({}, { model_spec: {} }),
        3,
        /^ModelSpec has no name specified\.$/,
      ],
      [
        'an unknown signature',
        'Predict',
        predict({}, spec({ signature_name: 's' })),
        9,
        /^Serving signature key "s" not found\./,
      ],
      ['a missing input', 'Predict', predict({}), 3, /^input size does not match signature: 0!=1 /],
      [
        'an unknown output',
        'Predict',
        predict({ x: floats(1) }, { output_filter: ['z'] }),
        3,
        /^output tensor alias not found in signature: z /,
      ],
      [
        'an output twice',
        'Predict',
        predict({ x: floats(1) }, { output_filter: ['y', 'y'] }),
        3,
        /^duplicate output tensor alias: y$/,
      ],
      [
        'a tensor that is none',
        'Predict',
        predict({ x: { dtype: 1, tensor_shape: { unknown_rank: true } } }),
        3,
        /^tensor parsing error: x/,
      ],
      ['bytes that are none', 'Predict', Buffer.from('0aff', 'hex'), 3, /./],
      [
        'classify of a predict signature',
        'Classify',
        request('ClassificationRequest', { ...spec({}), input: examples }),
        3,
        /^No classification inputs found in SignatureDef: /,
      ],
      [
        'regress of a predict signature',
        'Regress',
        request('RegressionRequest', { ...spec({}), input: examples }),
        3,
        /^No regression inputs found in SignatureDef: /,
      ],
      [
        'classify of an unknown signature',
        'Classify',
        request('ClassificationRequest', { ...spec({ signature_name: 's' }), input: examples }),
        3,
        /^No signature was found with the name: s$/,
      ],
      [
        'MultiInference of a predict signature',
        'MultiInference',
        request('MultiInferenceRequest', {
          input: examples,
          tasks: [{ ...spec({}), method_name: 'tensorflow/serving/classify' }],
        }),
        3,
        /^No classification inputs found in SignatureDef: /,
      ],
      [
        'SessionRun of what no signature does',
        'SessionRun',
        request('SessionRunRequest', { ...spec({}), fetch: ['y:0'] }),
        12,
        /^SessionRun runs signatures only/,
      ],
      ['an unknown rpc', 'PredictStreamed', Buffer.alloc(0), 12, /./],
    ];
    for (const [what, method, message, code, details] of cases) {
      it(`refuses ${what}`, async () => {
        const outcome = await call(method, message);
        assert.equal(outcome.code, code, outcome.details);
        assert.match(outcome.details, details);
      });
    }
  });
}
