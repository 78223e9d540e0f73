// Files that the server writes for itself: only their owner may read them, and links are refused.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { logFileWriter } from '../../../ts/base/log-file.js';
import { openFolder, openOwn, openOwnSync, realFolderAbove } from '../../../ts/base/own-file.js';
import { LogFiles } from '../../../ts/server/observe/request-log/log-files.js';
import { tempFolder } from '../temp-folder.js';

/** A folder with another user's file, and links to it and to another folder. */
function withLinks(context: TestContext) {
  const folder = tempFolder(context);
  for (const name of ['logs', 'logs/deep', 'elsewhere']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'victim'), 'mine');
  symlinkSync(join(folder, 'victim'), join(folder, 'link'));
  symlinkSync('/nowhere/file', join(folder, 'dangling'));
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'logs', 'out'));
  symlinkSync('deep', join(folder, 'logs', 'in'));
  return folder;
}

test('a link is refused and what it leads to stays', async (context) => {
  const folder = withLinks(context);
  for (const name of ['link', 'dangling']) {
    const path = join(folder, name);
    for (const how of ['append', 'replace'] as const) {
      await assert.rejects(openOwn(path, how), /is a link, expected a file or no file/);
      assert.throws(() => openOwnSync(path, how), /is a link, expected a file or no file/);
    }
    assert.throws(() => logFileWriter(path), /--log-file: cannot open .* is a link/);
  }
  assert.equal(readFileSync(join(folder, 'victim'), 'utf8'), 'mine');
});

test("a new file is its owner's alone; standard streams are opened as they are", async (context) => {
  const path = join(tempFolder(context), 'new');
  const before = process.umask(0);
  try {
    await (await openOwn(path, 'append')).close();
  } finally {
    process.umask(before);
  }
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const file = openOwnSync(path, 'append');
  await (await openOwn(`/proc/self/fd/${file}`, 'append')).close();
});

test('a folder is opened by its real path, inside the one that is given', async (context) => {
  const folder = withLinks(context);
  const logs = join(folder, 'logs');
  for (const name of ['', 'deep', 'in']) {
    const opened = await openFolder(join(logs, name), logs);
    assert.ok(statSync(opened.at('.')).isDirectory());
    await opened.close();
  }
  for (const name of ['out', '..', '../elsewhere']) {
    await assert.rejects(openFolder(join(logs, name), logs), /leads to .*, expected a folder in/);
  }
  await (await openFolder(join(logs, 'out'))).close();
  assert.equal(await realFolderAbove(join(logs, 'in', 'a', 'b')), join(logs, 'deep'));
});

test('logs of requests stay below their folder, also where a link comes later', async (context) => {
  const folder = withLinks(context);
  const logs = join(folder, 'logs');
  const options = { suffix: '.log', bytesMax: 1000, filesMax: 2, within: logs };
  const inside = new LogFiles({ ...options, prefix: join(logs, 'in', 'm') });
  await inside.append([Buffer.from('a')], () => undefined);
  assert.ok(inside.path?.startsWith(join(logs, 'in', 'm')));
  const outside = new LogFiles({ ...options, prefix: join(logs, 'out', 'm') });
  await assert.rejects(
    outside.append([Buffer.from('a')], () => undefined),
    /leads to .*elsewhere, expected a folder in/,
  );
});
