// Numbers of API keys while the key file changes: a key keeps its number, and no number is given
// twice, because requests of a key that is gone may still run.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { digestOf } from '../../../../ts/access/keys.js';
import { createLogger } from '../../../../ts/base/logger.js';
import { parseServeConfig } from '../../../../ts/config/config.js';
import { ServerAccess } from '../../../../ts/server/start/access.js';
import { filledFolder } from '../../temp-folder.js';

const lines = (names: readonly string[]): string =>
  names.map((name) => `${name} sha256:${digestOf(name)} all\n`).join('');

test('a key keeps its number while it exists, and one that returns has a new one', async (context) => {
  const path = `${filledFolder(context, { keys: lines(['a', 'b']) })}/keys`;
  const config = await parseServeConfig(['models', '--api-key-file', path], '/here');
  assert.ok(config);
  const logger = createLogger({
    level: 'error',
    format: 'text',
    now: () => 0,
    write: (line) => assert.fail(line),
  });
  const access = new ServerAccess(config.access, logger);
  context.after(() => access.close());
  const numbers = (): Readonly<Record<string, number | undefined>> =>
    Object.fromEntries((access.policy.keys ?? []).map(({ name, caller }) => [name, caller]));
  const changeTo = (...names: readonly string[]): ReturnType<typeof numbers> => {
    writeFileSync(path, lines(names));
    access.reload();
    return numbers();
  };
  assert.deepEqual(numbers(), { a: 1, b: 2 });
  assert.deepEqual(changeTo('b', 'c'), { b: 2, c: 3 });
  assert.deepEqual(changeTo('d', 'c'), { d: 4, c: 3 });
  assert.deepEqual(changeTo('a', 'b', 'c'), { a: 5, b: 6, c: 3 });
  assert.deepEqual(changeTo('c'), { c: 3 });
});
