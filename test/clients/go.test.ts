// grpc-go with stubs made from our .proto files, against a real server: each case of
// test/clients/go/client is a test here.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer } from '../e2e/support/serval-process.js';
import { clientModels, findGo, runCases } from './support.js';

describe('grpc-go', () => {
  const folders = new ModelFolders();
  const { program, missing } = findGo();
  let models = '';
  before(() => {
    models = clientModels(folders);
  });
  after(() => folders.remove());

  it('its cases', { skip: missing }, async (context) => {
    const server = await startServer([models]);
    context.after(() => server.stop());
    await runCases(context, [program('serval'), `127.0.0.1:${server.grpcPort}`]);
    assert.ok(server.running, server.stderr);
  });
});
