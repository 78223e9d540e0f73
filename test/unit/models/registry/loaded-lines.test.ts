// The log lines of successful loads: one each while there are few, then their number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../../ts/base/logger.js';
import { LoadedLines } from '../../../../ts/models/registry/loaded-lines.js';
import { FakeClock } from './fakes.js';

function setup() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = createLogger({ level: 'info', format: 'text', write: (one) => lines.push(one) });
  return { lines, clock, loaded: new LoadedLines(logger, clock) };
}

test('a thousand loads are logged as fifty lines and their number', async () => {
  const { lines, clock, loaded } = setup();
  for (let i = 0; i < 1001; i += 1) loaded.add({ model: `m${i}` });
  assert.equal(lines.length, 50);
  assert.match(lines[49] ?? '', /INFO {2}model loaded model=m49\n/);
  await clock.pass(1000);
  assert.match(lines[50] ?? '', /INFO {2}more models loaded models=951 each="--log-level debug"\n/);
  loaded.add({ model: 'same-burst' });
  await clock.pass(1000);
  assert.match(lines[51] ?? '', /more models loaded models=1 /);
  await clock.pass(1000);
  loaded.add({ model: 'later' });
  assert.match(lines[52] ?? '', /model loaded model=later\n/);
});

test('models that load now and then are logged one by one, without a timer', async () => {
  const { lines, clock, loaded } = setup();
  for (let i = 0; i < 200; i += 1) {
    loaded.add({ model: `m${i}` });
    await clock.pass(100);
  }
  assert.deepEqual([lines.length, clock.nextMs], [200, undefined]);
});
