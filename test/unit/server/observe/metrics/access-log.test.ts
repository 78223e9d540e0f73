// The access log's file: lines in order, rotation, disks that fail.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { createLogger } from '../../../../../ts/base/logger.js';
import { AccessLog } from '../../../../../ts/server/observe/metrics/access-log.js';
import { tempFolder } from '../../../temp-folder.js';

/** A log on `path`; `lines` are those that the engine holds. */
async function started(context: TestContext, path: string) {
  const engine = { lines: '', takes: 0 };
  const records: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'text',
    now: () => 0,
    write: (line) => records.push(line),
  });
  const take = (): Buffer => {
    const lines = Buffer.from(engine.lines);
    engine.lines = '';
    engine.takes += 1;
    return lines;
  };
  const log = await AccessLog.start({ path, take, logger });
  context.after(() => log.close());
  return { log, engine, records };
}

const read = (path: string): string => readFileSync(path, 'utf8');

describe('access log', () => {
  it('appends to what is there', async (context) => {
    const path = join(tempFolder(context), 'access.log');
    writeFileSync(path, 'before\n');
    const { log, engine } = await started(context, path);
    await log.flush();
    assert.equal(read(path), 'before\n');
    engine.lines = 'one\ntwo\n';
    await log.flush();
    engine.lines = 'three\n';
    await Promise.all([log.flush(), log.flush(), log.flush()]);
    assert.equal(read(path), 'before\none\ntwo\nthree\n');
  });

  it('writes by itself', async (context) => {
    const path = join(tempFolder(context), 'access.log');
    const { engine } = await started(context, path);
    engine.lines = 'one\n';
    // The log's timer does not keep the process alive, so another one must while the test waits.
    const alive = setInterval(() => undefined, 1000);
    while (read(path) === '') await new Promise(setImmediate);
    clearInterval(alive);
    assert.equal(read(path), 'one\n');
  });

  it('writes what is left when it is closed, and takes nothing more', async (context) => {
    const path = join(tempFolder(context), 'access.log');
    const { log, engine } = await started(context, path);
    const listeners = process.listenerCount('SIGHUP');
    engine.lines = 'last\n';
    await log.close();
    assert.equal(read(path), 'last\n');
    assert.equal(process.listenerCount('SIGHUP'), listeners - 1);
  });

  it('reopens its file on SIGHUP, and loses no line', async (context) => {
    const path = join(tempFolder(context), 'access.log');
    const { log, engine } = await started(context, path);
    engine.lines = 'old\n';
    await log.flush();
    renameSync(path, `${path}.1`);
    engine.lines = 'between\n';
    await log.flush();
    engine.lines = 'new\n';
    process.emit('SIGHUP');
    await log.flush();
    assert.deepEqual([read(`${path}.1`), read(path)], ['old\nbetween\n', 'new\n']);
  });

  it('says once that it cannot write, leaves the lines, and goes on', async (context) => {
    const folder = tempFolder(context);
    const path = join(folder, 'sub', 'access.log');
    mkdirSync(join(folder, 'sub'));
    const { log, engine, records } = await started(context, path);
    renameSync(join(folder, 'sub'), join(folder, 'gone'));
    engine.lines = 'kept\n';
    const { takes } = engine;
    await log.reopen();
    await log.flush();
    assert.deepEqual([engine.lines, engine.takes, records.length], ['kept\n', takes, 1]);
    assert.match(records[0] ?? '', /ERROR cannot write the access log path=\S+ reason="ENOENT/);
    renameSync(join(folder, 'gone'), join(folder, 'sub'));
    await log.flush();
    assert.equal(read(path), 'kept\n');
    renameSync(join(folder, 'sub'), join(folder, 'gone'));
    await log.reopen();
    assert.equal(records.length, 2);
  });

  it('cannot begin where there is no folder', async (context) => {
    const path = join(tempFolder(context), 'none', 'access.log');
    await assert.rejects(started(context, path), (error: unknown) => {
      assert.ok(error instanceof ServalError);
      assert.equal(error.code, ErrorCode.InvalidArgument);
      assert.match(error.message, /^cannot open the access log \S+: ENOENT/);
      return true;
    });
  });
});
