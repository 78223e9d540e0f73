// Triton's official Python clients, unmodified, against a real server: test/e2e/python/*.py. Every
// Python test is a test here.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it, type TestContext } from 'node:test';
import { packageRoot } from '../../ts/native/binding.js';
import { ModelFolders, slowModel } from './support/model-folders.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const FOLDER = join(packageRoot(), 'test', 'e2e', 'python');
// tritonclient.grpc's monkey patches and event loops do not share a process well: one each.
const SUITES = ['test_http', 'test_http_aio', 'test_grpc', 'test_grpc_aio', 'test_grpc_raw'];

interface Outcome {
  readonly test: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly detail: string;
}

/** The interpreter that has the clients: SERVAL_PYTHON, or that of test/env. Throws with the reason
 * where it cannot be made. */
function pythonInterpreter(): string {
  const given = process.env['SERVAL_PYTHON'];
  if (given !== undefined && given !== '') return given;
  const script = join(packageRoot(), 'test', 'env', 'python-env.sh');
  const made = execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return join(made.trim(), 'bin', 'python');
}

async function runSuite(
  context: TestContext, python: string, suite: string, server: ServalProcess,
): Promise<void> {
  const env = {
    ...process.env,
    SERVAL_HTTP: `127.0.0.1:${server.httpPort}`,
    SERVAL_GRPC: `127.0.0.1:${server.grpcPort}`,
    PYTHONDONTWRITEBYTECODE: '1',
    // The clients' own event tracing must not reach outside.
    GRPC_VERBOSITY: 'ERROR',
  };
  const child = spawn(python, ['run_suites.py', suite], { cwd: FOLDER, env });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text; });
  const closed = new Promise<number | null>((resolve) => { child.on('close', resolve); });
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const { test, outcome, detail } = JSON.parse(line) as Outcome;
    count += 1;
    await context.test(test, (inner) => {
      if (outcome === 'skipped') inner.skip(detail);
      else assert.equal(outcome, 'passed', detail);
    });
  }
  assert.equal(await closed, 0, `${suite}: ${stderr}`);
  assert.ok(count > 0, `${suite} has no tests: ${stderr}`);
}

describe('tritonclient', () => {
  const folders = new ModelFolders();
  let server: ServalProcess | undefined;
  let python = '';
  let missing = '';
  before(async () => {
    try {
      python = pythonInterpreter();
    } catch (error) {
      missing = `no Python environment: ${(error as Error).message}`;
      return;
    }
    folders.add(folders.models, 'slow_second', slowModel(1024, 12));
    server = await startServer([folders.models]);
  });
  after(async () => {
    await server?.stop();
    folders.remove();
  });

  for (const suite of SUITES) {
    it(suite, async (context) => {
      if (server === undefined) {
        context.skip(missing);
        return;
      }
      await runSuite(context, python, suite, server);
      assert.ok(server.running, server.stderr);
    });
  }
});
