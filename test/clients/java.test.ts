// grpc-java with stubs made from our .proto files, against a real server: each case of
// test/clients/java is a test here.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer } from '../e2e/support/serval-process.js';
import { clientModels, findJava, runCases } from './support.js';

describe('grpc-java', () => {
  const folders = new ModelFolders();
  const { command, missing } = findJava();
  let models = '';
  before(() => {
    models = clientModels(folders);
  });
  after(() => folders.remove());

  it('its cases', { skip: missing }, async (context) => {
    const server = await startServer([models]);
    context.after(() => server.stop());
    await runCases(context, command('serval.Client', `127.0.0.1:${server.grpcPort}`));
    assert.ok(server.running, server.stderr);
  });
});
