// `serval bench` over TensorFlow Serving's APIs: V1's REST and PredictionService, for a model, a
// URL, and a server without other APIs; labels, signatures, columns, and refusals.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BenchReport } from '../../../ts/cli/bench/types.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { servingOnly } from '../predict/serving-only.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';
import { model as sharedModel } from '../tensorflow/support.js';

const MODELS = join(packageRoot(), 'examples', 'models');
const QUICK = ['--seconds=0.4', '--warmup-seconds=0.1', '--concurrency=2'];
/** Seconds that a busy machine may need for a single response. */
const LONGER = ['2', '6'];
const CLOSED = '--rate=none';

const folder = mkdtempSync(join(tmpdir(), 'serval-bench-v1-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The report of a bench in `file`, repeated with more time if some path had no response yet. */
async function reported(args: readonly string[], file: string): Promise<BenchReport> {
  for (const more of [[], ...LONGER.map((seconds) => [`--seconds=${seconds}`])]) {
    const { stderr } = await runServal(['bench', ...QUICK, ...args, '--json', file, ...more]);
    assert.equal(stderr, '');
    const report = JSON.parse(readFileSync(file, 'utf8')) as BenchReport;
    for (const { path, failed, firstError } of report.points) {
      assert.deepEqual([failed, firstError], [0, undefined], path);
    }
    if (report.points.every(({ answered }) => answered > 0)) return report;
  }
  throw new assert.AssertionError({ message: `no response in time: ${args.join(' ')}` });
}

/** `paths`: all paths that were measured. */
async function measured(paths: readonly string[], ...args: string[]): Promise<BenchReport> {
  const report = await reported(args, join(folder, 'report.json'));
  assert.deepEqual([...new Set(report.points.map(({ path }) => path))], paths);
  return report;
}

describe("serval bench by TensorFlow Serving's APIs", () => {
  let server: ServalProcess;
  before(async () => {
    const labels = join(folder, 'labels.config');
    const home = join(MODELS, 'half_plus_three');
    writeFileSync(
      labels,
      `model_config_list { config { name: "labelled" base_path: "${home}" model_platform: "onnx"
       version_labels { key: "stable" value: 123 } } }`,
    );
    server = await startServer([MODELS, '--model_config_file', labels]);
  });
  after(() => server.stop());
  const v1 = (rest: string): string => `http://127.0.0.1:${server.httpPort}/v1/models/${rest}`;
  const grpc = (rest = ''): string => `grpc://127.0.0.1:${server.grpcPort}${rest}`;

  it('measures a model over several paths, in table, report and page', async () => {
    const html = join(folder, 'page.html');
    const paths = ['v1-json', 'grpc-predict'];
    const args = [join(MODELS, 'add_sub'), '--paths', paths.join(','), '--batch=4', '--rate=20'];
    const { points } = await measured(paths, ...args, '--html', html);
    assert.deepEqual(
      points.map(({ path, loop, batch }) => [path, loop, batch]),
      paths.flatMap((path) => [
        [path, 'closed', 4],
        [path, 'open', 4],
      ]),
    );
    assert.ok(points.every(({ serverCores }) => serverCores !== undefined));
    const { stdout } = await runServal(['bench', ...args, ...QUICK, CLOSED]);
    const heads = /^path +load/m.exec(stdout)?.[0].length;
    for (const path of paths) assert.match(stdout, new RegExp(`^${path} +2 in flight +4 `, 'm'));
    assert.ok(stdout.split('\n').some((line) => line.indexOf('2 in flight') + 4 === heads));
    assert.match(readFileSync(html, 'utf8'), /V1 REST, JSON[^]*gRPC, Predict/);
  });

  it('measures a URL of V1: a version, a label, text, a rate', async () => {
    const versioned = await measured(['v1-json'], v1('half_plus_three/versions/123'), '--rate=20');
    assert.deepEqual([versioned.model.version, versioned.points.length], ['123', 2]);
    const labelled = await measured(['v1-json'], v1('labelled/labels/stable:predict'), CLOSED);
    assert.deepEqual([labelled.model.name, labelled.model.version], ['labelled', '123']);
    await measured(['v1-json'], v1('text_identity'), CLOSED, '--batch=3');
    const whole = await measured(['v1-json'], v1('half_plus_three'), '--shape=x=500', CLOSED);
    assert.equal(whole.points[0]?.batch, 0);
  });

  it('measures tabular models: rows by field, missing cells in JSON', async () => {
    await measured(['v1-json'], v1('iris_tree'), CLOSED, '--batch=2');
    const rows = join(folder, 'rows.json');
    writeFileSync(rows, '[{"amount":9,"income":10,"purpose":"car"},{"amount":9,"purpose":null}]');
    await measured(['v1-json'], v1('loan_risk'), CLOSED, '--batch=2', '--input', `@${rows}`);
    const both = ['--paths=v1-json,grpc-predict', '--batch=2'];
    await measured(['v1-json', 'grpc-predict'], join(MODELS, 'iris_tree'), CLOSED, ...both);
  });

  it('calls PredictionService if a server has no V2, or on request', async () => {
    const serving = await servingOnly(server.grpcPort);
    try {
      const url = `grpc://127.0.0.1:${serving.port}`;
      const { model } = await measured(
        ['grpc-predict'],
        ...[url, '--model=add_sub', '--batch=2', CLOSED],
      );
      assert.deepEqual([model.name, model.version], ['add_sub', '1']);
      const { stderr } = await runServal(['bench', `${url}/v2/models/add_sub`, ...QUICK]);
      assert.match(stderr, /gRPC status 12: /);
    } finally {
      serving.stop();
    }
    await measured(['grpc-predict'], grpc('/v1/models/text_identity'), CLOSED);
    const both = ['--paths=grpc,grpc-predict', '--model=add_sub', CLOSED];
    await measured(['grpc', 'grpc-predict'], grpc(), ...both);
    const json = ['--paths=rest-json,v1-json', '--model=add_sub', CLOSED];
    const base = `http://127.0.0.1:${server.httpPort}`;
    await measured(['rest-json', 'v1-json'], base, ...json);
  });

  it('measures a requested signature', async (t) => {
    const counter = sharedModel(t, 'saved_model_counter');
    if (counter === undefined) return;
    const paths = ['v1-json', 'grpc-predict'];
    const given = [counter, '--paths', paths.join(','), CLOSED];
    await measured(paths, ...given, '--signature=incr_counter_by');
    await measured(paths, ...given, '--signature=incr_counter');
  });

  it('reports refusals', async () => {
    const refused = async (text: RegExp, ...args: string[]): Promise<void> => {
      const { code, stderr } = await runServal(['bench', ...args, ...QUICK]);
      assert.match(stderr, text);
      assert.equal(code, 1, stderr);
    };
    await refused(/status 404: .*nope/, v1('nope'));
    await refused(/gRPC status 5: .*nope/, grpc('/v1/models/nope'));
    await refused(
      /no signature "other"; the model has "serving_default"/,
      v1('add_sub'),
      '--signature=other',
    );
    await refused(/no signature 'other'/, grpc('/v1/models/add_sub'), '--signature=other');
    await refused(/--paths: expected v1-json of http.*, got grpc/, v1('add_sub'), '--paths=grpc');
    await refused(
      /--signature: expected only --paths v1-json,grpc-predict, .*got engine/,
      ...[join(MODELS, 'add_sub'), '--signature=s'],
    );
    await refused(
      /v1-json: skipped: .*status 400: /,
      v1('half_plus_three'),
      '--input',
      'x=[[1,2]]',
    );
    await refused(
      /grpc-predict: skipped: .*gRPC status 3: /,
      ...[grpc('/v1/models/half_plus_three'), '--input', 'x=[[1,2]]'],
    );
  });
});
