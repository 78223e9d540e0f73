// Foreign clients: finds them, and runs modules of test/e2e/python against a server, where every
// Python test becomes a test here. Test time only.
import assert from 'node:assert/strict';
import {
  execFileSync,
  spawn,
  spawnSync,
  type ChildProcessWithoutNullStreams,
} from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import type { ServalProcess } from './serval-process.js';

const FOLDER = join(packageRoot(), 'test', 'e2e', 'python');

interface Outcome {
  readonly test: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly detail: string;
}

/**
 * The interpreter with the clients: SERVAL_PYTHON, or that of test/env. Throws with the reason if
 * it cannot be made.
 */
export function pythonInterpreter(): string {
  const given = process.env['SERVAL_PYTHON'];
  if (given !== undefined && given !== '') return given;
  const script = join(packageRoot(), 'test', 'env', 'python-env.sh');
  const made = execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return join(made.trim(), 'bin', 'python');
}

/** {python, missing}: the interpreter, or the reason why there is none. */
export function findPython(): { readonly python: string; readonly missing: string } {
  try {
    return { python: pythonInterpreter(), missing: '' };
  } catch (error) {
    return { python: '', missing: `no Python environment: ${(error as Error).message}` };
  }
}

/**
 * The same for the interpreter with TensorFlow Serving's stubs: SERVAL_TF_PYTHON, or that of
 * test/env.
 */
export function findTensorFlowPython(): { readonly python: string; readonly missing: string } {
  const given = process.env['SERVAL_TF_PYTHON'];
  if (given !== undefined && given !== '') return { python: given, missing: '' };
  const script = join(packageRoot(), 'test', 'env', 'tensorflow-env.sh');
  try {
    const made = execFileSync(script, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    return { python: join(made.trim(), 'bin', 'python'), missing: '' };
  } catch (error) {
    return { python: '', missing: `no Python with TensorFlow: ${(error as Error).message}` };
  }
}

/** Triton's perf_analyzer, or the reason why there is none. */
export function findPerfAnalyzer(): { readonly program: string; readonly missing: string } {
  const script = join(packageRoot(), 'test', 'env', 'perf-analyzer.sh');
  const { status, stdout, stderr } = spawnSync(script, { encoding: 'utf8' });
  if (status === 0) return { program: stdout.trim(), missing: '' };
  assert.equal(status, 77, stderr);
  return { program: '', missing: stderr.trim() };
}

/**
 * Runs one module, as subtests of `context`. `extra` is added to the modules' environment; not
 * every one needs a server. If SERVAL_PYTHON_SUITE names another module (`make t`), it is skipped.
 */
export async function runPythonSuite(
  context: TestContext,
  python: string,
  suite: string,
  server: ServalProcess | undefined,
  extra: NodeJS.ProcessEnv = {},
): Promise<void> {
  const wanted = process.env['SERVAL_PYTHON_SUITE'] ?? suite;
  if (wanted !== suite) {
    context.skip(`only ${wanted} is wanted`);
    return;
  }
  const env = {
    ...process.env,
    ...(server !== undefined && {
      SERVAL_HTTP: `127.0.0.1:${server.httpPort}`,
      SERVAL_GRPC: `127.0.0.1:${server.grpcPort}`,
    }),
    PYTHONDONTWRITEBYTECODE: '1',
    // The clients' own event tracing must not reach the test's output.
    GRPC_VERBOSITY: 'ERROR',
    ...extra,
  };
  await runOutcomes(context, suite, spawn(python, ['run_suites.py', suite], { cwd: FOLDER, env }));
}

/** Runs a program whose lines are outcomes, as subtests of `context`. `what` names it in errors. */
export async function runOutcomes(
  context: TestContext,
  what: string,
  child: ChildProcessWithoutNullStreams,
): Promise<void> {
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const { test, outcome, detail } = JSON.parse(line) as Outcome;
    count += 1;
    await context.test(test, (inner) => {
      if (outcome === 'skipped') inner.skip(detail);
      else assert.equal(outcome, 'passed', detail);
    });
  }
  assert.equal(await closed, 0, `${what}: ${stderr}`);
  assert.ok(count > 0, `${what} has no tests: ${stderr}`);
}
