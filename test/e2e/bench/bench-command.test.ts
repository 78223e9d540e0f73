// `serval bench` of models of several kinds and of a running server, plain and with TLS: the table,
// the report, refusals, and that no process is left running.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { BenchPoint, BenchReport } from '../../../ts/cli/bench/types.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { Certificates } from '../support/certificates.js';
import { until } from '../support/polling.js';
import { runServal, ServalProcess, startServer } from '../support/serval-process.js';

const MODELS = join(packageRoot(), 'examples', 'models');
const QUICK = ['--seconds=0.6', '--warmup-seconds=0.1', '--concurrency=1,3'];

const folder = mkdtempSync(join(tmpdir(), 'serval-bench-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function report(...args: readonly string[]): Promise<BenchReport> {
  const { code, stdout, stderr } = await runServal(['bench', ...args, ...QUICK, '--json', '-']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as BenchReport;
}

function checked(points: readonly BenchPoint[]): void {
  for (const { path, answered, failed, firstError, latency, ...rest } of points) {
    assert.deepEqual([failed, firstError], [0, undefined], path);
    assert.ok(answered > 0, `${path} ${rest.concurrency} ${rest.rate}`);
    const { p50, p90, p99, p999, max } = latency;
    assert.ok(p50 > 0 && p50 <= p90 && p90 <= p99 && p99 <= p999 && p999 <= max, path);
    assert.ok(Math.abs(rest.requestsPerSecond * rest.seconds - answered) < 1e-6);
    assert.ok(rest.clientCores >= 0);
  }
}

describe('serval bench of a model', () => {
  it('measures all paths, closed and open, and writes a table and a report', async () => {
    const file = join(folder, 'report.json');
    const args = [join(MODELS, 'add_sub'), '--rate', '40,50%', '--batch', '4', '--json', file];
    const { code, stdout, stderr } = await runServal(['bench', ...args, ...QUICK]);
    assert.equal(code, 0, stderr);
    const { points, model, server, format } = JSON.parse(readFileSync(file, 'utf8')) as BenchReport;
    assert.deepEqual([format, model.name, server], [1, 'add_sub', "this process' child"]);
    assert.equal(points.length, 4 * 4);
    checked(points.filter(({ loop, rate }) => loop === 'closed' || rate === 40));
    const closed = points.filter(({ loop }) => loop === 'closed');
    assert.ok(closed.every(({ serverCores }) => serverCores !== undefined));
    for (const { batch, rowsPerSecond, requestsPerSecond } of points) {
      assert.equal(batch, 4);
      assert.ok(Math.abs(rowsPerSecond - 4 * requestsPerSecond) < 1e-6);
    }
    for (const path of ['engine', 'rest-json', 'rest-binary', 'grpc']) {
      const lines = stdout.split('\n').filter((line) => line.startsWith(`${path} `));
      assert.equal(lines.length, 4, path);
    }
    assert.ok(!stdout.includes('\u001b'), 'no progress where there is no terminal');
  });

  it('measures a tabular model and a text model', async () => {
    const table = await report(join(MODELS, 'iris_tree'), '--rate=none', '--batch=3');
    assert.deepEqual(
      [...new Set(table.points.map(({ path }) => path))],
      [...['engine', 'rest-json', 'grpc']],
    );
    checked(table.points);
    const text = await report(MODELS, '--model=text_identity', '--rate=none', '--batch=2');
    assert.equal(text.points.length, 8);
    checked(text.points);
  });

  it('takes inputs, and needs no server for the engine alone', async () => {
    const inputs = ['--input', 'amount=900', '--input', 'income=1000', '--input', 'purpose=car'];
    const { points, server } = await report(
      ...[join(MODELS, 'loan_risk'), ...inputs, '--paths=engine', '--rate=none', '--instances=2'],
    );
    assert.equal(server, 'none');
    checked(points);
  });

  it('measures a request of one shape as it is', async () => {
    const { points } = await report(
      ...[join(MODELS, 'half_plus_three'), '--shape=x=5000', '--paths=rest-binary,grpc'],
      '--rate=none',
    );
    checked(points);
    assert.deepEqual([...new Set(points.map(({ batch }) => batch))], [0]);
    const args = ['--shape=x=5000', '--batch=2', '--paths=grpc'];
    const { code, stderr } = await runServal(['bench', join(MODELS, 'half_plus_three'), ...args]);
    assert.equal(code, 1);
    assert.match(stderr, /--batch: model 'half_plus_three' has no dynamic first dimension/);
  });

  for (const [args, exit, text] of [
    [[], 2, /bench: expected one MODEL or URL, got 0/],
    [[MODELS], 1, /expected one model or --model with one of its \d+: add_sub/],
    [[MODELS, '--model=nope'], 1, /no model "nope", there is add_sub/],
    [[join(MODELS, 'nowhere')], 1, /no such file or folder/],
    [[join(MODELS, 'add_sub'), '--rate=fast'], 2, /--rate: expected requests per second/],
    [[join(MODELS, 'add_sub'), '--input=q=1', '--paths=rest-json'], 1, /'q'/],
    [[join(MODELS, 'add_sub'), '--seconds=x'], 2, /--seconds: expected seconds/],
    [
      [join(MODELS, 'add_sub'), '--shape=q=3'],
      1,
      /--shape: no input "q"; the model has INPUT0, INPUT1/,
    ],
    [['http://127.0.0.1:1/v2/models/m'], 1, /no response: .*ECONNREFUSED/],
    [['grpc://127.0.0.1:1/v2/models/m'], 1, /no response: .*ECONNREFUSED/],
  ] as const) {
    it(`exits ${exit}: ${args.join(' ').replace(MODELS, 'MODELS')}`, async () => {
      const { code, stderr } = await runServal(['bench', ...QUICK, ...args]);
      assert.match(stderr, text);
      assert.equal(code, exit, stderr);
    });
  }

  it('ends its server when it is ended', async () => {
    const args = [join(MODELS, 'add_sub'), '--paths=grpc', '--seconds=600', '--concurrency=1'];
    const run = new ServalProcess(['bench', ...args]);
    try {
      await run.printed(({ stdout }) => stdout.includes('requests/s'));
      const children = childrenOf(run.child.pid ?? 0);
      assert.equal(children.length, 1);
      run.signal('SIGTERM');
      assert.equal((await run.ended).code, 143);
      await until('the end of the server', () => children.every((pid) => !isRunning(pid)));
    } finally {
      await run.stop();
    }
  });
});

describe('serval bench of a running server', () => {
  const certificates = new Certificates();
  const { certificate, key } = certificates.server;
  const path = '/v2/models/half_plus_three';
  let plain: ServalProcess;
  let secure: ServalProcess;
  before(async () => {
    plain = await startServer([MODELS]);
    secure = await startServer([MODELS, '--tls-cert', certificate, '--tls-key', key]);
  });
  after(async () => {
    await plain.stop();
    await secure.stop();
    rmSync(certificates.folder, { recursive: true, force: true });
  });

  it('measures its protocols by URL', async () => {
    const http = await report(`http://127.0.0.1:${plain.httpPort}${path}`, '--rate=30');
    assert.deepEqual(
      [...new Set(http.points.map((one) => one.path))],
      ['rest-json', 'rest-binary'],
    );
    checked(http.points);
    assert.ok(http.points.every(({ serverCores }) => serverCores === undefined));
    const grpc = await report(`grpc://127.0.0.1:${plain.grpcPort}${path}`, '--rate=30');
    assert.deepEqual([grpc.points.length, grpc.model.version], [3, '123']);
    checked(grpc.points);
  });

  it('measures REST over HTTP/2', async () => {
    const sessions = new Set<unknown>();
    const front = createHttp2((request, response) => {
      sessions.add(request.stream.session);
      const { method = '', url = '' } = request;
      const names = Object.entries(request.headers).filter(([name]) => !name.startsWith(':'));
      const place = { port: plain.httpPort, method, path: url, headers: Object.fromEntries(names) };
      const forwarded = httpRequest(place, (answer) => {
        response.writeHead(answer.statusCode ?? 0);
        answer.pipe(response);
      });
      request.pipe(forwarded);
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
    const { port } = front.address() as AddressInfo;
    const { points } = await report(`http://127.0.0.1:${port}${path}`, '--http2', '--rate=30');
    front.close();
    assert.deepEqual([...new Set(points.map((one) => one.path))], ['rest-json', 'rest-binary']);
    checked(points);
    assert.ok(sessions.size > 3, `${sessions.size} sessions of HTTP/2`);
    const other = await runServal(['bench', `http://127.0.0.1:1${path}`, '--http2']);
    assert.match(other.stderr, /no response over HTTP\/2: .*ECONNREFUSED/);
  });

  it('measures over TLS, with several threads', async () => {
    const ca = ['--tls-ca', certificates.authority.certificate, '--load-threads=2'];
    const http = await report(`https://localhost:${secure.httpPort}${path}`, ...ca, '--rate=30');
    const grpc = await report(`grpcs://localhost:${secure.grpcPort}${path}`, ...ca, '--rate=30');
    assert.deepEqual([http.points.length, grpc.points.length], [6, 3]);
    checked([...http.points, ...grpc.points]);
    const stranger = await runServal(['bench', `https://localhost:${secure.httpPort}${path}`]);
    assert.equal(stranger.code, 1);
    assert.match(stranger.stderr, /no response: .*certificate/);
  });

  it("reports the server's refusals", async () => {
    const url = `http://127.0.0.1:${plain.httpPort}/v2/models/nope`;
    const nope = await runServal(['bench', url]);
    assert.deepEqual([nope.code, /status 404.*'nope'/.test(nope.stderr)], [1, true], nope.stderr);
    const grpc = await runServal(['bench', `grpc://127.0.0.1:${plain.grpcPort}/v2/models/nope`]);
    assert.deepEqual(
      [grpc.code, /gRPC status 5: .*'nope'/.test(grpc.stderr)],
      [1, true],
      grpc.stderr,
    );
    const wrong = await runServal([
      ...['bench', `grpc://127.0.0.1:${plain.grpcPort}${path}`, '--input', 'x=[[1, 2]]'],
    ]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /grpc: skipped: .*gRPC status 3: .*input 'x'/);
  });
});

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${Number(name)}/stat`, 'latin1');
      const [, above] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(above) === parent ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
}
