// Configurations that set options of ONNX Runtime, from every source: none writes or reads a file
// of the server's user, and each refusal names its option.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const INVALID_ARGUMENT = 3;
const types = messageTypes();
const same = (bytes: Buffer): Buffer => bytes;

function call(server: ServalProcess, path: string, body: Buffer) {
  const client = new Client(`127.0.0.1:${server.grpcPort}`, credentials.createInsecure());
  const deadline = Date.now() + DEADLINE_MS;
  return new Promise<{ code: number; details: string }>((resolve) => {
    client.makeUnaryRequest(path, same, same, body, new Metadata(), { deadline }, (error) =>
      resolve({ code: error?.code ?? 0, details: error?.details ?? '' }),
    );
  }).finally(() => client.close());
}

describe('options of ONNX Runtime in a configuration', () => {
  const folders = new ModelFolders();
  const { folder } = folders;
  const [victim, secret] = [join(folder, 'victim'), join(folder, 'secret')];
  const models = folders.repository('options', [MODEL]);
  let server: ServalProcess;

  /** Options that wrote or read files, and the beginning of each message. */
  const attacks: readonly (readonly [string, string])[] = [
    ['session.optimized_model_filepath', victim],
    ['session.optimized_model_filepath\0', victim],
    ['session.optimized_model_external_initializers_file_name', victim],
    ['session.collect_node_memory_stats_to_file', victim],
    ['session.enable_profiling', victim],
    ['session.resource_cuda_partitioning_settings', `1,${secret}`],
    ['session.node_partition_config_file', secret],
    ['session.disable_prepacking', '1\0'],
  ];
  const jsonOfOption = (name: string, value: string, isolation = 'none'): string =>
    JSON.stringify({
      parameters: {
        [name]: { string_value: value },
        isolation: { string_value: isolation },
      },
    });
  /** The option in text format. */
  const textOfOption = (name: string, value: string): string => {
    const quoted = (text: string): string => text.replaceAll('\0', '\\000');
    return `parameters { key: "${quoted(name)}" value { string_value: "${quoted(value)}" } }`;
  };
  const unharmed = (text: string): void => {
    assert.equal(readFileSync(victim, 'utf8'), 'mine');
    assert.doesNotMatch(text, /TOP-SECRET/);
  };

  before(async () => {
    writeFileSync(victim, 'mine');
    writeFileSync(secret, 'TOP-SECRET\n');
    server = await startServer([
      ...['--model-repository', models, '--model-control-mode', 'explicit'],
      ...['--load-model', MODEL],
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  for (const [name, value] of attacks) {
    const shown = name.replace('\0', '\\u0000');
    it(`refuses ${shown} in loads over REST and gRPC, isolated or not`, async () => {
      for (const isolation of ['none', 'process']) {
        const config = jsonOfOption(name, value, isolation);
        const body = JSON.stringify({ parameters: { config } });
        const path = `/v2/repository/models/${MODEL}/load`;
        const answer = await exchange(server.httpPort, 'POST', path, body);
        const { error } = jsonOf(answer) as { error: string };
        assert.equal(answer.status, 400, error);
        assert.ok(error.includes(shown), error);
        assert.match(error, /expected .*, got/);
        const message = encode(types, 'inference.RepositoryModelLoadRequest', {
          model_name: MODEL,
          parameters: [{ key: 'config', value: { string_param: config } }],
        });
        const loadPath = '/inference.GRPCInferenceService/RepositoryModelLoad';
        const { code, details } = await call(server, loadPath, message);
        assert.equal(code, INVALID_ARGUMENT, details);
        assert.ok(details.includes(shown), details);
        unharmed(error + details);
      }
    });
  }

  it('refuses them in config.pbtxt of a repository and of a reloaded folder', async () => {
    const hostile = join(folder, 'hostile');
    attacks.forEach(([name, value], i) => {
      const model = join(hostile, `m${i}`);
      mkdirSync(model, { recursive: true });
      cpSync(join(models, MODEL, '123'), join(model, '1'), { recursive: true });
      put(join(model, 'config.pbtxt'), textOfOption(name, value));
    });
    cpSync(join(models, MODEL), join(hostile, 'good'), { recursive: true });
    const found = await startServer([hostile, '--strict-readiness', 'false']);
    try {
      const index = await exchange(found.httpPort, 'POST', '/v2/repository/index', '{}');
      const all = jsonOf(index) as readonly { name: string; state: string; reason: string }[];
      const entries = all.filter(({ name }) => name !== 'good');
      assert.equal(entries.length, attacks.length);
      for (const { name, state, reason } of entries) {
        const option = attacks[Number(name.slice(1))]?.[0].replace('\0', '\\u0000') ?? '?';
        assert.equal(state, 'UNAVAILABLE');
        assert.ok(reason.includes(option), reason);
        unharmed(reason);
      }
      const reload = encode(types, 'tensorflow.serving.ReloadConfigRequest', {
        config: {
          model_config_list: {
            config: attacks.map((_, i) => ({
              name: `m${i}`,
              base_path: join(hostile, `m${i}`),
              model_platform: 'onnx',
            })),
          },
        },
      });
      const path = '/tensorflow.serving.ModelService/HandleReloadConfigRequest';
      await call(found, path, reload);
      await until('the states are known', async () => {
        const states = await exchange(found.httpPort, 'GET', '/v1/models/m0');
        return !states.body.toString().includes('LOADING');
      });
      for (const [i] of attacks.entries()) {
        const state = await exchange(found.httpPort, 'GET', `/v1/models/m${i}`);
        assert.doesNotMatch(state.body.toString(), /"AVAILABLE"/);
        unharmed(state.body.toString());
      }
    } finally {
      await found.stop();
    }
    assert.ok(!existsSync(`${victim}.data`));
  });

  it('still loads a model whose options are in the table', async () => {
    const config = jsonOfOption('session.set_denormal_as_zero', '1');
    const body = JSON.stringify({ parameters: { config } });
    const path = `/v2/repository/models/${MODEL}/load`;
    assert.equal((await exchange(server.httpPort, 'POST', path, body)).status, 200);
  });
});
