// A server keeps serving when its log has no reader any more; an uncaught error ends it with a line
// and exit code 1, never with an abort.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../../ts/base/package-files.js';
import { ModelFolders } from '../support/model-folders.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[2]}]}';
const PRELOAD = pathToFileURL(join(packageRoot(), 'test', 'e2e', 'support', 'uncaught.mjs')).href;

describe('lost output', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('lost-output', ['half_plus_three']);
  });
  after(() => folders.remove());

  const answers = async (port: number): Promise<void> => {
    const path = '/v2/models/half_plus_three/infer';
    assert.equal((await exchange(port, 'POST', path, BODY)).status, 200);
  };

  it('outlives the readers of stdout and stderr', async (context) => {
    const server = await startServer([models, '--log-level', 'debug', '--access-log', '-']);
    context.after(() => server.stop());
    server.child.stdout?.destroy();
    server.child.stderr?.destroy();
    for (let round = 0; round < 3; round += 1) {
      server.signal('SIGHUP'); // logs on the main thread
      await answers(server.httpPort); // and the access log has a line
      const index = await exchange(server.httpPort, 'POST', '/v2/repository/index', '{}');
      assert.equal(index.status, 200);
    }
    assert.ok(server.running);
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  for (const thread of ['main', 'listener']) {
    it(`exits 1 with a line when the ${thread} thread throws`, async (context) => {
      const server = await startServer([models], {
        NODE_OPTIONS: `--import ${PRELOAD}`,
        SERVAL_TEST_UNCAUGHT: thread,
      });
      context.after(() => server.stop());
      await answers(server.httpPort);
      server.signal('SIGUSR2');
      assert.deepEqual(await server.ended, { code: 1, signal: null });
      assert.match(server.stderr, /an error that nobody caught: exiting/);
      assert.match(server.stderr, /thrown by the test/);
    });
  }
});
