// OpenTelemetry's own collector between Serval and the checked spans: what it receives over HTTP
// and over gRPC, and forwards, is what was sent. Test time only.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fromScript } from '../../clients/support.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders } from '../support/model-folders.js';
import { putDelayModel, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { findPython } from '../support/python-suites.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';
import { Collector, type Span } from './collector.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_SPAN = '00f067aa0ba902b7';
const BATCHED = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}]}';
const SOON = ['--trace-config=opentelemetry,bsp_schedule_delay=50', '--trace-rate=1'];
const TRIES = 5;

const { python, missing } = findPython();
const { lines, missing: unbuilt } =
  missing === '' ? fromScript('go-collector.sh') : { lines: [] as string[], missing };

interface Relay {
  readonly http: string;
  readonly grpc: string;
  readonly child: ChildProcess;
}

/**
 * The collector, which forwards to `target`; undefined if another process took one of its ports.
 */
async function startOnce(program: string, target: string): Promise<Relay | undefined> {
  const [http, grpc] = [await freePort(), await freePort()];
  const protocols = {
    http: { endpoint: `127.0.0.1:${http}` },
    grpc: { endpoint: `127.0.0.1:${grpc}` },
  };
  const config = {
    receivers: { otlp: { protocols } },
    exporters: { otlp_http: { endpoint: target } },
    service: {
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlp_http'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  };
  const child = spawn(program, [`--config=yaml:${JSON.stringify(config)}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ready = await until(
    'the collector is ready',
    () => said.includes('Everything is ready') || (child.exitCode !== null && 'ended'),
    () => said,
    60_000,
  );
  if (ready === true) {
    return { http: `http://127.0.0.1:${http}`, grpc: `grpc://127.0.0.1:${grpc}`, child };
  }
  assert.match(said, /address already in use/);
  return undefined;
}

async function startRelay(program: string, target: string): Promise<Relay> {
  for (let i = 0; i < TRIES; i += 1) {
    const relay = await startOnce(program, target);
    if (relay !== undefined) return relay;
  }
  throw new Error(`no two free ports in ${TRIES} tries`);
}

describe("OpenTelemetry's collector", { skip: unbuilt !== '' && unbuilt }, () => {
  const folders = new ModelFolders();
  let models = '';
  let collector: Collector;
  let relay: Relay;
  before(async () => {
    models = folders.repository('traced', ['half_plus_three']);
    putDelayModel(models, 'batched', 30, 'max_batch_size: 16\ndynamic_batching { }\n');
    collector = await Collector.start(python);
    relay = await startRelay(join(lines[0] ?? '', 'collector'), collector.http);
  });
  after(async () => {
    relay.child.kill('SIGKILL');
    await collector.stop();
    folders.remove();
  });

  for (const transport of ['http', 'grpc'] as const) {
    it(`takes what comes over OTLP/${transport}`, async (context) => {
      const server = await startServer([models, ...SOON, '--trace-otlp', relay[transport]]);
      context.after(() => server.stop());
      const infer = (model: string, body: string) =>
        exchange(server.httpPort, 'POST', `/v2/models/${model}/infer`, body, [
          `traceparent: 00-${TRACE}-${PARENT_SPAN}-01`,
          `tracestate: serval=${transport}`,
        ]);
      const answer = await infer('half_plus_three', v2Body('x', [1, 2]));
      assert.equal(answer.status, 200);
      const [, , spanId = ''] = (answer.headers.get('traceparent') ?? '').split('-');
      const [root] = await collector.spans(1, (span) => span.spanId === spanId);
      assert.ok(root);
      assert.deepEqual(
        [root.name, root.traceId, root.parentId, root.traceState, root.resource['service.name']],
        ['infer half_plus_three', TRACE, PARENT_SPAN, `serval=${transport}`, 'serval'],
      );
      const children = await collector.spans(3, (span) => span.parentId === spanId);
      assert.ok(children.some(({ name }) => name === 'compute'));

      // Requests that arrive while the first one runs are batched.
      const batch = await Promise.all(Array.from({ length: 6 }, () => infer('batched', BATCHED)));
      const ids = batch.map(({ headers }) => (headers.get('traceparent') ?? '').split('-')[2]);
      const isLinked = (span: Span): boolean =>
        span.name === 'batch batched' && span.links.some((link) => ids.includes(link.spanId));
      assert.notDeepEqual(await collector.spans(1, isLinked), []);
    });
  }
});
