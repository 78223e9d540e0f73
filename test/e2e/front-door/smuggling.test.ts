// Chunked bodies, large responses to them, and the bytes after them on their connection: bytes
// after a request must never be answered as another client's request. All other framing:
// framing/table.test.ts. Source: RFC 9112 11.2.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { PREDICT } from './framing/row.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { RawConnection, chunked, exchange, jsonOf, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

overListeners('HTTP smuggling', (flags, kind) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let port = 0;
  before(async () => {
    const models = folders.repository('smuggling', ['half_plus_three', 'identity_fp32']);
    server = await startServer([models, '--exec-mode', 'inline', ...flags]);
    port = server.httpPort;
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const live = async (): Promise<void> => {
    const response = await exchange(port, 'GET', '/v2/health/live');
    assert.deepEqual([response.status, jsonOf(response)], [200, { live: true }]);
  };

  it('ends a large answer to chunks too, whole', async () => {
    for (const count of [20_000, 2_000_000]) {
      const tensor = Buffer.from(Float32Array.from({ length: count }, (_, i) => i).buffer);
      const json = JSON.stringify({
        inputs: [
          {
            name: 'input',
            datatype: 'FP32',
            shape: [1, count],
            parameters: { binary_data_size: tensor.length },
          },
        ],
        outputs: [{ name: 'output', parameters: { binary_data: true } }],
      });
      const body = chunked(Buffer.concat([Buffer.from(json), tensor]), 1 << 20);
      const path = '/v2/models/identity_fp32/infer';
      const more = kind !== 'uws' ? ['Connection: close'] : [];
      const response = await fetchChunked(port, path, body, json.length, more);
      assert.equal(response.headers.get('connection'), 'close');
      assert.ok(response.body.subarray(-tensor.length).equals(tensor), `${count} numbers`);
    }
  });

  it('answers what came before, and not what follows chunks in a later packet', async () => {
    for (const close of [[], ['Connection: close']]) {
      const connection = await RawConnection.open(port);
      const headers = ['Transfer-Encoding: chunked', ...close];
      const body = chunked('{"instances":[1]}', 5);
      await connection.write(requestBytes('POST', PREDICT, body, headers));
      assert.deepEqual(jsonOf(await connection.response()), { predictions: [3.5] });
      if (kind !== 'uws' && close.length === 0) {
        connection.close();
        continue; // the connection may be kept
      }
      await connection.write(requestBytes('GET', '/v2'));
      assert.equal(await connection.rest(), '');
    }
  });

  it('reads nothing after a large response to a chunked request, and closes', async () => {
    if (kind !== 'uws') return;
    const connection = await RawConnection.open(port);
    const numbers = `[${Array.from({ length: 100_000 }, (_, i) => i / 7).join()}]`;
    const body = `{"instances":${numbers}}`;
    await connection.write(
      requestBytes('POST', PREDICT, chunked(body, 65_536), ['Transfer-Encoding: chunked']),
    );
    const response = await connection.response();
    assert.ok(response.body.length > 500_000);
    assert.equal(response.headers.get('connection'), 'close');
    await connection.write(requestBytes('GET', '/v2'));
    assert.equal(await connection.rest(), '');
  });

  it('answers a refused body of chunks, whether it ends or not', async () => {
    for (const ends of [true, false]) {
      const connection = await RawConnection.open(port);
      const body = chunked('{"instances":[1]}', 5);
      const path = '/v2/models/none/infer';
      const sent = ends ? body : body.subarray(0, -5);
      await connection.write(requestBytes('POST', path, sent, ['Transfer-Encoding: chunked']));
      assert.equal((await connection.response()).status, 404);
      connection.close();
    }
    await live();
  });
});

/** Sends a chunked body and reads the whole response, with either form of its length. */
async function fetchChunked(
  port: number,
  path: string,
  body: Buffer,
  jsonBytes: number,
  more: readonly string[],
) {
  const connection = await RawConnection.open(port);
  const length = `Inference-Header-Content-Length: ${jsonBytes}`;
  const head = ['Transfer-Encoding: chunked', length, ...more];
  await connection.write(requestBytes('POST', path, body, head));
  const text = await connection.rest();
  const end = text.indexOf('\r\n\r\n');
  const headers = new Map(
    text
      .slice(0, end)
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(': ', 2) as [string, string])
      .map(([name, value]) => [name.toLowerCase(), value]),
  );
  const rest = Buffer.from(text.slice(end + 4), 'latin1');
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  return { headers, body: isChunked ? unchunked(rest) : rest };
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    assert.ok(line > 0 && Number.isInteger(size), `a chunk at ${at}`);
    if (size === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
