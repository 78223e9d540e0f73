// `serval check`: what it reports of good and broken models, its exit codes, and that it agrees
// with a server that is started with the same arguments.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { runServal } from '../support/serval-process.js';

interface Report {
  readonly ok: boolean;
  readonly models: readonly { name: string; version: string; ok: boolean; reason: string }[];
  readonly problems: readonly string[];
}

describe('serval check', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());
  const report = async (...args: readonly string[]): Promise<[number | null, Report]> => {
    const run = await runServal(['check', ...args, '--json']);
    assert.equal(run.stderr, '', run.stderr);
    return [run.code, JSON.parse(run.stdout) as Report];
  };

  it('reports that good models can be served, with exit code 0', async () => {
    const repository = folders.repository('check-good', ['half_plus_three', 'add_sub']);
    const run = await runServal(['check', repository]);
    assert.equal(run.code, 0, run.stderr);
    assert.match(run.stdout, /^ok {6}half_plus_three {2}1? ?.*onnx {4}x FP32 \[batch\] -> y FP32/m);
    assert.match(run.stdout, /\n2 of 2 can be served\n$/);
    const [code, { ok, models, problems }] = await report(repository);
    assert.deepEqual([code, ok, models.length, problems], [0, true, 2, []]);
  });

  it('reports every failure with its reason, with exit code 1', async () => {
    const repository = folders.repository(
      'check-bad',
      ['half_plus_three'],
      ['corrupt', 'no_model_file'],
    );
    mkdirSync(join(repository, 'set', '1'), { recursive: true });
    writeFileSync(join(repository, 'set', '1', 'model.onnx'), 'x');
    writeFileSync(join(repository, 'set', 'config.pbtxt'), 'name: "set" nothing: 1');
    const [code, { ok, models }] = await report('--model-repository', repository);
    assert.deepEqual([code, ok], [1, false]);
    const reasons = new Map(models.map((one) => [one.name, one.ok ? 'ok' : one.reason]));
    assert.equal(reasons.get('half_plus_three'), 'ok');
    assert.match(reasons.get('corrupt') ?? '', /corrupt.*model\.onnx/);
    assert.match(reasons.get('no_model_file') ?? '', /has no model: expected model\.onnx/);
    assert.match(reasons.get('set') ?? '', /config\.pbtxt:1:\d+: unknown field/);
    const run = await runServal(['check', repository]);
    assert.equal(run.code, 1);
    assert.match(run.stdout, /^model 'set', version 1: .*config\.pbtxt:1:/m);
    assert.match(run.stdout, /\n1 of 4 can be served\n$/);
  });

  it('reports faults of places, and takes the arguments of other servers', async () => {
    const empty = folders.repository('check-empty', []);
    const [code, { ok, problems }] = await report('--model-repository', empty);
    assert.deepEqual([code, ok], [1, false]);
    assert.match(problems.join(), /no models found: .*check-empty contains no model folders/);
    const base = folders.repository('check-base', ['half_plus_three']);
    const flags = [`--model_base_path=${base}/half_plus_three`, '--model_name=half'];
    const [served, { models }] = await report(...flags);
    assert.deepEqual([served, models.map(({ name }) => name)], [0, ['half']]);
    assert.equal((await runServal(['check'])).code, 2);
    assert.equal((await runServal(['check', '/nowhere'])).code, 1);
  });
});
