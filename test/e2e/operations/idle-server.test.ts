// Resources of a server that has just started: which of Node's modules its threads have loaded.
// More of them made it slower to start, and larger, unnoticed.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const PRELOAD = join(packageRoot(), 'test', 'e2e', 'support', 'loaded.cjs');
/** Modules of Node's own start, and those that read files and start threads. */
const EVERYWHERE = (
  'async_hooks buffer diagnostics_channel events fs fs/promises module os path perf_hooks ' +
  'querystring stream stream/promises string_decoder timers url util util/types v8 vm worker_threads'
).split(' ');
/**
 * Checksums of configurations; net for stdout's pipe and the check whether the port is free, which
 * loads dns and cluster with their dependencies.
 */
const MAIN = 'child_process cluster crypto dgram dns net'.split(' ');
/**
 * node:http serves requests that uWebSockets.js would refuse, on the same thread; with its
 * dependencies.
 */
const LISTENER = (
  'zlib net http https crypto tls dns dgram child_process cluster _http_agent _http_client ' +
  '_http_common _http_incoming _http_outgoing _http_server _tls_common _tls_wrap'
).split(' ');

interface Loaded {
  readonly thread: 'main' | 'listener';
  readonly modules: readonly string[];
}

describe('an idle server', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let asked: string;
  before(async () => {
    const repository = folders.repository('idle', ['half_plus_three']);
    asked = join(repository, '..', 'tell-what-is-loaded');
    server = await startServer(['--model-repository', repository, '--log-level', 'warn'], {
      NODE_OPTIONS: `--require ${PRELOAD}`,
      SERVAL_TEST_LOADED: asked,
    });
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('has loaded those modules of Node that it needs', async () => {
    writeFileSync(asked, '');
    const told = await until(
      'both threads to say what they have loaded',
      () => {
        const lines = server.stderr.split('\n').filter((line) => line.startsWith('{"thread"'));
        return lines.length === 2 && lines.map((line) => JSON.parse(line) as Loaded);
      },
      () => server.stderr,
    );
    const more = Object.fromEntries(
      told.map(({ thread, modules }) => {
        const may = new Set([...EVERYWHERE, ...(thread === 'main' ? MAIN : LISTENER)]);
        return [thread, modules.filter((name) => !may.has(name))];
      }),
    );
    assert.deepEqual(more, { main: [], listener: [] });
  });
});
