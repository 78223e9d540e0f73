// Where the gRPC listener on grpc-js listens: TCP, unix sockets, and what is in the way.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { ErrorCode, ServalError } from '../../../../ts/errors.js';
import type { GrpcReply, GrpcUnaryCall } from '../../../../ts/transport/grpc-call.js';
import { GrpcListener } from '../../../../ts/transport/grpc-listener.js';
import { RawClient } from '../../protocols/raw-client.js';
import { tempFolder } from '../../temp-folder.js';

const HOST = '127.0.0.1';
const ECHO = '/test.Service/Echo';

const listenerOn = (unixPath: string): GrpcListener =>
  new GrpcListener({
    host: HOST,
    port: 0,
    unixPath,
    services: [
      {
        name: 'test.Service',
        unary: { Echo: (call: GrpcUnaryCall, reply: GrpcReply) => reply(null, call.request) },
        streams: {},
      },
    ],
  });

async function refused(unixPath: string, message: RegExp): Promise<void> {
  const listener = listenerOn(unixPath);
  await assert.rejects(
    listener.start(),
    (error) =>
      error instanceof ServalError &&
      error.code === ErrorCode.InvalidArgument &&
      error.message.startsWith(`gRPC cannot listen on unix:${unixPath}: `) &&
      message.test(error.message),
  );
  await listener.drain(0);
}

test('a unix socket answers beside TCP, and is gone afterwards', async (context) => {
  const path = join(tempFolder(context), 'grpc.sock');
  const listener = listenerOn(path);
  const port = await listener.start();
  for (const at of [port, `unix:${path}`]) {
    const client = new RawClient(at);
    assert.equal((await client.unary(ECHO, Buffer.from('x'))).message?.toString(), 'x');
    client.close();
  }
  await listener.drain(5);
  assert.equal(existsSync(path), false);
});

test('a socket that a dead server left is taken over', async (context) => {
  const path = join(tempFolder(context), 'grpc.sock');
  const listen = `require('node:net').createServer().listen(${JSON.stringify(path)}, () =>
    process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', listen]);
  assert.ok(existsSync(path));
  const listener = listenerOn(path);
  await listener.start();
  await listener.drain(0);
});

test('what is in the way is told', async (context) => {
  const folder = tempFolder(context);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await refused(file, /a file that is no socket is there/);
  const taken = join(folder, 'taken.sock');
  const server = createServer().listen(taken);
  await new Promise((resolve) => server.once('listening', resolve));
  await refused(taken, /another server answers on it/);
  server.close();
  await refused(join(folder, 'x'.repeat(120)), /bytes, the system takes at most 107/);
  await refused(join(folder, 'no', 'folder.sock'), /is its folder there\?/);
});
