// TensorFlow models served: by TensorFlow Serving's flags and configuration, over its REST
// interface with bodies as its documentation has them, over Predict Protocol V2, with new and
// broken versions, with a cache, and as ONNX files for others.
// Models: those beside the checkout (SERVAL_TFSERVING_MODELS names another folder) and goldens
// (SERVAL_TF_GOLDENS); what is missing is skipped out loud.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { packageRoot } from '../../ts/package-files.js';
import { goldenFolder, NO_GOLDENS } from '../conformance/tensorflow/support/golden-files.js';
import {
  decode,
  encode,
  messageTypes,
  type Outcome,
  RawClient,
} from '../unit/protocols/raw-client.js';
import { predict, put, v1Versions } from './support/operating.js';
import { SteadyLoad, until } from './support/polling.js';
import { errorOf, exchange, jsonOf, type RawResponse } from './support/raw-http.js';
import { runServal, startServer, type ServalProcess } from './support/serval-process.js';

const MODELS =
  process.env['SERVAL_TFSERVING_MODELS'] ??
  join(packageRoot(), '..', 'shared', 'models', 'tfserving');
const HALF = 'saved_model_half_plus_two_cpu';

const runtime = createRequire(import.meta.url)('onnxruntime-node') as {
  readonly InferenceSession: typeof InferenceSession;
  readonly Tensor: typeof Tensor;
};

/** The answer's JSON; it must be a 200. */
function answered(response: RawResponse): unknown {
  assert.equal(response.status, 200, response.body.toString());
  return jsonOf(response);
}

describe('TensorFlow models', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-tf-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The model's folder beside the checkout; undefined, and the test skipped, without it. */
  const model = (t: TestContext, name: string): string | undefined => {
    const path = join(MODELS, name);
    if (existsSync(path)) return path;
    t.skip(`no ${path}: set SERVAL_TFSERVING_MODELS`);
    return undefined;
  };
  const started = async (t: TestContext, ...args: readonly string[]): Promise<ServalProcess> => {
    const server = await startServer(args);
    t.after(() => server.stop());
    return server;
  };
  const post = (server: ServalProcess, path: string, body: string): Promise<RawResponse> =>
    exchange(server.httpPort, 'POST', path, body);
  const get = async (server: ServalProcess, path: string): Promise<unknown> =>
    answered(await exchange(server.httpPort, 'GET', path));

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

  it('models.config with model_platform "tensorflow", two versions and labels', async (t) => {
    const path = model(t, 'saved_model_half_plus_two_2_versions');
    const bundle = model(t, 'session_bundle/half_plus_two');
    if (path === undefined || bundle === undefined) return;
    const file = join(folder, 'models.config');
    writeFileSync(
      file,
      `model_config_list {
      config {
        name: "half" base_path: "${path}" model_platform: "tensorflow"
        model_version_policy { all { } } version_labels { key: "stable" value: 123 }
      }
      config { name: "bundle" base_path: "${bundle}" model_platform: "tensorflow" }
    }\n`,
    );
    const server = await started(t, `--model_config_file=${file}`);
    const body = '{"instances": [3.0]}';
    for (const place of ['half', 'half/versions/123', 'half/labels/stable']) {
      assert.deepEqual(answered(await predict(server, place, body)), { predictions: [3.5] });
    }
    assert.deepEqual([...(await v1Versions(server, 'half')).keys()], ['124', '123']);
    assert.deepEqual(
      answered(await post(server, '/v1/models/bundle:regress', '{"examples": [{"x": 1.0}]}')),
      { results: [2.5] },
    );
    assert.deepEqual(
      answered(
        await post(
          server,
          '/v1/models/bundle:predict',
          '{"signature_name": "serving_default_from_named", "instances": [2.0]}',
        ),
      ),
      { predictions: [3] },
    );
  });

  it('Predict Protocol V2 of the same model', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half', `--model_base_path=${path}`);
    const metadata = (await get(server, '/v2/models/half')) as {
      platform: string;
      inputs: { name: string; datatype: string; shape: number[] }[];
    };
    assert.equal(metadata.platform, 'tensorflow_savedmodel');
    assert.deepEqual(metadata.inputs, [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }]);
    const answer = answered(
      await post(
        server,
        '/v2/models/half/infer',
        JSON.stringify({
          inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 1], data: [1, 2] }],
        }),
      ),
    ) as {
      outputs: object[];
    };
    assert.deepEqual(answer.outputs, [
      { name: 'y', datatype: 'FP32', shape: [2, 1], data: [2.5, 3] },
    ]);
    const wrong = await post(
      server,
      '/v2/models/half/infer',
      JSON.stringify({
        inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }],
      }),
    );
    assert.equal(wrong.status, 400);
  });

  it('Predict Protocol V2 over gRPC', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half', `--model_base_path=${path}`);
    const types = messageTypes();
    const client = new RawClient(server.grpcPort);
    t.after(() => client.close());
    const infer = (datatype: string): Promise<Outcome> =>
      client.unary(
        '/inference.GRPCInferenceService/ModelInfer',
        encode(types, 'inference.ModelInferRequest', {
          model_name: 'half',
          inputs: [{ name: 'x', datatype, shape: [2, 1] }],
          raw_input_contents: [Buffer.from(Float32Array.from([1, 2]).buffer)],
        }),
      );
    const { code, details, message = Buffer.alloc(0) } = await infer('FP32');
    assert.equal(code, 0, details);
    const answer = decode(types, 'inference.ModelInferResponse', message) as {
      model_version: string;
      outputs: { name: string; shape: string[] }[];
      raw_output_contents: Uint8Array[];
    };
    assert.equal(answer.model_version, '123');
    assert.deepEqual(
      answer.outputs.map(({ name, shape }) => [name, shape]),
      [['y', ['2', '1']]],
    );
    const [raw = Buffer.alloc(0)] = answer.raw_output_contents;
    assert.deepEqual([...new Float32Array(Uint8Array.from(raw).buffer)], [2.5, 3]);
    assert.equal((await infer('INT32')).code, 3);
  });

  it('goldens over REST, by columns', async (t) => {
    const goldens = goldenFolder();
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

  it('a new version appears under load; a broken one leaves the old one serving', async (t) => {
    const path = model(t, HALF);
    const three = model(t, 'saved_model_half_plus_three');
    if (path === undefined || three === undefined) return;
    const base = join(folder, 'appears');
    cpSync(join(path, '00000123'), join(base, '1'), { recursive: true });
    const server = await started(
      t,
      '--model_name=m',
      `--model_base_path=${base}`,
      '--file_system_poll_wait_seconds=1',
    );
    const load = new SteadyLoad(server.httpPort, '/v1/models/m:predict', '{"instances":[1.0]}');
    await load.more(5);
    const place = (version: string, make: (at: string) => void): void => {
      const building = join(folder, 'building');
      make(building);
      renameSync(building, join(base, version));
    };
    place('2', (at) => cpSync(join(three, '00000123'), at, { recursive: true }));
    await until(
      'version 2',
      () => load.answers.at(-1) === '{"predictions":[3.5]}',
      () => load.answers.join(),
    );
    place('3', (at) => {
      put(join(at, 'saved_model.pb'), 'no protobuf at all');
    });
    const failed = await until('version 3 fails', async () => {
      const version = (await v1Versions(server, 'm')).get('3');
      return version?.state === 'END' ? version : undefined;
    });
    assert.notEqual(failed.status.error_code, 'OK');
    assert.match(failed.status.error_message, /saved_model\.pb/);
    await load.more(5);
    await load.stop();
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, ['{"predictions":[2.5]}', '{"predictions":[3.5]}']);
  });

  it('what cannot be served says why and takes nobody along', async (t) => {
    const half = model(t, HALF);
    const bad = model(t, 'bad_half_plus_two');
    const lite = model(t, 'saved_model_half_plus_two_tflite');
    if (half === undefined || bad === undefined || lite === undefined) return;
    const server = await started(t, half, bad, lite);
    const problem = async (name: string): Promise<string> => {
      const [version] = [...(await v1Versions(server, name)).values()];
      assert.equal(version?.state, 'END');
      return version.status.error_message;
    };
    assert.match(await problem('bad_half_plus_two'), /the model has no signatures/);
    assert.match(await problem('saved_model_half_plus_two_tflite'), /TensorFlow Lite is not read/);
    assert.deepEqual(answered(await predict(server, HALF, '{"instances":[1]}')), {
      predictions: [2.5],
    });
  });

  it("an asset outside of the model's folder is refused", async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const base = join(folder, 'hostile', '1');
    cpSync(join(path, '00000123'), base, { recursive: true });
    const file = join(base, 'saved_model.pb');
    const bytes = readFileSync(file);
    // Of the same length, so that no length in the file changes.
    for (let at = bytes.indexOf('foo.txt'); at >= 0; at = bytes.indexOf('foo.txt')) {
      bytes.write('../../x', at);
    }
    writeFileSync(file, bytes);
    const server = await started(t, '--model_name=m', `--model_base_path=${join(base, '..')}`);
    const version = (await v1Versions(server, 'm')).get('1');
    assert.equal(version?.state, 'END');
    assert.match(version.status.error_message, /\.\.\/\.\.\/x/);
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

  it('--model-cache: the second start reads what the first one made', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const cache = join(folder, 'cache');
    const args = ['--model_name=m', `--model_base_path=${path}`, '--model-cache', cache];
    const fromCache = async (): Promise<unknown> => {
      const server = await startServer(args);
      try {
        assert.deepEqual(answered(await predict(server, 'm', '{"instances":[1]}')), {
          predictions: [2.5],
        });
        const line = server.stderr.split('\n').find((one) => one.includes('model imported'));
        return (JSON.parse(line ?? '{}') as { fromCache?: unknown }).fromCache;
      } finally {
        await server.stop();
      }
    };
    assert.equal(await fromCache(), false);
    assert.equal(readdirSync(cache).length, 1);
    assert.equal(await fromCache(), true);
    for (const entry of readdirSync(cache)) writeFileSync(join(cache, entry, 'import.bin'), 'x');
    assert.equal(await fromCache(), false, 'a damaged entry is not used');
    assert.equal(await fromCache(), true);
  });

  it('serval inspect', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const text = await runServal(['inspect', path]);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /format +SavedModel\n[^]*signature serving_default[^]* Mul {2}5\n/);
    const json = await runServal(['inspect', path, '--json']);
    const { signatures } = JSON.parse(json.stdout) as { signatures: { name: string }[] };
    assert.ok(signatures.some((one) => one.name === 'classify_x_to_y'));
    const lite = await runServal(['inspect', join(MODELS, 'saved_model_half_plus_two_tflite')]);
    assert.equal(lite.code, 1);
    assert.match(lite.stderr, /TensorFlow Lite is not read/);
  });

  it('serval import: the ONNX file gives others the same numbers', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const out = join(folder, 'half.onnx');
    const run = await runServal(['import', path, '--out', out, '--signature', 'serving_default']);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /half\.onnx {2}signature serving_default/);
    assert.deepEqual(await outputOf(out, 'x', 'y', [1, 2, 5], [3, 1]), [2.5, 3, 4.5]);
  });

  it('serval import with its constants beside it', async (t) => {
    const goldens = goldenFolder();
    if (goldens === undefined) {
      t.skip(NO_GOLDENS);
      return;
    }
    const name = 'keras_small_cnn';
    const out = join(folder, 'cnn', 'cnn.onnx');
    mkdirSync(join(folder, 'cnn'));
    const run = await runServal([
      'import',
      join(goldens, 'models', name),
      '--out',
      out,
      '--signature',
      'serving_default',
    ]);
    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(readdirSync(join(folder, 'cnn')), ['cnn.onnx', 'cnn.onnx.data']);
    const [one] = JSON.parse(readFileSync(join(goldens, 'models', name, 'cases.json'), 'utf8')) as {
      inputs: Record<string, Golden>;
      outputs: Record<string, Golden>;
    }[];
    const [[input, given] = ['', undefined]] = Object.entries(one?.inputs ?? {});
    const [[output, wanted] = ['', undefined]] = Object.entries(one?.outputs ?? {});
    assert.ok(given !== undefined && wanted !== undefined);
    const got = await outputOf(out, input, output, floatsOf(given), given.shape);
    const want = floatsOf(wanted);
    assert.equal(got.length, want.length);
    got.forEach((value, i) => assert.ok(Math.abs(value - (want[i] ?? NaN)) < 1e-4, `${i}`));
  });
});

interface Golden {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: string | readonly string[];
}

interface GoldenCall {
  readonly signature: string;
  readonly method: string;
  readonly inputs: Readonly<Record<string, Golden>>;
  readonly outputs: Readonly<Record<string, Golden | null>>;
}

function floatsOf({ data }: Golden): number[] {
  const bytes = new Uint8Array(Buffer.from(String(data), 'base64'));
  return [...new Float32Array(bytes.buffer)];
}

/** The tensor as nested lists; strings as objects of base64. */
function jsonTensor(golden: Golden): unknown {
  const { data, dtype, shape } = golden;
  let values: unknown[];
  if (typeof data !== 'string') values = data.map((b64) => ({ b64 }));
  else if (dtype === 'DT_FLOAT') values = floatsOf(golden);
  else {
    const { buffer } = new Uint8Array(Buffer.from(data, 'base64'));
    if (dtype === 'DT_BOOL') values = [...new Uint8Array(buffer)].map((one) => one !== 0);
    else if (dtype === 'DT_INT64') values = [...new BigInt64Array(buffer)].map(Number);
    else values = [...new Int32Array(buffer)];
  }
  for (const dim of [...shape].slice(1).reverse()) {
    values = Array.from({ length: values.length / dim }, (_, i) =>
      values.slice(i * dim, (i + 1) * dim),
    );
  }
  return shape.length === 0 ? values[0] : values;
}

/** What ONNX Runtime's own package makes of the file. */
async function outputOf(
  path: string,
  input: string,
  output: string,
  values: readonly number[],
  shape: readonly number[],
): Promise<number[]> {
  const session = await runtime.InferenceSession.create(path, { logSeverityLevel: 4 });
  const feed = new runtime.Tensor('float32', Float32Array.from(values), shape);
  const results = await session.run({ [input]: feed });
  await session.release();
  return [...(results[output]?.data as Float32Array)];
}
