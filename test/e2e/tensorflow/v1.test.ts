// TensorFlow models over TensorFlow Serving's REST interface, with bodies from its documentation:
// predict, classify, regress, status, metadata, refusals, goldens (SERVAL_TF_GOLDENS), and state
// under parallel calls. Test time only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { goldenFolder } from '../../conformance/golden-folder.js';
import { NO_GOLDENS } from '../../conformance/tensorflow/support/golden-files.js';
import { predict } from '../support/operating.js';
import { errorOf } from '../support/raw-http.js';
import {
  answered,
  get,
  HALF,
  jsonTensor,
  model,
  MODELS,
  post,
  started,
  type Golden,
} from './support.js';

interface GoldenCall {
  readonly signature: string;
  readonly method: string;
  readonly inputs: Readonly<Record<string, Golden>>;
  readonly outputs: Readonly<Record<string, Golden | null>>;
}

describe('TensorFlow models over the REST interface of TensorFlow Serving', () => {
  it('a base path: predict in rows and columns, classify, regress', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half_plus_two', `--model_base_path=${path}`);
    const call = async (verb: string, body: string): Promise<unknown> =>
      answered(await post(server, `/v1/models/half_plus_two:${verb}`, body));

    assert.deepEqual(await call('predict', '{"instances": [1.0, 2.0, 5.0]}'), {
      predictions: [2.5, 3, 4.5],
    });
    assert.deepEqual(await call('predict', '{"instances": [[1.0], [5.0]]}'), {
      predictions: [[2.5], [4.5]],
    });
    assert.deepEqual(await call('predict', '{"instances": [{"x": 1.0}]}'), { predictions: [2.5] });
    assert.deepEqual(await call('predict', '{"inputs": [[1.0]]}'), { outputs: [[2.5]] });
    assert.deepEqual(
      await call(
        'predict',
        '{"signature_name": "serving_default", ' + '"inputs": {"x": [1.0, -2.0]}}',
      ),
      { outputs: [2.5, 1] },
    );
    assert.deepEqual(
      await call(
        'regress',
        '{"signature_name": "regress_x_to_y", ' + '"examples": [{"x": 1.0}, {"x": [2.0]}]}',
      ),
      { results: [2.5, 3] },
    );
    assert.deepEqual(
      await call(
        'regress',
        '{"signature_name": "regress_x_to_y2", ' + '"context": {"x": 4.0}, "examples": [{}, {}]}',
      ),
      { results: [5, 5] },
    );
    assert.deepEqual(
      await call(
        'classify',
        '{"signature_name": "classify_x_to_y", ' + '"examples": [{"x": 1.0}, {"x": 5.0}]}',
      ),
      { results: [[['', 2.5]], [['', 4.5]]] },
    );
    assert.deepEqual(
      answered(
        await post(server, '/v1/models/half_plus_two/versions/123:predict', '{"instances": [0]}'),
      ),
      { predictions: [2] },
    );
  });

  it('calls that are wrong: signature, input, type, version, body', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half_plus_two', `--model_base_path=${path}`);
    const refusal = async (status: number, place: string, body: string): Promise<string> => {
      const response = await post(server, `/v1/models/half_plus_two${place}`, body);
      assert.equal(response.status, status, response.body.toString());
      return errorOf(response);
    };
    assert.match(
      await refusal(400, ':predict', '{"signature_name": "none", "instances": [1]}'),
      /Serving signature name: "none" not found|signature.*none/i,
    );
    assert.match(await refusal(400, ':predict', '{"instances": [{"z": 1}]}'), /z|x/);
    await refusal(400, ':predict', '{"instances": ["text"]}');
    await refusal(400, ':predict', '{"instances": [1,]}');
    await refusal(400, ':predict', '{"instances": []}');
    await refusal(400, ':regress', '{"examples": []}');
    await refusal(
      400,
      ':regress',
      '{"signature_name": "regress_x_to_y", "examples": [{"x": "a"}]}',
    );
    await refusal(404, '/versions/7:predict', '{"instances": [1]}');
    assert.deepEqual(
      answered(await predict(server, 'half_plus_two', '{"instances": [1]}')),
      { predictions: [2.5] },
      'it still serves',
    );
  });

  it('status and metadata as TensorFlow Serving shows them', async (t) => {
    const path = model(t, 'saved_model_half_plus_two_2_versions');
    const expected = join(MODELS, 'expected', 'saved_model_half_plus_two_2_versions_metadata.json');
    if (path === undefined) return;
    const server = await started(t, '--model_name=half', `--model_base_path=${path}`);
    assert.deepEqual(await get(server, '/v1/models/half'), {
      model_version_status: [
        {
          version: '124',
          state: 'AVAILABLE',
          status: { error_code: 'OK', error_message: '' },
        },
      ],
    });
    const metadata = (await get(server, '/v1/models/half/metadata')) as {
      model_spec: object;
      metadata: object;
    };
    const want = JSON.parse(readFileSync(expected, 'utf8')) as typeof metadata;
    assert.deepEqual(metadata.metadata, want.metadata);
    assert.deepEqual(metadata.model_spec, { name: 'half', signature_name: '', version: '124' });
  });

  it('goldens over REST, by columns', async (t) => {
    const goldens = goldenFolder('tensorflow');
    if (goldens === undefined) {
      t.skip(NO_GOLDENS);
      return;
    }
    const names = ['keras_mlp', 'frozen_conv', 'bundle_v2_classes', 'wide_and_deep', 'tf1_loop'];
    const server = await started(t, ...names.map((name) => join(goldens, 'models', name)));
    for (const name of names) {
      const cases = JSON.parse(
        readFileSync(join(goldens, 'models', name, 'cases.json'), 'utf8'),
      ) as GoldenCall[];
      for (const one of cases.filter(
        ({ method, outputs }) => method === 'predict' && !Object.values(outputs).includes(null),
      )) {
        const inputs = Object.fromEntries(
          Object.entries(one.inputs).map(([alias, value]) => [alias, jsonTensor(value)]),
        );
        const answer = answered(
          await post(
            server,
            `/v1/models/${name}:predict`,
            JSON.stringify({ signature_name: one.signature, inputs }),
          ),
        ) as { outputs: unknown };
        const outputs = Object.entries(one.outputs);
        for (const [alias, value] of outputs) {
          const got =
            outputs.length === 1
              ? answer.outputs
              : (answer.outputs as Record<string, unknown>)[alias];
          const want = [jsonTensor(value as Golden)].flat(Infinity);
          const have = [got].flat(Infinity);
          assert.equal(have.length, want.length, `${name} ${alias}`);
          have.forEach((number, i) =>
            assert.ok(Math.abs(Number(number) - Number(want[i])) < 1e-3, `${name} ${alias} ${i}`),
          );
        }
      }
    }
  });

  it('a counter under parallel calls counts each of them', async (t) => {
    const path = model(t, 'saved_model_counter');
    if (path === undefined) return;
    const server = await started(t, '--model_name=c', `--model_base_path=${path}`);
    const count = async (signature: string, inputs = '{}'): Promise<number> => {
      const answer = answered(
        await predict(server, 'c', `{"signature_name": "${signature}", "inputs": ${inputs}}`),
      ) as { outputs: number };
      return answer.outputs;
    };
    assert.equal(await count('get_counter'), 0);
    const calls = 200;
    const seen = await Promise.all(Array.from({ length: calls }, () => count('incr_counter')));
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      Array.from({ length: calls }, (_, i) => i + 1),
    );
    assert.equal(await count('get_counter'), calls);
    assert.equal(await count('incr_counter_by', '{"delta": 0.5}'), calls + 0.5);
    assert.equal(await count('reset_counter'), 0);
    assert.equal(await count('get_counter'), 0);
  });
});
