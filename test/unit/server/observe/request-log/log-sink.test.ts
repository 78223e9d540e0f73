// A log that cannot be written: messages, counters, and retries.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createLogger } from '../../../../../ts/base/logger.js';
import { LogSink, type FormOf } from '../../../../../ts/server/observe/request-log/log-sink.js';
import { tempFolder } from '../../../temp-folder.js';
import { logged } from './support.js';

const FORM: FormOf = ({ id }) => ({ kind: 'record', bytes: Buffer.from(`${id};`) });

function made(context: TestContext) {
  const folder = join(tempFolder(context), 'logs');
  const clock = { ms: 0 };
  const lines: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'text',
    now: () => 0,
    write: (line) => lines.push(line),
  });
  const sink = new LogSink({
    files: { prefix: join(folder, 'm'), suffix: '.log', bytesMax: 1000, filesMax: 3 },
    logger,
    now: () => clock.ms,
    retryMs: 1000,
  });
  const log = (form: FormOf, ...ids: readonly string[]): Promise<void> =>
    sink.log(ids.map((id) => ({ request: logged({ id }), form })));
  return { folder, clock, lines, sink, log };
}

describe('a request log', () => {
  it('that cannot be written stops, says so once, and goes on later', async (context) => {
    const { folder, clock, lines, sink, log } = made(context);
    await log(FORM, 'a', 'b');
    assert.equal(sink.isStopped, true);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /the request log is paused.*ENOENT/);
    // Too early for a retry.
    mkdirSync(folder);
    clock.ms = 999;
    await log(FORM, 'c');
    assert.deepEqual(readdirSync(folder), []);
    assert.deepEqual(sink.takeCounts(), { written: 0, unwritten: 3, formless: 0 });
    clock.ms = 1000;
    await log(FORM, 'd', 'e');
    assert.equal(sink.isStopped, false);
    assert.equal(lines.length, 2);
    assert.match(lines[1] ?? '', /writing of the request log resumed/);
    assert.deepEqual(sink.takeCounts(), { written: 2, unwritten: 0, formless: 0 });
    assert.equal(readFileSync(join(folder, readdirSync(folder)[0] ?? ''), 'utf8'), 'd;e;');
  });

  it('tells a second failure no second time', async (context) => {
    const { clock, lines, log } = made(context);
    await log(FORM, 'a');
    clock.ms = 5000;
    await log(FORM, 'b');
    assert.equal(lines.length, 1);
  });

  it('leaves out what has no form, once for each model in words', async (context) => {
    const { folder, lines, sink, log } = made(context);
    mkdirSync(folder);
    await log(() => ({ kind: 'fault', reason: 'it is a cat' }), 'a', 'b');
    await log(() => ({ kind: 'none' }), 'c');
    assert.deepEqual(sink.takeCounts(), { written: 0, unwritten: 0, formless: 2 });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /it is a cat/);
    assert.deepEqual(readdirSync(folder), []);
  });
});
