// Triton's official Python clients, unmodified, against a real server: test/e2e/python/*.py. Every
// Python test is a test here.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders, slowModel } from './support/model-folders.js';
import { findPython, runPythonSuite } from './support/python-suites.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

// tritonclient.grpc's monkey patches and event loops do not share a process well: one each.
const SUITES = ['test_http', 'test_http_aio', 'test_grpc', 'test_grpc_aio', 'test_grpc_raw'];

describe('tritonclient', () => {
  const folders = new ModelFolders();
  const { python, missing } = findPython();
  let server: ServalProcess | undefined;
  before(async () => {
    if (missing !== '') return;
    folders.add(folders.models, 'slow_second', slowModel(1024, 12));
    server = await startServer([folders.models]);
  });
  after(async () => {
    await server?.stop();
    folders.remove();
  });

  for (const suite of SUITES) {
    it(suite, async (context) => {
      if (server === undefined) {
        context.skip(missing);
        return;
      }
      await runPythonSuite(context, python, suite, server);
      assert.ok(server.running, server.stderr);
    });
  }
});
