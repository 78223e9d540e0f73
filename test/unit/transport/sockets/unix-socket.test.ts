// Unix sockets' files: for their owner whatever the umask, put where nothing is, removed only by
// who made them; on grpc-js.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GrpcListener } from '../../../../ts/transport/grpc-listener.js';
import { UnixSocketFile } from '../../../../ts/transport/sockets/unix-socket.js';
import { tempFolder } from '../../temp-folder.js';

interface Listening {
  readonly start: () => Promise<unknown>;
  readonly stop: () => Promise<unknown>;
}
type Make = (path: string, mode?: number) => Listening;

const LISTENERS: Readonly<Record<string, Make>> = {
  grpc: (unixPath, unixMode = 0o700) => {
    const where = { host: '127.0.0.1', port: 0, unixPath, unixMode, services: [] };
    const listener = new GrpcListener(where);
    return { start: () => listener.start(), stop: () => listener.drain(0) };
  },
};

async function socketServer(context: TestContext, path: string): Promise<Server> {
  const server = createServer().listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  context.after(() => server.close());
  return server;
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

for (const [kind, make] of Object.entries(LISTENERS)) {
  test(`${kind}: the socket is its owner's whatever the umask, or has the mode that is asked for`, async (context) => {
    const folder = tempFolder(context);
    for (const umask of [0, 0o077, 0o777]) {
      for (const mode of [0o700, 0o770]) {
        const path = join(folder, `${umask}-${mode}.sock`);
        const before = process.umask(umask);
        const listener = make(path, mode);
        try {
          await listener.start();
        } finally {
          process.umask(before);
        }
        assert.equal(modeOf(path).toString(8), mode.toString(8));
        await listener.stop();
        assert.deepEqual(readdirSync(folder), [], 'nothing is left');
      }
    }
  });

  test(`${kind}: what is in the way is refused and stays`, async (context) => {
    const folder = tempFolder(context);
    const [file, link, live] = ['file', 'link', 'live'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(file, 'mine');
    symlinkSync(file, link);
    await socketServer(context, live);
    for (const path of [file, link, live]) {
      const listener = make(path);
      await assert.rejects(listener.start(), /a file that is no socket is there|another server/);
      await listener.stop();
      assert.ok(existsSync(path), path);
    }
    assert.equal(readFileSync(file, 'utf8'), 'mine');
    assert.deepEqual(readdirSync(folder).sort(), ['file', 'link', 'live']);
  });

  test(`${kind}: another server's socket that took its place stays`, async (context) => {
    const folder = tempFolder(context);
    const path = join(folder, 'a.sock');
    const listener = make(path);
    await listener.start();
    await socketServer(context, join(folder, 'b.sock'));
    renameSync(join(folder, 'b.sock'), path);
    await listener.stop();
    assert.ok(statSync(path).isSocket());
  });

  test(`${kind}: a path of the longest length works`, async (context) => {
    const folder = tempFolder(context);
    const path = join(folder, 'x'.repeat(107 - Buffer.byteLength(folder) - 1));
    const listener = make(path);
    await listener.start();
    assert.ok(statSync(path).isSocket());
    await listener.stop();
  });
}

test('a socket that appears between the look and the bind is refused and stays', async (context) => {
  const folder = tempFolder(context);
  const path = join(folder, 'raced');
  const unix = new UnixSocketFile(path);
  const server = createServer().listen(unix.prepare());
  await new Promise((resolve) => server.once('listening', resolve));
  context.after(() => server.close());
  writeFileSync(path, 'theirs');
  chmodSync(path, 0o644);
  assert.throws(() => unix.publish(), /has just been taken by another/);
  assert.equal(readFileSync(path, 'utf8'), 'theirs');
  unix.remove();
  assert.deepEqual(readdirSync(folder), ['raced']);
});
