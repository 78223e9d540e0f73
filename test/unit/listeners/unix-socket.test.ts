// The path of a unix socket before a listener uses it: a dead server's socket is removed, anything
// else is kept and is an error.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeRoom } from '../../../ts/listeners/unix-socket.js';
import { tempFolder } from '../temp-folder.js';

test('nothing is there', async (context) => {
  await makeRoom(join(tempFolder(context), 'none'));
});

test('removes what a dead server left', async (context) => {
  const path = join(tempFolder(context), 'dead');
  const listen = `require('node:net').createServer().listen(${JSON.stringify(path)}, () =>
    process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', listen]);
  assert.ok(existsSync(path));
  await makeRoom(path);
  assert.equal(existsSync(path), false);
});

test('refuses what is in the way, which stays', async (context) => {
  const folder = tempFolder(context);
  const [file, link, live] = ['file', 'link', 'live'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(file, 'mine');
  symlinkSync(file, link);
  const server = createServer().listen(live);
  await new Promise((resolve) => server.once('listening', resolve));
  context.after(() => server.close());
  for (const path of [file, link]) {
    await assert.rejects(makeRoom(path), /an existing file that is not a socket/);
  }
  await assert.rejects(makeRoom(live), /another server answers on it/);
  assert.equal(readFileSync(file, 'utf8'), 'mine');
  assert.deepEqual(readdirSync(folder).sort(), ['file', 'link', 'live']);
});

test('refuses a path that is too long for the system', async (context) => {
  const path = join(tempFolder(context), 'x'.repeat(108));
  await assert.rejects(makeRoom(path), /the path has \d+ bytes, the system takes at most 107/);
});
