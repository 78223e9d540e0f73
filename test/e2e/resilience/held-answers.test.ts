// The memory budget on the addon's HTTP listener: requests are refused before their body is read,
// and a client that reads nothing of its response is cut.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { metric } from '../support/operating.js';
import { until } from '../support/polling.js';
import { RawConnection, errorOf, exchange, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MIB = 1 << 20;
const INFER = '/v2/models/identity_fp32/infer';
const TENSOR = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}]}';

describe('the memory budget of large answers', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const models = folders.repository('held-answers', ['identity_fp32']);
    const flags = ['--http-idle-seconds', '2'];
    server = await startServer([models, '--memory-limit', '96M', ...flags]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const used = (): Promise<number> => metric(server, 'serval_memory_used_bytes');

  for (const expects of [false, true]) {
    it(`refuses a body that has no room before any of it comes (Expect: ${expects})`, async () => {
      const connection = await RawConnection.open(server.httpPort);
      const headers = [`Content-Length: ${200 * MIB}`, 'Inference-Header-Content-Length: 100'];
      if (expects) headers.push('Expect: 100-continue');
      await connection.write(requestBytes('POST', INFER, '', headers));
      const response = await connection.response();
      assert.equal(response.status, 503);
      assert.match(errorOf(response), /memory/);
      connection.close();
    });
  }

  it('counts responses that clients do not read, and cuts them when memory is short', async () => {
    const bytes = Buffer.alloc(16 * MIB);
    const json = Buffer.from(
      JSON.stringify({
        inputs: [
          {
            name: 'input',
            datatype: 'FP32',
            shape: [1, bytes.length / 4],
            parameters: { binary_data_size: bytes.length },
          },
        ],
        parameters: { binary_data_output: true },
      }),
    );
    const unread = async (): Promise<RawConnection> => {
      const client = await RawConnection.open(server.httpPort);
      client.socket.pause();
      await client.write(
        requestBytes('POST', INFER, Buffer.concat([json, bytes]), [
          `Inference-Header-Content-Length: ${json.length}`,
        ]),
      );
      return client;
    };
    const clients = [await unread()];
    await until('its answer to be held', async () => (await used()) > 15 * MIB);
    assert.equal((await exchange(server.httpPort, 'POST', INFER, TENSOR)).status, 200);
    clients.push(await unread(), await unread());
    await until('their answers to be held', async () => (await used()) > 30 * MIB);
    await until('memory not to be short', async () => (await used()) < 32 * MIB);
    for (const client of clients) client.close();
  });
});
