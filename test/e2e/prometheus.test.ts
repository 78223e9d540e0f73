// The metrics pages, read by Prometheus's own parser (test/e2e/python/test_metrics.py), and their
// addresses. Source: v2-protocol.md 4; tfserving.md 3.7.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from './support/free-port.js';
import { ModelFolders } from './support/model-folders.js';
import { findPython, runPythonSuite } from './support/python-suites.js';
import { errorOf, exchange } from './support/raw-http.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const MODELS = ['half_plus_three', 'mlp', 'slow', 'fails_at_run'];
const MONITORING = 'prometheus_config: { enable: true, path: "/monitoring/prometheus/metrics" }\n';

describe('metrics', () => {
  const folders = new ModelFolders();
  const { python, missing } = findPython();
  let models = '';
  let monitoring = '';
  let server: ServalProcess;
  before(async () => {
    models = folders.repository('metrics', MODELS);
    monitoring = join(folders.folder, 'monitoring.config');
    writeFileSync(monitoring, MONITORING);
    server = await startServer([models, '--monitoring-config-file', monitoring]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('are readable by Prometheus', async (context) => {
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'test_metrics', server);
    assert.ok(server.running, server.stderr);
  });

  it('accept no other method', async () => {
    const answer = await exchange(server.httpPort, 'POST', '/metrics', '{}');
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET']);
  });

  it('have a separate port if configured', async (context) => {
    const port = await freePort();
    const other = await startServer([models, '--metrics-port', String(port)]);
    context.after(() => other.stop());
    const answer = await exchange(port, 'GET', '/metrics');
    assert.equal(answer.status, 200);
    assert.match(answer.body.toString(), /^nv_inference_request_success\{.*model="mlp"/m);
    assert.equal((await exchange(other.httpPort, 'GET', '/metrics')).status, 200);
    assert.equal((await exchange(port, 'GET', '/v2')).status, 404);
    const without = await exchange(other.httpPort, 'GET', '/monitoring/prometheus/metrics');
    assert.equal(without.status, 404);
  });

  it('have summaries instead of counters of latencies if configured as in Triton', async (context) => {
    const settings = [
      'counter_latencies=false',
      'summary_latencies=true',
      'summary_quantiles=0.5:0.05,1:0.01',
    ];
    const other = await startServer([models, ...settings.map((one) => `--metrics-config=${one}`)]);
    context.after(() => other.stop());
    const body = JSON.stringify({ instances: [1, 2, 5] });
    for (let i = 0; i < 5; i++) {
      const path = '/v1/models/half_plus_three:predict';
      assert.equal((await exchange(other.httpPort, 'POST', path, body)).status, 200);
    }
    const page = (await exchange(other.httpPort, 'GET', '/metrics')).body.toString();
    assert.doesNotMatch(page, /nv_inference_request_duration_us|duration_us\{/);
    for (const part of ['request', 'queue', 'compute_input', 'compute_infer', 'compute_output']) {
      const name = `nv_inference_${part}_summary_us`;
      const labels = 'model="half_plus_three",version="123"';
      const valueOf = (sample: string): number =>
        Number(
          page
            .split('\n')
            .find((line) => line.startsWith(`${sample} `))
            ?.split(' ')[1],
        );
      assert.ok(page.includes(`# TYPE ${name} summary\n`), page);
      assert.equal(valueOf(`${name}_count{${labels}}`), 5);
      const [half, all] = ['0.5', '1'].map((one) =>
        valueOf(`${name}{${labels},quantile="${one}"}`),
      );
      assert.ok(half !== undefined && all !== undefined && half <= all, page);
      assert.ok(valueOf(`${name}_sum{${labels}}`) <= 5 * (all + 1) * 1.02, page);
    }
    assert.ok(!page.includes('summary_us{model="mlp"'), 'no request, no series');
  });

  it('are absent with --allow-metrics=false', async (context) => {
    const other = await startServer([models, '--allow-metrics=false']);
    context.after(() => other.stop());
    const answer = await exchange(other.httpPort, 'GET', '/metrics');
    assert.equal(answer.status, 404);
    assert.match(errorOf(answer), /metrics/);
    const body = '{"instances":[1.0]}';
    const path = '/v1/models/half_plus_three:predict';
    assert.equal((await exchange(other.httpPort, 'POST', path, body)).status, 200);
  });
});
