// --log-file: lines are appended, rotation is followed, a file that cannot be opened is an error.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { logFileWriter } from '../../../ts/base/log-file.js';
import { createLogger } from '../../../ts/base/logger.js';
import { filledFolder } from '../temp-folder.js';

test('lines of two writers are appended to what is there', (t) => {
  const file = join(filledFolder(t, { 'serval.log': 'before\n' }), 'serval.log');
  const [one, other] = [logFileWriter(file), logFileWriter(file)];
  one('a\n');
  other('b\n');
  one('c\n');
  assert.equal(readFileSync(file, 'utf8'), 'before\na\nb\nc\n');
});

test('reopens a moved or removed file within a second', (t) => {
  const folder = filledFolder(t, {});
  const file = join(folder, 'serval.log');
  let ms = 0;
  const write = logFileWriter(file, () => ms);
  write('a\n');
  renameSync(file, join(folder, 'serval.log.1'));
  write('b\n');
  ms += 1000;
  write('c\n');
  assert.equal(readFileSync(join(folder, 'serval.log.1'), 'utf8'), 'a\nb\n');
  assert.equal(readFileSync(file, 'utf8'), 'c\n');
  rmSync(folder, { recursive: true });
  ms += 1000;
  write('lost\n'); // its folder was removed: no error
});

test('a file that cannot be opened is an error that names it', (t) => {
  const file = join(filledFolder(t, {}), 'none/serval.log');
  assert.throws(
    () => createLogger({ level: 'info', format: 'text', file }),
    (error: unknown) =>
      error instanceof ServalError &&
      error.code === ErrorCode.InvalidArgument &&
      error.message.startsWith(`--log-file: cannot open ${file}: ENOENT`),
  );
});

test('a logger writes to its file', (t) => {
  const file = join(filledFolder(t, {}), 'serval.log');
  const logger = createLogger({ level: 'info', format: 'json', file, now: () => 0 });
  logger.info('hello', { what: 'x' });
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'info',
    message: 'hello',
    what: 'x',
  });
});
