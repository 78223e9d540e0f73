// The registry's part of /metrics. Source: the Prometheus text format.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { registryMetrics } from '../../../../../ts/server/observe/metrics/registry-metrics.js';
import { model, registry, version } from '../../../protocols/snapshots.js';

const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short' };

/** The lines of one metric without its name. */
function linesOf(text: string, name: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => line.slice(name.length));
}

describe('registry metrics', () => {
  const text = registryMetrics(
    registry([
      model('m', [version('12', 'END', failed), version('10'), version('9', 'UNLOADING')]),
      model('loading', [version('1', 'LOADING')]),
      model('stale', [version('1', 'AVAILABLE', failed)]),
      model('none', []),
    ]),
  );

  it('has a line per version with its state', () => {
    assert.deepEqual(linesOf(text, 'serval_model_state'), [
      '{model="m",version="12",state="END"} 1',
      '{model="m",version="10",state="AVAILABLE"} 1',
      '{model="m",version="9",state="UNLOADING"} 1',
      '{model="loading",version="1",state="LOADING"} 1',
      '{model="stale",version="1",state="AVAILABLE"} 1',
    ]);
  });

  it('says what is ready and what failed, a version that still serves included', () => {
    assert.deepEqual(linesOf(text, 'serval_model_ready'), [
      '{model="m"} 1',
      '{model="loading"} 0',
      '{model="stale"} 1',
      '{model="none"} 0',
    ]);
    assert.deepEqual(linesOf(text, 'serval_models_configured'), [' 4']);
    assert.deepEqual(linesOf(text, 'serval_server_ready'), [' 0']);
    assert.deepEqual(linesOf(text, 'serval_model_load_failures'), [' 2']);
    assert.deepEqual(linesOf(text, 'serval_model_load_failed'), [
      '{model="m",version="12",code="MODEL_INVALID"} 1',
      '{model="stale",version="1",code="MODEL_INVALID"} 1',
    ]);
    assert.deepEqual(linesOf(text, 'serval_model_lines_left_out'), [' 0']);
  });

  it('is Prometheus text: HELP and TYPE once before each metric, a newline at the end', () => {
    const lines = text.split('\n');
    assert.equal(lines.pop(), '');
    const seen = new Set<string>();
    let current = '';
    for (const line of lines) {
      const comment = /^# (HELP|TYPE) (\w+) (.+)$/.exec(line);
      if (comment !== null) {
        const [, kind, name = '', rest] = comment;
        if (kind === 'HELP') {
          assert.ok(!seen.has(name), name);
          seen.add(name);
          current = name;
        } else {
          assert.deepEqual([name, rest], [current, 'gauge']);
        }
      } else {
        assert.match(line, /^\w+(\{(\w+="[^"\n]*",?)+\})? \d+$/);
        assert.equal(/^\w+/.exec(line)?.[0], current);
      }
    }
    assert.ok(seen.size >= 7);
  });

  it('escapes names', () => {
    const odd = registryMetrics(registry([model('a"b\\c\nd', [version('1')])]));
    assert.deepEqual(linesOf(odd, 'serval_model_ready'), ['{model="a\\"b\\\\c\\nd"} 1']);
    const hidden = registryMetrics(registry([model('a\u202e\x85\r\u{e0001}', [version('1')])]));
    assert.deepEqual(linesOf(hidden, 'serval_model_ready'), [
      '{model="a\\\\u202e\\\\u0085\\\\u000d\\\\u{e0001}"} 1',
    ]);
  });

  it('is ready when the server is', () => {
    const ready = registry([model('m', [version('1')])]);
    assert.deepEqual(linesOf(registryMetrics(ready), 'serval_server_ready'), [' 1']);
    const draining = registryMetrics({ ...ready, draining: true });
    assert.deepEqual(linesOf(draining, 'serval_server_ready'), [' 0']);
  });

  it('is bounded: 10,000 lines of a metric, the rest counted', () => {
    const versions = [version('2', 'END', failed), version('1', 'END', failed)];
    const many = registryMetrics(
      registry(Array.from({ length: 10_001 }, (_, at) => model(`m${at}`, versions))),
    );
    for (const name of ['state', 'ready', 'load_failed']) {
      assert.equal(linesOf(many, `serval_model_${name}`).length, 10_000, name);
    }
    assert.deepEqual(linesOf(many, 'serval_model_lines_left_out'), [' 10002']);
    assert.deepEqual(linesOf(many, 'serval_model_load_failures'), [' 20002']);
    assert.deepEqual(linesOf(many, 'serval_models_configured'), [' 10001']);
  });
});
