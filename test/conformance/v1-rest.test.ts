// TensorFlow Serving's REST API, exact request to exact response, over the wire.
import { after, before, describe } from 'node:test';
import { exchange2 } from '../e2e/support/http2-exchange.js';
import { overListeners } from '../e2e/support/http-listeners.js';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { restTests } from './rest-case.js';
import { V1_DOCUMENT_CASES } from './v1-document-cases.js';
import { V1_ERROR_CASES } from './v1-error-cases.js';
import { V1_REQUEST_CASES } from './v1-request-cases.js';

overListeners('V1 REST', (flags, kind) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    server = await startServer([folders.models, ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });
  const tables = { ...V1_REQUEST_CASES, ...V1_ERROR_CASES, ...V1_DOCUMENT_CASES };
  for (const [name, cases] of Object.entries(tables)) {
    describe(name, () => restTests(() => server.httpPort, cases));
    if (kind !== 'native') continue;
    describe(`${name} over HTTP/2`, () => restTests(() => server.httpPort, cases, exchange2));
  }
});
