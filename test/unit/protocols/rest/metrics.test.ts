// /metrics and TensorFlow Serving's path. Source: v2-protocol.md 4, tfserving.md 3.7.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { registryMetrics } from '../../../../ts/server/observe/metrics/registry-metrics.js';
import {
  metricsRoute,
  type MetricsContext,
} from '../../../../ts/server/observe/metrics/metrics-route.js';
import { ask, type Sent } from '../fake-http.js';
import { FakeReadings } from '../fake-readings.js';
import { model, registry, version } from '../snapshots.js';

const TENSORFLOW = '/monitoring/prometheus/metrics';
const snapshot = registry([model('m', [version('1')])]);

function route(path: string, method: string, change: Partial<MetricsContext>) {
  const context: MetricsContext = {
    readings: new FakeReadings(),
    metricsAllowed: true,
    monitoringPath: TENSORFLOW,
    ...change,
  };
  return metricsRoute(context, snapshot, method, path);
}

async function get(
  path: string,
  query = '',
  method = 'GET',
  change: Partial<MetricsContext> = {},
): Promise<Sent> {
  const found = route(path, method, change);
  assert.ok(found, path);
  return ask(found, { method, path, query });
}

describe('metrics over HTTP', () => {
  it('shows what the engine counted and what the registry holds', async () => {
    for (const query of ['', 'name[]=x']) {
      assert.deepEqual(await get('/metrics', query), {
        status: 200,
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        headers: [],
        body: `engine_text{kind="0"} 1\n${registryMetrics(snapshot)}`,
      });
    }
  });

  it("shows TensorFlow Serving's at its own path, which takes no query", async () => {
    assert.deepEqual(await get(TENSORFLOW), {
      status: 200,
      contentType: 'text/plain',
      body: 'engine_text{kind="1"} 1\n',
      headers: [],
    });
    const refused = await get(TENSORFLOW, 'x=1');
    assert.deepEqual(
      [refused.status, refused.body],
      [400, `{"error":"Malformed request: GET ${TENSORFLOW}?x=1"}`],
    );
    const own = await get('/metrics', '', 'GET', { monitoringPath: '/metrics' });
    assert.equal(own.body, 'engine_text{kind="1"} 1\n');
  });

  it('is nowhere when it is off, and nowhere else', () => {
    assert.equal(route('/metrics', 'GET', { metricsAllowed: false }), undefined);
    assert.equal(route(TENSORFLOW, 'GET', { metricsAllowed: false }), undefined);
    assert.equal(route(TENSORFLOW, 'GET', { monitoringPath: '' }), undefined);
    for (const path of ['', '/', '/metrics/', '/Metrics', '/v2/metrics', `${TENSORFLOW}/`]) {
      assert.equal(route(path, 'GET', {}), undefined, path);
    }
  });

  it('is only read', async () => {
    for (const path of ['/metrics', TENSORFLOW]) {
      const sent = await get(path, '', 'POST');
      assert.deepEqual([sent.status, sent.headers], [405, ['Allow', 'GET']]);
      assert.equal(sent.body, '{"error":"method POST is not allowed here, expected GET"}');
    }
  });

  it('says when the engine cannot', async () => {
    const readings = new FakeReadings();
    readings.error = new ServalError(ErrorCode.Internal, 'out of memory');
    for (const path of ['/metrics', TENSORFLOW]) {
      const sent = await get(path, '', 'GET', { readings });
      assert.deepEqual([sent.status, sent.body], [500, '{"error":"out of memory"}']);
    }
  });
});
