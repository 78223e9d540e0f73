// The files with tuned settings, parsed by the server's readers; messages and the table.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  batchingParametersText,
  configText,
} from '../../../../../ts/cli/bench/tune/config-text.js';
import { reportOf, trialTable } from '../../../../../ts/cli/bench/tune/report.js';
import { settingsWords } from '../../../../../ts/cli/bench/tune/words.js';
import type { TunedSettings, TuneTrial } from '../../../../../ts/cli/bench/types.js';
import { parseBatchingParameters } from '../../../../../ts/models/config/batching-parameters.js';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';
import { closedPoint } from '../reports.js';

const FULL: TunedSettings = {
  instances: 4,
  threads: 2,
  maxBatchSize: 16,
  preferredBatchSize: 8,
  maxQueueDelayMicroseconds: 500,
};

function configOf(settings: TunedSettings, name = 'm', notes?: readonly string[]): unknown {
  const { config, problems } = parseTritonConfig(configText(settings, name, notes), 'config.pbtxt');
  assert.deepEqual(problems, []);
  return JSON.parse(JSON.stringify(config));
}

describe('config.pbtxt of tuned settings', () => {
  it('says all that is set', () => {
    const config = configOf(FULL, 'resnet50', ['a note\nof two lines']) as Record<string, unknown>;
    assert.equal(config['name'], 'resnet50');
    assert.equal(Number(config['max_batch_size']), 16);
    const text = JSON.stringify(config);
    assert.match(text, /"count":"?4/);
    assert.match(text, /KIND_CPU/);
    assert.match(text, /"preferred_batch_size":\["?8/);
    assert.match(text, /"max_queue_delay_microseconds":"?500/);
    assert.match(text, /intra_op_thread_count.*"2"/);
  });

  it('says nothing that is not set', () => {
    assert.deepEqual(configOf({}), { name: 'm' });
    const config = configText({ instances: 2, maxBatchSize: 0 }, 'm');
    assert.doesNotMatch(config, /dynamic_batching|parameters/);
    assert.match(config, /^max_batch_size: 0$/m);
    assert.doesNotMatch(configText({ maxBatchSize: 8 }, 'm'), /preferred|instance_group/);
  });

  it('takes any name', () => {
    for (const name of ['a "b"', 'back\\slash', 'line\nbreak', 'größe']) {
      assert.deepEqual(configOf({}, name), { name });
    }
  });
});

describe('batching parameters of tuned settings', () => {
  it('are what the server reads', () => {
    const text = batchingParametersText(FULL, 4) ?? '';
    assert.match(text, /--tensorflow_intra_op_parallelism=4$/m);
    const { parameters, problems } = parseBatchingParameters(text, 'file');
    assert.deepEqual(problems, []);
    assert.equal(parameters?.maxBatchSize, 16);
    assert.equal(parameters?.batchTimeoutMicros, 500);
    assert.equal(parameters?.numBatchThreads, 4);
  });

  it('are none where nothing is joined', () => {
    assert.equal(batchingParametersText({ instances: 2, maxBatchSize: 0 }, 4), undefined);
    assert.equal(batchingParametersText({}, 4), undefined);
  });
});

describe('words and table', () => {
  const slow = closedPoint({ concurrency: 2, runUs: 1000, servers: 1 });
  const quick = closedPoint({ concurrency: 8, runUs: 1000, servers: 4 });
  const trials: readonly TuneTrial[] = [
    { settings: {}, why: '', points: [slow], best: slow },
    { settings: FULL, why: '', points: [quick], best: quick },
    { settings: { instances: 3 }, why: '', points: [], problem: 'no memory' },
    { settings: { instances: 1 }, why: '', points: [slow] },
  ];

  it('name what is set', () => {
    assert.equal(settingsWords({}), 'defaults');
    const words = '4 instances, 2 threads each, batches to 16, 8 preferred, delay 500 us';
    assert.equal(settingsWords(FULL), words);
    assert.equal(settingsWords({ instances: 1, maxBatchSize: 0 }), '1 instance, no batches');
  });

  it('list what was tried, fastest first', () => {
    const options = { name: 'm', cores: 4, hasBatchingParameters: true, latencyBound: 5000 };
    const report = reportOf({ trials, best: 1, steps: [] }, options);
    const lines = trialTable(report).map((line) => line.split(/ {2,}/).filter(Boolean));
    const full = '* 4 instances, 2 threads each, batches to 16, 8 preferred, delay 500 us';
    assert.deepEqual(lines, [
      ['settings', 'rows/s', 'to defaults', 'p50', 'p99', 'in flight'],
      [full, '4,000', '4 ×', '1.8 ms', '4 ms', '8'],
      ['defaults', '1,000', '±0 %', '1.8 ms', '4 ms', '2'],
      ['3 instances', '-', 'no memory'],
      ['1 instance', '1,000', '±0 %', '1.8 ms', '4 ms', '2', 'above the bound'],
    ]);
    const at = trialTable(report).map((line) => line.indexOf(' ms'));
    assert.equal(new Set(at.filter((place) => place >= 0)).size, 1);
    assert.match(report.config, /^# serval bench --tune, 4 settings tried, p99 below 5 ms\n/);
    assert.match(report.config, /^# defaults: 1,000 rows\/s, p99 4 ms with 2 in flight$/m);
    assert.match(report.batchingParameters ?? '', /max_batch_size \{ value: 16 \}/);
  });

  it('say where nothing kept the bound', () => {
    const options = { name: 'm', cores: 4, hasBatchingParameters: false, latencyBound: 1 };
    const report = reportOf({ trials, steps: [] }, options);
    assert.match(report.config, /^# no settings kept the bound; these are the defaults$/m);
    assert.equal(report.batchingParameters, undefined);
  });
});
