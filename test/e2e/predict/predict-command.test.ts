// `serval predict`: the same result without a server, and at a URL of V2 and of V1; exit codes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const MODELS = join(packageRoot(), 'examples', 'models');

interface Printed {
  readonly model: string;
  readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

const predict = async (...args: string[]): Promise<Printed> => {
  const { code, stdout, stderr } = await runServal(['predict', ...args, '--json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Printed;
};
const dataOf = ({ outputs }: Printed): unknown => outputs.map(({ data }) => data);

describe('serval predict', () => {
  let server: ServalProcess;
  before(async () => {
    server = await startServer([MODELS]);
  });
  after(() => server.stop());
  const url = (path: string): string => `http://127.0.0.1:${server.httpPort}${path}`;

  it('answers alike without a server and at a URL', async () => {
    const inputs = ['--input', 'x=[1, 2, 5]'];
    const local = await predict(join(MODELS, 'half_plus_three'), ...inputs);
    assert.deepEqual(dataOf(local), [[3.5, 4, 5.5]]);
    for (const path of ['/v2/models/half_plus_three', '/v1/models/half_plus_three:predict']) {
      assert.deepEqual(dataOf(await predict(url(path), ...inputs)), [[3.5, 4, 5.5]], path);
    }
  });

  it('predicts the same with a tabular model for given and random values', async () => {
    for (const [model, ...args] of [
      ['add_sub', '--random', '--batch', '3'],
      ['iris_tree', '--random', '--batch', '2'],
      ['loan_risk', '--input', 'amount=900', '--input', 'income=1000', '--input', 'purpose=car'],
    ] as const) {
      const local = await predict(MODELS, '--model', model, ...args);
      const remote = await predict(url('/'), '--model', model, ...args);
      assert.deepEqual(dataOf(remote), dataOf(local), model);
      assert.ok(
        local.outputs.every(({ data }) => data.length > 0),
        model,
      );
    }
  });

  for (const [args, exit, text] of [
    [[], 2, /expected one PATH or URL, got 0/],
    [['half_plus_three'], 2, /expected --input NAME=VALUE for x FP32 \[\?\]; or --random/],
    [['half_plus_three', '--input', 'x=foo'], 2, /expected JSON/],
    [['half_plus_three', '--input', 'x=["a"]'], 1, /a number that FP32 holds, got "a"/],
    [['half_plus_three', '--batch', '0', '--random'], 2, /expected a whole number from 1/],
    [['half_plus_three', '--signature', 's', '--random'], 1, /only TensorFlow models/],
    [['nowhere', '--random'], 1, /no such file or folder/],
  ] as const) {
    it(`exits ${exit}: ${args.join(' ')}`, async () => {
      const [model, ...rest] = args;
      const path = model === undefined ? [] : [join(MODELS, model)];
      const { code, stderr } = await runServal(['predict', ...path, ...rest]);
      assert.match(stderr, text);
      assert.equal(code, exit);
    });
  }

  it('says what a server refuses, and that there is none', async () => {
    const refused = await runServal(['predict', url('/v2/models/nope'), '--random']);
    assert.deepEqual([refused.code, /status 404.*'nope'/.test(refused.stderr)], [1, true]);
    const shape = await runServal([
      'predict',
      url('/v2/models/half_plus_three'),
      '--input',
      'x=[[1]]',
    ]);
    assert.match(shape.stderr, /status 400: unexpected shape for input 'x'/);
    const closed = await startServer([MODELS]);
    const gone = `http://127.0.0.1:${closed.httpPort}/v2/models/half_plus_three`;
    await closed.stop();
    assert.match((await runServal(['predict', gone, '--random'])).stderr, /no response/);
  });
});
