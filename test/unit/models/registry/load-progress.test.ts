// The log lines about a slow load, and that a quick one has none.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { createLogger } from '../../../../ts/base/logger.js';
import { LoadProgress, modelBytes } from '../../../../ts/models/registry/load-progress.js';
import { filledFolder } from '../../temp-folder.js';
import { FakeClock } from './fakes.js';

async function until(holds: () => boolean): Promise<void> {
  const limit = Date.now() + 30_000;
  while (!holds()) {
    assert.ok(Date.now() < limit, 'too late');
    await later(1);
  }
}

test('reports a slow load with stage and size, less and less often', async (context) => {
  const folder = filledFolder(context, { 'm.onnx': 'x'.repeat(1_500_000) });
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = createLogger({ level: 'info', format: 'text', write: (one) => lines.push(one) });
  const path = join(folder, 'm.onnx');
  const progress = new LoadProgress({ logger, clock }, { model: 'm' }, { path, stage: 'loading' });
  await clock.pass(999);
  assert.deepEqual([lines.length, clock.nextMs], [0, 1]);
  await clock.pass(1);
  await until(() => lines.length === 1);
  assert.match(lines[0] ?? '', /INFO {2}loading model model=m stage=loading mb=2 seconds=1\n/);
  progress.stage = 'warming up';
  await clock.pass(1000);
  await until(() => lines.length === 2 && clock.nextMs !== undefined);
  assert.match(lines[1] ?? '', /stage="warming up" mb=2 seconds=2/);
  assert.equal(clock.nextMs, 2000);
  progress.end();
  await clock.pass(100_000);
  assert.deepEqual([lines.length, clock.nextMs], [2, undefined]);
});

test('reports a slow load of unknown size, and no quick one', async () => {
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = createLogger({ level: 'info', format: 'text', write: (one) => lines.push(one) });
  const options = { path: '/nowhere/at/all', stage: 'importing' } as const;
  new LoadProgress({ logger, clock }, { model: 'quick' }, options).end();
  const slow = new LoadProgress({ logger, clock }, { model: 'slow' }, options);
  await clock.pass(1000);
  await until(() => lines.length === 1);
  assert.match(lines[0] ?? '', /model=slow stage=importing seconds=1\n/);
  slow.end();
});

test('a size counts what lies beside a file under its name, and all of a folder', async (context) => {
  const files = { 'a.onnx': '12', 'a.onnx.data': '345', 'a.weights': '6', 'b.onnx': '7890' };
  const folder = filledFolder(context, files);
  assert.equal(await modelBytes(join(folder, 'a.onnx')), 6);
  mkdirSync(join(folder, 'variables'));
  writeFileSync(join(folder, 'variables', 'data'), '12345');
  assert.equal(await modelBytes(folder), 15);
});
