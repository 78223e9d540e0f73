// Loads of TensorFlow models: by a configuration of TensorFlow Serving, with new, broken and
// hostile versions, and from a cache. Test time only.
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { predict, put, v1Versions } from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { startServer } from '../support/serval-process.js';
import { answered, HALF, model, post, started, suiteFolder } from './support.js';

describe('TensorFlow models that come and go', () => {
  const folder = suiteFolder();

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

  it('a model that cannot be served reports why and does not affect the others', async (t) => {
    const half = model(t, HALF);
    const bad = model(t, 'bad_half_plus_two');
    const lite = model(t, 'parse_example_tflite');
    if (half === undefined || bad === undefined || lite === undefined) return;
    const server = await started(t, half, bad, lite);
    const problem = async (name: string): Promise<string> => {
      const [version] = [...(await v1Versions(server, name)).values()];
      assert.equal(version?.state, 'END');
      return version.status.error_message;
    };
    assert.match(await problem('bad_half_plus_two'), /the model has no signatures/);
    assert.match(
      await problem('parse_example_tflite'),
      /CUSTOM ParseExampleV2 'operator_0': the operator is not supported/,
    );
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
    // The same length, so that no length in the file changes.
    for (let at = bytes.indexOf('foo.txt'); at >= 0; at = bytes.indexOf('foo.txt')) {
      bytes.write('../../x', at);
    }
    writeFileSync(file, bytes);
    const server = await started(t, '--model_name=m', `--model_base_path=${join(base, '..')}`);
    const version = (await v1Versions(server, 'm')).get('1');
    assert.equal(version?.state, 'END');
    assert.match(version.status.error_message, /\.\.\/\.\.\/x/);
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
});
