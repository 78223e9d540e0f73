// A slow load on a terminal: a line with its progress is drawn in place, and the log continues
// above it; in a log file it is written as lines.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { endlessModel, FOREVER, ModelFolders } from '../support/model-folders.js';
import { ServalProcess } from '../support/serval-process.js';

const TERMINAL = join(packageRoot(), 'test', 'e2e', 'terminal', 'on_terminal.py');
/** A warm-up that never ends. */
const CONFIG = `model_warmup { name: "forever" batch_size: 1
  inputs { key: "trips" value { data_type: TYPE_INT64 dims: [ 1 ] input_data_file: "forever" } } }`;

describe('a load that takes long', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());
  const models = folders.repository('slow', ['half_plus_three']);
  folders.add(models, 'endless', endlessModel());
  writeFileSync(join(models, 'endless', 'config.pbtxt'), CONFIG);
  mkdirSync(join(models, 'endless', 'warmup'));
  writeFileSync(
    join(models, 'endless', 'warmup', 'forever'),
    Buffer.from(BigInt64Array.of(FOREVER).buffer),
  );
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  const command = ['serve', models, ...ports];

  it('is shown on one line of a terminal', async () => {
    const explicit = [...command, '--model-control-mode', 'explicit'];
    const server = new ServalProcess(explicit, {}, ['python3', TERMINAL]);
    try {
      await server.printed(({ stdout }) => stdout.includes('serval is ready'));
      const [, port] = /HTTP on 127\.0\.0\.1:(\d+)/.exec(server.stdout) ?? [];
      const control = (model: string, what: string): Promise<Response> => {
        const url = `http://127.0.0.1:${port}/v2/repository/models/${model}/${what}`;
        return fetch(url, { method: 'POST' });
      };
      const loading = control('endless', 'load');
      const drawn =
        /\r\u001b\[2Kloading endless version 1: 0\.0 of 0\.0 MB read, warming up, \d+ s/g;
      const isDrawn = (times: number) => (one: ServalProcess) =>
        (one.stdout.match(drawn) ?? []).length >= times;
      await server.printed(isDrawn(2));
      assert.equal((await control('half_plus_three', 'load')).status, 200);
      const before = (server.stdout.match(drawn) ?? []).length;
      await server.printed(isDrawn(before + 1));
      assert.equal((await control('endless', 'unload')).status, 200);
      await loading;
      server.signal('SIGTERM');
      assert.equal((await server.ended).code, 0);
      // Each line of the log begins where the drawn one was erased, and no part of that is left.
      const logged = server.stdout.split('\n').filter((line) => line.includes('Z INFO'));
      assert.ok(logged.some((line) => /model loaded model=half_plus_three/.test(line)));
      for (const line of logged) assert.match(line, /(^|\u001b\[2K)\d{4}-\d\d-\d\dT[^\u001b]*\r$/);
      assert.doesNotMatch(server.stdout, /loading model model=endless/);
      const rest = server.stdout.slice(server.stdout.lastIndexOf('\u001b[2K'));
      assert.doesNotMatch(rest, /loading endless/);
    } finally {
      await server.stop();
    }
  });

  it('is logged if there is no terminal', async () => {
    const server = new ServalProcess(command);
    try {
      const told = /loading model model=endless version=1 stage="warming up" mb=1 seconds=\d+/;
      await server.printed(({ stderr }) => told.test(stderr));
      assert.doesNotMatch(server.stdout + server.stderr, /\u001b\[2K/);
    } finally {
      await server.stop();
    }
  });
});
