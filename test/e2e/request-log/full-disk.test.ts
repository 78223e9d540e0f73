// A log on a full disk: it stops, the server does not; a metric and one log line report it; it
// continues when there is space. On a file system of 200 KB if one may be mounted, and on a folder
// that is not writable.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { REQUEST_LOG_RETRY_MS } from '../../../ts/base/limits.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { infer, logLines, metric, plusModel, put, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { filesOf, linesOf } from './support.js';

/** It is retried after REQUEST_LOG_RETRY_MS. */
const RETRY_LIMIT_MS = REQUEST_LOG_RETRY_MS * 10;
const BODY = v2Body(
  'x',
  Array.from({ length: 2000 }, (_, i) => i),
);

/** The reason why there is none; "" = there is one at `folder`. */
function mountSmall(folder: string): string {
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    return `nothing can be mounted: ${(error as Error).message.split('\n')[0] ?? ''}`;
  }
  return '';
}

async function started(context: TestContext, logs: string): Promise<ServalProcess> {
  const models = tempFolder(context);
  put(join(models, 'plus', '1', 'model.onnx'), plusModel(1));
  const server = await startServer(['--model-repository', models, '--request-log-dir', logs]);
  context.after(() => server.stop());
  return server;
}

const ask = async (server: ServalProcess, body = BODY): Promise<void> => {
  assert.equal((await infer(server, 'plus', body)).status, 200);
};
const stopped = (server: ServalProcess): Promise<number> =>
  metric(server, 'serval_request_log_stopped');
const lost = (server: ServalProcess): Promise<number> =>
  metric(server, 'serval_request_log_dropped_total', 'reason="file"');
const said = (server: ServalProcess, words: string): number =>
  logLines(server).filter((line) => String(line['message']).includes(words)).length;

async function fillAndEmpty(server: ServalProcess, folder: string): Promise<void> {
  await until('the log stopped', async () => {
    await ask(server);
    return (await stopped(server)) === 1;
  });
  assert.ok((await lost(server)) > 0);
  assert.equal(said(server, 'the request log is paused'), 1);
  for (const file of filesOf(folder, 'requests-')) linesOf([file]); // whole lines only
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  // Short ones, many of which are written at once.
  await until(
    'the log goes on',
    async () => {
      await ask(server, v2Body('x', [1]));
      return (await stopped(server)) === 0;
    },
    () => server.stderr,
    RETRY_LIMIT_MS,
  );
  assert.equal(said(server, 'writing of the request log resumed'), 1);
  assert.ok(filesOf(folder, 'requests-').every((file) => statSync(file).size > 0));
}

describe('a request log on a full disk', () => {
  it('stops and goes on; the server answers', async (context) => {
    const folder = join(tempFolder(context), 'small');
    const missing = mountSmall(folder);
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    try {
      await fillAndEmpty(await started(context, folder), folder);
    } finally {
      // Before the folder is removed.
      execFileSync('umount', ['-l', folder]);
    }
  });

  it('stops too if its folder is not a folder', async (context) => {
    const path = join(tempFolder(context), 'file');
    writeFileSync(path, '');
    const server = await started(context, path);
    await until('the log stopped', async () => {
      await ask(server);
      return (await stopped(server)) === 1;
    });
    assert.equal(said(server, 'the request log is paused'), 1);
  });
});
