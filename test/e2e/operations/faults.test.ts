// Faults while the server runs, and invalid configuration at start-up: serving continues, and the
// error names its place. Source: tfserving.md 9; docs/guides/model-control.md.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import {
  index,
  infer,
  logLines,
  plusModel,
  predict,
  put,
  putDelayModel,
  v1Versions,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const ZERO = '{"instances":[0.0]}';
const ANY_PORTS = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];

/** The problems of model sources in the log so far, without those that are resolved. */
function problems(server: ServalProcess): readonly string[] {
  const now = new Set<string>();
  for (const { message, problem } of logLines(server)) {
    if (message === 'model source') now.add(String(problem));
    if (message === 'model source: problem resolved') now.delete(String(problem));
  }
  return [...now];
}

describe('a repository that is watched', () => {
  const folders = new ModelFolders();
  const repository = join(folders.folder, 'watched');
  const away = join(folders.folder, 'away');
  let server: ServalProcess;
  let load: SteadyLoad;
  before(async () => {
    put(join(repository, 'steady', '1', 'model.onnx'), plusModel(1));
    put(join(repository, 'other', '1', 'model.onnx'), plusModel(2));
    server = await startServer([
      '--model-repository',
      repository,
      '--model-control-mode',
      'poll',
      '--repository-poll-secs',
      '1',
      '--settle-ms',
      '100',
    ]);
    load = new SteadyLoad(server.httpPort, '/v1/models/steady:predict', ZERO);
  });
  after(async () => {
    await load.stop();
    await server.stop();
    folders.remove();
  });

  const servesBoth = async (): Promise<void> => {
    await load.more(3);
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, ['{"predictions":[1]}']);
    assert.deepEqual(jsonOf(await predict(server, 'other', ZERO)), { predictions: [2] });
  };
  const shows = (text: string) =>
    until(
      `the log shows ${text}`,
      () => problems(server).some((one) => one.includes(text)),
      () => server.stderr,
    );
  const isMended = () =>
    until(
      'the problem is gone',
      () => problems(server).length === 0,
      () => server.stderr,
    );

  it('that is renamed away, then unreadable, goes on serving and says so', async () => {
    renameSync(repository, away);
    await shows(`cannot read ${repository}: ENOENT`);
    await servesBoth();
    symlinkSync(repository, repository);
    // Another scan, a second later: a model that is missing for longer than the settling time would
    // be unloaded.
    await shows(`cannot read ${repository}: ELOOP`);
    await servesBoth();
    const ready = await exchange(server.httpPort, 'GET', '/v2/health/ready');
    assert.equal(ready.status, 200);
  });

  it('is watched again after it returns', async () => {
    rmSync(repository);
    put(join(away, 'third', '1', 'model.onnx'), plusModel(3));
    renameSync(away, repository);
    await until(
      'the third model serves',
      async () => (await predict(server, 'third', ZERO)).status === 200,
    );
    await isMended();
    await servesBoth();
  });

  it('with a folder of a model that cannot be read goes on serving that model', async () => {
    const folder = join(repository, 'other');
    const version = join(folder, '1');
    renameSync(folder, away);
    symlinkSync(folder, folder);
    await shows(`cannot read ${folder}: ELOOP`);
    await servesBoth();
    rmSync(folder);
    renameSync(join(away, '1'), join(folders.folder, 'version'));
    symlinkSync(version, join(away, '1'));
    renameSync(away, folder);
    await shows(`cannot read ${version}: ELOOP`);
    await servesBoth();
    rmSync(version);
    renameSync(join(folders.folder, 'version'), version);
    await isMended();
    await servesBoth();
  });
});

describe('models.config with mistakes', () => {
  const folders = new ModelFolders();
  const good = join(folders.folder, 'good');
  const file = join(folders.folder, 'models.config');
  const text = `model_config_list {
  config { name: "good" base_path: "${good}" }
  config { name: "misspelt" base_path: "${good}" base_pth: "x" }
  config { name: "typed" base_path: 7 }
  config { name: "relative" base_path: "models/here" }
  config {
    name: "policy" base_path: "${good}"
    model_version_policy { latest { num_versions: "two" } }
  }
  config { name: "good" base_path: "${good}" }
}
`;
  const mistakes = [
    /models\.config:3:\d+: .*base_pth/,
    /models\.config:4:\d+: .*base_path/,
    /models\.config:5:\d+: base_path: .*absolute.*models\/here/,
    /models\.config:8:\d+: .*num_versions/,
    /models\.config:10:\d+: .*Illegal to list model good multiple times/,
  ];
  before(() => {
    put(join(good, '1', 'model.onnx'), plusModel(1));
    writeFileSync(file, text);
  });
  after(() => folders.remove());

  it('serves the good entries and names the others with file, line and column', async (context) => {
    const server = await startServer(['--model-config-file', file]);
    context.after(() => server.stop());
    assert.deepEqual(jsonOf(await predict(server, 'good', ZERO)), { predictions: [1] });
    for (const model of ['misspelt', 'typed', 'relative', 'policy']) {
      assert.equal((await predict(server, model, ZERO)).status, 404, model);
    }
    const shown = problems(server);
    for (const mistake of mistakes) {
      assert.ok(
        shown.some((one) => mistake.test(one)),
        `${mistake}: ${shown.join('\n')}`,
      );
    }
    assert.equal(shown.length, mistakes.length, shown.join('\n'));
  });

  it('does not start with --exit-on-error, for the same reasons', async () => {
    const run = await runServal([
      'serve',
      ...ANY_PORTS,
      '--model-config-file',
      file,
      '--exit-on-error',
      '--log-level',
      'off',
    ]);
    assert.ok(run.code !== 0 && run.code !== null, `${run.code}: ${run.stderr}`);
    assert.equal(run.stdout, '');
    for (const mistake of mistakes) assert.match(run.stderr, mistake);
  });

  it('starts with --exit-on-error when there is nothing wrong', async (context) => {
    const fine = join(folders.folder, 'fine.config');
    writeFileSync(fine, `model_config_list { config { name: "good" base_path: "${good}" } }`);
    const server = await startServer(['--model-config-file', fine, '--exit-on-error']);
    context.after(() => server.stop());
    assert.deepEqual(jsonOf(await predict(server, 'good', ZERO)), { predictions: [1] });
  });
});

const HEAD = 'max_batch_size: 8\n';
const TENSORS = `input { name: "input" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ -1 ] }
`;
/** Name -> [config.pbtxt, its reason]. */
const CONTRADICTIONS: Readonly<Record<string, readonly [string, RegExp]>> = {
  preferred: [
    `${HEAD}${TENSORS}dynamic_batching { preferred_batch_size: [ 4, 16 ] }\n`,
    /config\.pbtxt:4:\d+: preferred_batch_size: expected 1 to max_batch_size, 8, got 16/,
  ],
  level: [
    `${HEAD}${TENSORS}dynamic_batching {\n  priority_levels: 2\n` +
      '  default_priority_level: 3\n}\n',
    /config\.pbtxt:6:\d+: default_priority_level: expected 1 to priority_levels, 2, got 3/,
  ],
  ordering: [
    `${HEAD}${TENSORS}dynamic_batching { priority_levels: 2 default_priority_level: 1\n` +
      '  preserve_ordering: true }\n',
    /config\.pbtxt:5:\d+: preserve_ordering: /,
  ],
  named: [`name: "another"\n${HEAD}${TENSORS}`, /config\.pbtxt:1:\d+: name: .*"named".*"another"/],
  unknown: [`${HEAD}max_bach_size: 4\n`, /config\.pbtxt:2:\d+: .*max_bach_size/],
  typed: ['max_batch_size: "many"\n', /config\.pbtxt:1:\d+: .*max_batch_size/],
  unclosed: [`${HEAD}input {\n  name: "input"\n`, /config\.pbtxt:\d+:\d+: /],
  tensor: [`${HEAD}${TENSORS.replace('"input"', '"other"')}`, /other/],
  datatype: [`${HEAD}${TENSORS.replace('TYPE_FP32', 'TYPE_INT64')}`, /INT64/],
};

describe('config.pbtxt with contradictions', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('contradictions', ['half_plus_three']);
    for (const [name, [config]] of Object.entries(CONTRADICTIONS)) {
      cpSync(join(folders.models, 'identity_fp32'), join(repository, name), { recursive: true });
      writeFileSync(join(repository, name, 'config.pbtxt'), config);
    }
    mkdirSync(join(repository, 'empty'));
    putDelayModel(repository, 'delaying', 0);
    server = await startServer(['--model-repository', repository]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('leaves the other models serving', async () => {
    const rows = '{"instances":[1.0]}';
    const answer = await predict(server, 'half_plus_three', rows);
    assert.deepEqual(jsonOf(answer), { predictions: [3.5] });
    assert.deepEqual(v2Values(await infer(server, 'delaying', v2Body('x', [7]))), [7]);
  });

  for (const [name, [, reason]] of Object.entries(CONTRADICTIONS)) {
    it(`makes the model UNAVAILABLE and says why: ${name}`, async () => {
      const entries = (await index(server)).filter((one) => one.name === name);
      assert.deepEqual(
        entries.map((one) => one.state),
        ['UNAVAILABLE'],
      );
      assert.match(entries[0]?.reason ?? '', reason);
      const status = (await v1Versions(server, name)).get('1');
      assert.equal(status?.state, 'END');
      assert.match(status?.status.error_message ?? '', reason);
      const body = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,1],"data":[7]}]}';
      assert.equal((await infer(server, name, body)).status, 503);
      assert.ok(
        logLines(server).some((line) => reason.test(String(line['problem'] ?? line['reason']))),
        server.stderr,
      );
    });
  }

  it('ignores a folder without a model', async () => {
    const entries = await index(server);
    assert.ok(entries.length > 0);
    assert.ok(!entries.some((one) => one.name === 'empty'));
  });
});
