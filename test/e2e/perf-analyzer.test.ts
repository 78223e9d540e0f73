// Triton's perf_analyzer, unmodified, in concurrency and request-rate mode over HTTP and gRPC: it
// finishes, and its report has the server's side, which comes from the statistics extension. The
// program comes from test/env/perf-analyzer.sh. Source: v2-protocol.md 6.3, 11.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ModelFolders } from './support/model-folders.js';
import { findPerfAnalyzer } from './support/python-suites.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const MODEL = 'mlp';
const WINDOW_MS = 500;
// This tests function, not speed: three windows need not agree closely on a shared machine.
const STABILITY_PERCENT = 95;
const TRIALS = 10;
const RUN_MS = 60_000;
const run = promisify(execFile);

/** The first number after `label`, which must exist. */
function figure(report: string, label: string): number {
  const match = new RegExp(`${label}: *([0-9.]+)`).exec(report);
  assert.ok(match?.[1], `no "${label}" in\n${report}`);
  return Number(match[1]);
}

describe('perf_analyzer', () => {
  const folders = new ModelFolders();
  const { program, missing } = findPerfAnalyzer();
  let server: ServalProcess;
  before(async () => {
    server = await startServer([folders.repository('perf', [MODEL]), '--allow-client-shm=true']);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const analyze = async (protocol: 'http' | 'grpc', mode: readonly string[]): Promise<string> => {
    const port = protocol === 'http' ? server.httpPort : server.grpcPort;
    const args = [
      '-m',
      MODEL,
      '-i',
      protocol,
      '-u',
      `127.0.0.1:${port}`,
      '-p',
      String(WINDOW_MS),
      '-s',
      String(STABILITY_PERCENT),
      '-r',
      String(TRIALS),
      ...mode,
    ];
    const { stdout, stderr } = await run(program, args, { timeout: RUN_MS });
    assert.ok(server.running, server.stderr);
    return `${stdout}${stderr}`;
  };

  const checked = (report: string): void => {
    const [client = '', serverPart = ''] = report.split(/^ *Server: *$/m);
    assert.ok(figure(client, 'Request count') > 0);
    assert.ok(figure(client, 'Throughput') > 0);
    const requests = figure(serverPart, 'Successful request count');
    assert.ok(requests > 0, report);
    assert.ok(figure(serverPart, 'Inference count') >= requests);
    const executions = figure(serverPart, 'Execution count');
    assert.ok(executions > 0 && executions <= requests, report);
    assert.ok(figure(serverPart, 'Avg request latency') > 0);
    for (const part of ['queue', 'compute input', 'compute infer', 'compute output']) {
      assert.match(serverPart, new RegExp(`\\b${part} \\d+ usec`));
    }
  };

  const available = (context: TestContext): boolean => {
    if (missing !== '') context.skip(missing);
    return missing === '';
  };

  for (const protocol of ['http', 'grpc'] as const) {
    it(`at fixed concurrency over ${protocol}`, async (context) => {
      if (!available(context)) return;
      checked(await analyze(protocol, ['--concurrency-range', '4']));
    });
    it(`at a fixed request rate over ${protocol}`, async (context) => {
      if (!available(context)) return;
      checked(await analyze(protocol, ['--request-rate-range', '200']));
    });
  }

  for (const protocol of ['http', 'grpc'] as const) {
    it(`with system shared memory over ${protocol}`, async (context) => {
      if (!available(context)) return;
      const size = ['--output-shared-memory-size', '4096'];
      const mode = ['--concurrency-range', '4', '--shared-memory', 'system', ...size];
      checked(await analyze(protocol, mode));
    });
  }

  it('gets the error of a model that does not exist', async (context) => {
    if (!available(context)) return;
    const args = ['-m', 'nope', '-u', `127.0.0.1:${server.httpPort}`, '-p', String(WINDOW_MS)];
    await assert.rejects(run(program, args, { timeout: RUN_MS }), /unknown model|not found|nope/);
  });
});
