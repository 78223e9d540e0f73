// `serval bench --tune`: the search over real servers, its table, page and report; and its output,
// config.pbtxt and batching parameters, in a real server.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { batchingParametersText, configText } from '../../../ts/cli/bench/tune/config-text.js';
import { mergedConfig } from '../../../ts/cli/bench/tune/own-config.js';
import type { BenchReport, TunedSettings } from '../../../ts/cli/bench/types.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const MODELS = join(packageRoot(), 'examples', 'models');
const QUICK = ['--seconds=0.1', '--warmup-seconds=0', '--tune-seconds=4', '--concurrency=4'];
const OWN = `# ours
name: "add_sub"  # the name
max_batch_size: 4
instance_group [ { count: 3 kind: KIND_CPU } ]
dynamic_batching { max_queue_delay_microseconds: 7 }
parameters { key: "execution_mode" value { string_value: "0" } }
`;
const FULL: TunedSettings = {
  instances: 2,
  threads: 1,
  maxBatchSize: 16,
  preferredBatchSize: 8,
  maxQueueDelayMicroseconds: 250,
};

const folder = mkdtempSync(join(tmpdir(), 'serval-tune-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A repository with one model. */
function repository(name: string, model: string, config: string | undefined): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  cpSync(join(MODELS, model), join(home, model), { recursive: true });
  if (config !== undefined) writeFileSync(join(home, model, 'config.pbtxt'), config);
  return home;
}

interface ModelConfig {
  readonly max_batch_size: number;
  readonly instance_group: readonly { readonly count: number }[];
  readonly dynamic_batching?: {
    readonly preferred_batch_size: readonly number[];
    readonly max_queue_delay_microseconds: number | string;
  };
  readonly parameters?: Readonly<Record<string, { readonly string_value: string }>>;
}

async function configOf(server: ServalProcess, model: string): Promise<ModelConfig> {
  const answer = await exchange(server.httpPort, 'GET', `/v2/models/${model}/config`);
  assert.equal(answer.status, 200, answer.body.toString());
  return jsonOf(answer) as ModelConfig;
}

async function answers(server: ServalProcess): Promise<void> {
  const path = '/v1/models/half_plus_three:predict';
  const answer = await exchange(server.httpPort, 'POST', path, '{"instances":[1.0,2.0]}');
  assert.deepEqual(jsonOf(answer), { predictions: [3.5, 4] });
}

function assertServed(config: ModelConfig): void {
  assert.equal(config.max_batch_size, 16);
  assert.deepEqual(
    config.instance_group.map(({ count }) => count),
    [2],
  );
  assert.deepEqual(config.dynamic_batching?.preferred_batch_size, [8]);
  assert.equal(Number(config.dynamic_batching?.max_queue_delay_microseconds), 250);
  assert.equal(config.parameters?.['intra_op_thread_count']?.string_value, '1');
}

describe('serval bench --tune', () => {
  it('searches, says what it does, and writes files that a server loads', async () => {
    const out = (name: string): string => join(folder, name);
    const files = ['config-out', 'json', 'html'].map((name) => `--${name}=${out(name)}`);
    const path = join(MODELS, 'half_plus_three');
    const { code, stdout, stderr } = await runServal([
      ...[
        'bench',
        path,
        '--tune',
        '--latency-bound=50s',
        '--paths=rest-binary',
        ...QUICK,
        ...files,
      ],
    ]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^defaults: [\d,.]+ rows\/s, p99 [\d.]+ (us|ms|s) with \d+ in flight$/m);
    assert.match(stdout, /^ {2}settings +rows\/s +to defaults +p50 +p99 +in flight$/m);
    assert.match(stdout, /^\* .*\d$/m);
    const report = JSON.parse(readFileSync(out('json'), 'utf8')) as BenchReport;
    const { tuned, points } = report;
    assert.equal(tuned?.latencyBound, 50_000_000);
    assert.deepEqual(tuned.trials[0]?.settings, {});
    assert.ok(points.length > 0 && points.every((one) => one.path === 'rest-binary'));
    assert.ok(tuned.trials.every((trial) => trial.points.every((one) => one.concurrency <= 4)));
    const config = readFileSync(out('config-out'), 'utf8');
    assert.equal(config, tuned.config);
    assert.ok(stdout.endsWith(`config.pbtxt:\n\n${config}`));
    assert.match(readFileSync(out('html'), 'utf8'), /<h2>Tuning<\/h2>/);
    const server = await startServer([repository('printed', 'half_plus_three', config)]);
    try {
      await answers(server);
      const count = tuned.trials[tuned.best ?? -1]?.settings.instances ?? 1;
      const { instance_group: groups } = await configOf(server, 'half_plus_three');
      assert.deepEqual(
        groups.map((group) => group.count),
        [count],
      );
    } finally {
      await server.stop();
    }
  });

  it('keeps what the model says of itself, and exits 1 where no settings keep the bound', async () => {
    const home = repository('own', 'add_sub', OWN);
    const { code, stdout, stderr } = await runServal([
      ...['bench', home, '--tune', '--latency-bound', '0.001us', ...QUICK],
    ]);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /above the bound of 0.001 us$/m);
    assert.match(stdout, /^No settings met the p99 latency bound/m);
    assert.doesNotMatch(stdout, /config\.pbtxt:/);
  });

  for (const [args, exit, text] of [
    [
      ['--latency-bound=10'],
      2,
      /--latency-bound: expected a time such as 10ms, 500us or 1s, got "10"/,
    ],
    [['--paths=grpc,rest-json'], 2, /--paths: expected one with --tune, got 2/],
    [['--paths=engine'], 2, /--paths: expected rest-json, rest-binary, grpc, v1-json, .* --tune/],
    [['--signature=s'], 2, /--signature: --tune measures only the model's default signature/],
    [['--batch=1,2'], 2, /--batch: expected one with --tune, got 2/],
    [['--rate=5'], 2, /--rate: --tune measures closed loops/],
    [['--tune-seconds=0'], 2, /expected a whole number from 1 to 86400/],
  ] as const) {
    it(`exits ${exit}: ${args.join(' ')}`, async () => {
      const given = ['bench', join(MODELS, 'add_sub'), '--tune', ...args];
      const { code, stderr } = await runServal(given);
      assert.match(stderr, text);
      assert.equal(code, exit, stderr);
    });
  }

  it('refuses the address of a server', async () => {
    const { code, stderr } = await runServal(['bench', '--tune', 'http://127.0.0.1:1/v2/models/m']);
    assert.match(stderr, /--tune starts its own servers: expected a model's path, got "http:/);
    assert.equal(code, 2);
  });
});

describe('tuned settings in a real server', () => {
  it('are served as config.pbtxt, new and in one that was there', async () => {
    const name = 'half_plus_three';
    const server = await startServer([
      repository('full', name, configText(FULL, name)),
      repository('merged', 'add_sub', mergedConfig(OWN, FULL)),
    ]);
    try {
      assertServed(await configOf(server, name));
      const merged = await configOf(server, 'add_sub');
      assertServed(merged);
      assert.equal(merged.parameters?.['execution_mode']?.string_value, '0');
      await answers(server);
    } finally {
      await server.stop();
    }
  });

  it("are served as TensorFlow Serving's batching parameters", async () => {
    const file = join(folder, 'batching.txt');
    writeFileSync(file, batchingParametersText(FULL, 2) ?? '');
    const model = ['--model-name=half_plus_three', `--model-base-path=${MODELS}/half_plus_three`];
    const batching = ['--enable-batching', `--batching-parameters-file=${file}`];
    const server = await startServer([...model, ...batching]);
    try {
      await answers(server);
      assert.equal((await configOf(server, 'half_plus_three')).max_batch_size, 16);
    } finally {
      await server.stop();
    }
  });
});
