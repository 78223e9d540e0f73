// `serval predict` with grpc:// and grpcs://: V2, TensorFlow's PredictionService, and only the
// latter if a server has no V2; a key, TLS, refusals.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { Certificates } from '../support/certificates.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';
import { servingOnly } from './serving-only.js';

const MODELS = join(packageRoot(), 'examples', 'models');

interface Printed {
  readonly version: string;
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly number[];
    readonly data: readonly unknown[];
  }[];
}

const predict = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Printed> => {
  const { code, stdout, stderr } = await runServal(['predict', ...args, '--json'], env);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Printed;
};
const refused = async (...args: readonly string[]): Promise<string> => {
  const { code, stderr } = await runServal(['predict', ...args]);
  assert.notEqual(code, 0);
  return stderr;
};
const dataOf = ({ outputs }: Printed): unknown => outputs.map(({ name, data }) => [name, data]);

describe('serval predict over gRPC', () => {
  let server: ServalProcess;
  before(async () => {
    server = await startServer([MODELS]);
  });
  after(() => server.stop());
  const url = (path = ''): string => `grpc://127.0.0.1:${server.grpcPort}${path}`;

  it('answers as without a server: tensors, by both services', async () => {
    for (const path of ['', '/v2', '/v1']) {
      for (const model of ['half_plus_three', 'add_sub']) {
        const given = ['--model', model, '--random', '--seed', '4'];
        const local = await predict([MODELS, ...given]);
        const remote = await predict([url(path), ...given]);
        assert.deepEqual(dataOf(remote), dataOf(local), `${path} ${model}`);
        assert.equal(remote.version, local.version);
      }
    }
  });

  it('finds the model, the version and the outputs that are asked for', async () => {
    const inputs = ['--input', 'x=[1, 2, 5]'];
    const half = [['y', [3.5, 4, 5.5]]];
    for (const path of [
      '/v2/models/half_plus_three',
      '/v2/models/half_plus_three/versions/123/infer',
      '/v1/models/half_plus_three:predict',
      '/v1/models/half_plus_three/versions/123',
    ]) {
      assert.deepEqual(dataOf(await predict([url(path), ...inputs])), half, path);
    }
    for (const path of ['/v2/models/add_sub', '/v1/models/add_sub']) {
      const one = await predict([url(path), '--random', '--output', 'OUTPUT1']);
      assert.deepEqual(
        one.outputs.map(({ name, datatype }) => [name, datatype]),
        [['OUTPUT1', 'INT32']],
      );
    }
  });

  it('predicts with tabular models, with rows and missing cells', async () => {
    for (const [model, ...args] of [
      ['iris_tree', '--random', '--batch', '2'],
      ['loan_risk', '--input', 'amount=900', '--input', 'income=1000', '--input', 'purpose=car'],
      [
        'loan_risk',
        ...['--input', 'amount=[900,5]', '--input', 'income=[1,9]'],
        ...['--input', 'purpose=["car",null]'],
      ],
    ] as const) {
      const local = await predict([MODELS, '--model', model, ...args]);
      const remote = await predict([url(), '--model', model, ...args]);
      assert.deepEqual(dataOf(remote), dataOf(local), model);
      assert.ok(local.outputs.length > 0, model);
    }
  });

  it('calls PredictionService where a server has no V2, unless V2 is asked for', async () => {
    const serving = await servingOnly(server.grpcPort);
    try {
      const at = `grpc://127.0.0.1:${serving.port}`;
      const given = ['--model', 'half_plus_three', '--input', 'x=[1, 2, 5]'];
      assert.deepEqual(dataOf(await predict([at, ...given])), [['y', [3.5, 4, 5.5]]]);
      assert.match(await refused(`${at}/v2`, ...given), /UNIMPLEMENTED/);
      const signature = await refused(at, ...given, '--signature', 'nope');
      assert.match(signature, /no signature 'nope' of half_plus_three: serving_default/);
    } finally {
      serving.stop();
    }
  });

  it('says what a server refuses, and that there is none', async () => {
    assert.match(await refused(url('/v2/models/nope'), '--random'), /NOT_FOUND: .*nope/);
    assert.match(await refused(url('/v1/models/nope'), '--random'), /NOT_FOUND: .*nope/);
    const shape = await refused(url('/v2/models/half_plus_three'), '--input', 'x=[[1]]');
    assert.match(shape, /INVALID_ARGUMENT: .*unexpected shape for input 'x'/);
    const header = ['--random', '--header', 'Mute: \u00e9'];
    assert.match(await refused(url('/v2/models/half_plus_three'), ...header), /--header/);
    const gone = await startServer([MODELS]);
    const at = `grpc://127.0.0.1:${gone.grpcPort}/v2/models/half_plus_three`;
    await gone.stop();
    assert.match(await refused(at, '--random'), /UNAVAILABLE: .*ECONNREFUSED/);
  });
});

describe('serval predict over gRPC with TLS and a key', () => {
  const certificates = new Certificates();
  let server: ServalProcess;
  let header = '';
  before(async () => {
    const { certificate, key } = certificates.server;
    const made = await runServal(['key', 'someone', 'inference,metadata']);
    header = `Authorization: Bearer ${made.stderr.trim().split(/\s/).at(-1)}`;
    const keys = join(certificates.folder, 'keys.txt');
    writeFileSync(keys, made.stdout, { mode: 0o600 });
    const tls = [`--tls-cert=${certificate}`, `--tls-key=${key}`];
    server = await startServer([MODELS, ...tls, `--api-key-file=${keys}`]);
  });
  after(async () => {
    await server.stop();
    certificates.remove();
  });

  it('trusts whom NODE_EXTRA_CA_CERTS names, and says so', async () => {
    const at = `grpcs://localhost:${server.grpcPort}/v2/models/half_plus_three`;
    const own = { NODE_EXTRA_CA_CERTS: certificates.authority.certificate };
    // gRPC's own variable may be set where the tests run, and overrides Node's.
    for (const roots of ['', certificates.stranger.certificate]) {
      const trust = { ...own, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: roots };
      const answer = await predict([at, '--input', 'x=[1]', '--header', header], trust);
      assert.deepEqual(dataOf(answer), [['y', [3.5]]]);
    }
    const { stderr } = await runServal(['predict', at, '--random'], {
      ...own,
      GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: '',
    });
    assert.match(stderr, /UNAUTHENTICATED|PERMISSION_DENIED/);
    assert.match(await refused(at, '--random'), /certificate.*NODE_EXTRA_CA_CERTS/);
  });
});
