// Health during large requests and large responses, from and to clients as fast as the machine. Not
// timed: it counts the bytes that move between two responses of /health/live, whose client repeats
// its request at once.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ModelFolders } from '../support/model-folders.js';
import { RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MB = 1_000_000;
const CLIENTS = 16;
/**
 * The bytes between two responses: a few iterations of the listener's event loop, and the kernel's
 * buffers. A client that is read from until it stops sending would move its whole body.
 */
const BETWEEN_MAX = 100 * MB;

/**
 * Writes `body` in pieces on CLIENTS connections at once and reads the responses; adds the moved MB
 * to `moved[0]`. Runs in a separate thread. Ends with the number of responses with status 200.
 */
const SENDERS = `
const { parentPort, workerData: { port, head, json, bytes, clients, moved } } =
  require('node:worker_threads');
const { connect } = require('node:net');
const counts = new Int32Array(moved);
const piece = Buffer.alloc(1000000, ' ');
let left = clients, good = 0;
for (let i = 0; i < clients; i += 1) {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(head + json);
  let sent = json.length, got = 0, due = -1, text = '';
  const more = () => {
    if (sent >= bytes) return;
    const next = piece.subarray(0, Math.min(piece.length, bytes - sent));
    sent += next.length;
    socket.write(next, () => { Atomics.add(counts, 0, 1); more(); });
  };
  more();
  const end = () => {
    socket.destroy();
    left -= 1;
    if (left === 0) parentPort.postMessage(good);
  };
  socket.on('error', end);
  socket.on('data', (chunk) => {
    Atomics.add(counts, 1, chunk.length);
    got += chunk.length;
    if (due < 0) {
      text += chunk.toString('latin1');
      const at = text.indexOf('\\r\\n\\r\\n');
      if (at < 0) return;
      due = at + 4 + Number(/content-length: (\\d+)/i.exec(text)[1]);
      if (text.startsWith('HTTP/1.1 200 ')) good += 1;
    }
    if (got >= due) end();
  });
}`;

describe('health under large bodies', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    server = await startServer([
      folders.repository('bodies', ['identity_fp32', 'half_plus_three']),
      '--http-threads',
      '1',
      '--memory-limit',
      '4G',
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  /**
   * The most MB that moved between two responses of one health client, and how many of the bodies
   * were answered with 200.
   */
  const under = async (
    path: string,
    json: string,
    bytes: number,
    headers: readonly string[] = [],
  ): Promise<{ readonly most: number; readonly good: number }> => {
    const head = requestBytes('POST', path, '', [...headers, `Content-Length: ${bytes}`]);
    const moved = new SharedArrayBuffer(8);
    const counts = new Int32Array(moved);
    const probe = await RawConnection.open(server.httpPort);
    const plan = { port: server.httpPort, head: head.toString('latin1'), json, bytes, moved };
    const senders = new Worker(SENDERS, { eval: true, workerData: { ...plan, clients: CLIENTS } });
    let good = -1;
    senders.once('message', (count: number) => {
      good = count;
    });
    const now = (): number => Atomics.load(counts, 0) * MB + Atomics.load(counts, 1);
    let most = 0;
    for (let before = now(); good < 0; ) {
      await probe.write(requestBytes('GET', '/v2/health/live'));
      assert.equal((await probe.response()).status, 200);
      const after = now();
      most = Math.max(most, after - before);
      before = after;
    }
    probe.close();
    await senders.terminate();
    return { most, good };
  };

  it('answers between the pieces of JSON bodies', async () => {
    const json = '{"instances":[1.0]}';
    const { most, good } = await under('/v1/models/half_plus_three:predict', json, 60 * MB);
    assert.equal(good, CLIENTS);
    assert.ok(most < BETWEEN_MAX, `${most} bytes moved between two answers`);
  });

  it('answers between the pieces of binary bodies and answers', async () => {
    const bytes = 60 * MB;
    const json =
      '{"inputs":[{"name":"input","datatype":"FP32",' +
      `"shape":[${bytes / 8},2],"parameters":{"binary_data_size":${bytes}}}],` +
      '"parameters":{"binary_data_output":true}}';
    const { most, good } = await under(
      '/v2/models/identity_fp32/infer',
      json,
      json.length + bytes,
      [`Inference-Header-Content-Length: ${json.length}`],
    );
    assert.equal(good, CLIENTS);
    assert.ok(most < BETWEEN_MAX, `${most} bytes moved between two answers`);
  });
});
