// The V2 protocol over REST, exact request to exact response, over the wire.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { exchange2 } from '../e2e/support/http2-exchange.js';
import { overListeners } from '../e2e/support/http-listeners.js';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { exchange, jsonOf } from '../e2e/support/raw-http.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { restTests } from './rest-case.js';
import { V2_BINARY_CASES, binaryTests } from './v2-binary-cases.js';
import { V2_DOCUMENT_CASES } from './v2-document-cases.js';
import { V2_EXTENSIONS } from './v2-extensions.js';
import { V2_GENERATE_CASES } from './v2-infer/generate-cases.js';
import { V2_REFUSED_CASES } from './v2-infer/refused-cases.js';
import { V2_TAKEN_CASES } from './v2-infer/taken-cases.js';

overListeners('V2 REST', (flags, kind) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    server = await startServer([folders.models, ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });
  const port = (): number => server.httpPort;
  const tables = {
    ...V2_TAKEN_CASES,
    ...V2_REFUSED_CASES,
    ...V2_BINARY_CASES,
    ...V2_DOCUMENT_CASES,
    ...V2_GENERATE_CASES,
  };
  for (const [name, cases] of Object.entries(tables)) {
    describe(name, () => restTests(port, cases));
    if (kind === 'native') {
      describe(`${name} over HTTP/2`, () => restTests(port, cases, exchange2));
    }
  }
  describe('binary answers', () => binaryTests(port));

  it('names itself and its extensions (seed)', async () => {
    const metadata = jsonOf(await exchange(port(), 'GET', '/v2')) as Record<string, unknown>;
    assert.deepEqual(Object.keys(metadata).sort(), ['extensions', 'name', 'version']);
    assert.equal(metadata['name'], 'serval');
    assert.deepEqual(metadata['extensions'], V2_EXTENSIONS);
  });
});
