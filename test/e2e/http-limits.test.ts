// Excessive and broken input: bodies over the limit, compressed bombs, truncated and invalid
// compressed bodies, unknown codings, deep JSON, large heads. Source: v2-protocol.md 1.1, 10;
// tfserving.md 1.1; RFC 1950-1952, 9110.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as zlib from 'node:zlib';
import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { overListeners } from './support/http-listeners.js';
import { ModelFolders } from './support/model-folders.js';
import {
  RawConnection,
  chunked,
  errorOf,
  exchange,
  jsonOf,
  requestBytes,
} from './support/raw-http.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const PREDICT = '/v1/models/half_plus_three:predict';
const INFER = '/v2/models/identity_fp32/infer';
const LIMIT = 100_000;
const DEPTH = 20;
const TENSOR = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}]}';
const ROWS = '{"instances":[1.0,2.0,5.0]}';
const GZIP = ['Content-Encoding: gzip'];
const ZSTD = ['Content-Encoding: zstd'];
/** Functions that @types/node 20 does not declare. */
const zstd = zlib as unknown as Record<
  'zstdCompressSync' | 'zstdDecompressSync',
  (bytes: string | Buffer) => Buffer
>;
const DEFLATE = ['Content-Encoding: deflate'];

/** `bytes` with the byte at `at` (negative: from the end) changed. */
function spoiled(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const index = at < 0 ? copy.length + at : at;
  copy[index] = (copy[index] ?? 0) ^ 0x55;
  return copy;
}

/** A tensor request of exactly `bytes` bytes. */
function tensorOf(bytes: number): string {
  return TENSOR + ' '.repeat(bytes - TENSOR.length);
}

overListeners('HTTP limits', (flags, kind) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let port = 0;
  before(async () => {
    const models = folders.repository('limits', ['half_plus_three', 'identity_fp32']);
    server = await startServer([
      models,
      '--body-bytes-max',
      String(LIMIT),
      '--json-depth-max',
      String(DEPTH),
      ...flags,
    ]);
    port = server.httpPort;
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const post = (path: string, body: string | Uint8Array, headers: readonly string[] = []) =>
    exchange(port, 'POST', path, body, headers);
  const refused = async (
    body: string | Uint8Array,
    headers: readonly string[],
    status: number,
    text: string,
  ): Promise<void> => {
    for (const path of [INFER, PREDICT]) {
      const response = await post(path, body, headers);
      assert.deepEqual([response.status, errorOf(response)], [status, text]);
    }
  };
  const serves = async (): Promise<void> => {
    const response = await post(INFER, TENSOR);
    assert.equal(response.status, 200);
  };

  describe('for bodies', () => {
    it('accepts a body of exactly the limit, stated, chunked and compressed', async () => {
      const body = tensorOf(LIMIT);
      assert.equal((await post(INFER, body)).status, 200);
      const coded = await post(INFER, chunked(body, 9999), ['Transfer-Encoding: chunked']);
      assert.equal(coded.status, 200);
      assert.equal((await post(INFER, gzipSync(body), GZIP)).status, 200);
    });

    it('refuses BODY_TOO_LARGE by its Content-Length, before it is sent', async () => {
      for (const path of [INFER, PREDICT]) {
        const connection = await RawConnection.open(port);
        await connection.write(requestBytes('POST', path, '', ['Content-Length: 100001']));
        const response = await connection.response();
        assert.deepEqual(
          [response.status, errorOf(response)],
          [413, 'request body of 100001 bytes is over the limit of 100000 bytes'],
        );
        connection.close();
      }
      await serves();
    });

    it('lets a client send the refused body to its end and go on', async () => {
      const connection = await RawConnection.open(port);
      await connection.write(requestBytes('POST', INFER, tensorOf(LIMIT + 1)));
      assert.equal((await connection.response()).status, 413);
      await connection.write(requestBytes('POST', INFER, TENSOR));
      assert.equal((await connection.response()).status, 200);
      connection.close();
    });

    it('refuses a chunked body when it passes the limit', async () => {
      for (const path of [INFER, PREDICT]) {
        const connection = await RawConnection.open(port);
        const coded = chunked(tensorOf(LIMIT + 1), 9999);
        await connection.write(requestBytes('POST', path, coded, ['Transfer-Encoding: chunked']));
        const response = await connection.response();
        assert.deepEqual(
          [response.status, errorOf(response)],
          [413, 'request body is over the limit of 100000 bytes'],
        );
        await connection.write(requestBytes('POST', INFER, TENSOR));
        // uWebSockets.js reads nothing after chunks: docs/guides/security.md.
        if (kind === 'uws') assert.equal(await connection.rest(), '');
        else assert.equal((await connection.response()).status, 200);
        connection.close();
      }
    });

    it('refuses lengths that no machine has', async () => {
      for (const length of ['99999999999', '18446744073709551615', '9'.repeat(18)]) {
        const connection = await RawConnection.open(port);
        await connection.write(requestBytes('POST', INFER, '', [`Content-Length: ${length}`]));
        const response = await connection.response();
        assert.ok([400, 413].includes(response.status), `${length}: ${response.status}`);
        connection.close();
      }
      await serves();
    });
  });

  describe('for compressed bodies', () => {
    it('decompresses gzip (also of two members), zlib and bare deflate', async () => {
      const halves = [TENSOR.slice(0, 20), TENSOR.slice(20)].map((half) => gzipSync(half));
      for (const [body, headers] of [
        [gzipSync(TENSOR), GZIP],
        [gzipSync(TENSOR), ['Content-Encoding: X-GZip']],
        [Buffer.concat(halves), GZIP],
        [deflateSync(TENSOR), DEFLATE],
        [deflateRawSync(TENSOR), DEFLATE],
        [TENSOR, ['Content-Encoding: identity']],
      ] as const) {
        const response = await post(INFER, body, headers);
        assert.equal(response.status, 200, headers.join());
        const { outputs } = jsonOf(response) as { outputs: [{ data: unknown }] };
        assert.deepEqual(outputs[0].data, [1.5, -2]);
      }
      assert.deepEqual(jsonOf(await post(PREDICT, gzipSync(ROWS), GZIP)), {
        predictions: [3.5, 4, 5.5],
      });
    });

    it('decompresses zstd, and refuses truncated and too large bodies', async () => {
      const response = await post(INFER, zstd.zstdCompressSync(TENSOR), ZSTD);
      assert.equal(response.status, 200, response.body.toString());
      const { outputs } = jsonOf(response) as { outputs: [{ data: unknown }] };
      assert.deepEqual(outputs[0].data, [1.5, -2]);
      const rows = await post(PREDICT, zstd.zstdCompressSync(ROWS), ZSTD);
      assert.deepEqual(jsonOf(rows), { predictions: [3.5, 4, 5.5] });
      const coded = chunked(zstd.zstdCompressSync(TENSOR), 3);
      const inChunks = await post(INFER, coded, [...ZSTD, 'Transfer-Encoding: chunked']);
      assert.equal(inChunks.status, 200);
      await refused(
        zstd.zstdCompressSync(Buffer.alloc(64 << 20)),
        ZSTD,
        413,
        'request body is over the limit of 100000 bytes after decompression (zstd)',
      );
      for (const body of [zstd.zstdCompressSync(TENSOR).subarray(0, -9), Buffer.from(TENSOR)]) {
        const broken = await post(INFER, body, ZSTD);
        assert.equal(broken.status, 400);
        assert.match(errorOf(broken), /^request body is not valid zstd: /);
      }
      await serves();
    });

    it('decompresses a body that arrives in chunks', async () => {
      const coded = chunked(gzipSync(TENSOR), 3);
      const response = await post(INFER, coded, [...GZIP, 'Transfer-Encoding: chunked']);
      assert.equal(response.status, 200);
    });

    it('refuses a bomb: small when compressed, over the limit when decompressed', async () => {
      const bomb = gzipSync(Buffer.alloc(64 << 20));
      assert.ok(bomb.length < LIMIT);
      await refused(
        bomb,
        GZIP,
        413,
        'request body is over the limit of 100000 bytes after decompression (gzip)',
      );
      await refused(
        deflateSync(Buffer.alloc(64 << 20)),
        DEFLATE,
        413,
        'request body is over the limit of 100000 bytes after decompression (deflate)',
      );
      await serves();
    });

    it('refuses a compressed body that is itself over the limit', async () => {
      const noise = Buffer.alloc(LIMIT + 50).map((_, i) => (i * 7919) >> 3);
      const coded = chunked(noise, 9999);
      await refused(
        coded,
        [...GZIP, 'Transfer-Encoding: chunked'],
        413,
        'request body is over the limit of 100000 bytes',
      );
    });

    for (const [what, body, headers, reason] of [
      ['gzip with a wrong checksum', spoiled(gzipSync(TENSOR), -7), GZIP, 'incorrect data check'],
      ['gzip with a wrong length', spoiled(gzipSync(TENSOR), -1), GZIP, 'incorrect length check'],
      ['gzip cut in its trailer', gzipSync(TENSOR).subarray(0, -3), GZIP, 'unexpected end of file'],
      ['gzip cut in its data', gzipSync(TENSOR).subarray(0, -20), GZIP, 'unexpected end of file'],
      ['an empty gzip body', '', GZIP, 'unexpected end of file'],
      ['gzip that is none', TENSOR, GZIP, 'incorrect header check'],
      [
        'bytes behind gzip',
        Buffer.concat([gzipSync(TENSOR), Buffer.from('more')]),
        GZIP,
        'incorrect header check',
      ],
      [
        'bytes behind zlib',
        Buffer.concat([deflateSync(TENSOR), Buffer.from('more')]),
        DEFLATE,
        '4 bytes after its end',
      ],
      [
        'bytes behind bare deflate',
        Buffer.concat([deflateRawSync(TENSOR), Buffer.from('more')]),
        DEFLATE,
        '4 bytes after its end',
      ],
      [
        'zeros behind gzip',
        Buffer.concat([gzipSync(TENSOR), Buffer.alloc(5)]),
        GZIP,
        '5 bytes after its end',
      ],
      [
        'deflate with a wrong checksum',
        spoiled(deflateSync(TENSOR), -1),
        DEFLATE,
        'incorrect data check',
      ],
      [
        'deflate that is cut',
        deflateSync(TENSOR).subarray(0, -5),
        DEFLATE,
        'unexpected end of file',
      ],
    ] as const) {
      it(`refuses ${what} as MALFORMED_BODY`, async () => {
        const coding = headers === GZIP ? 'gzip' : 'deflate';
        await refused(body, headers, 400, `request body is not valid ${coding}: ${reason}`);
        await serves();
      });
    }

    it('refuses other codings as UNSUPPORTED_ENCODING and names its own', async () => {
      for (const coding of ['br', 'compress', 'gzip, gzip']) {
        const response = await post(INFER, TENSOR, [`Content-Encoding: ${coding}`]);
        assert.deepEqual(
          [response.status, errorOf(response)],
          [
            415,
            `Content-Encoding '${coding}' is not supported; ` +
              'expected gzip, deflate, zstd or identity',
          ],
        );
        assert.equal(response.headers.get('accept-encoding'), 'gzip, deflate, zstd');
      }
    });
  });

  describe('for responses', () => {
    it("compresses with the client's preferred coding, and only on request", async () => {
      const plain = await post(INFER, TENSOR);
      assert.equal(plain.headers.get('content-encoding'), undefined);
      for (const [header, coding] of [
        ['gzip', 'gzip'],
        ['deflate', 'deflate'],
        ['deflate, gzip', 'deflate'],
        ['deflate;q=0.5, gzip;q=0.8', 'gzip'],
        ['*', 'gzip'],
        ['GZIP', 'gzip'],
        ['zstd', 'zstd'],
        ['gzip, deflate, br, zstd', 'gzip'],
        ['gzip;q=0.5, zstd', 'zstd'],
        ['gzip;q=0, deflate;q=0', undefined],
        ['br', undefined],
        ['identity', undefined],
      ] as const) {
        const response = await post(INFER, TENSOR, [`Accept-Encoding: ${header}`]);
        assert.equal(response.headers.get('content-encoding'), coding, header);
        let { body } = response;
        if (coding === 'gzip') body = gunzipSync(body);
        else if (coding === 'deflate') body = inflateSync(body);
        else if (coding === 'zstd') body = zstd.zstdDecompressSync(body);
        assert.ok(body.equals(plain.body), header);
        assert.equal(response.headers.get('content-type'), 'application/json');
      }
    });

    it('does not compress errors', async () => {
      const response = await post(INFER, '{', ['Accept-Encoding: gzip']);
      assert.equal(response.headers.get('content-encoding'), undefined);
      assert.equal(response.status, 400);
      errorOf(response);
    });
  });

  describe('for nesting', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    const deep = (depth: number) => TENSOR.replace('[1.5,-2]', `[1,${nested(depth - 1)}]`);

    it('applies in V2 to data and to ignored members', async () => {
      for (const body of [deep(10_000), `{"x":${nested(10_000)},${TENSOR.slice(1)}`]) {
        const response = await post(INFER, body);
        assert.equal(response.status, 400);
        assert.match(errorOf(response), /nest|deep|depth/i);
      }
      await serves();
    });

    it('accepts the depth that --json-depth-max sets and refuses one level more', async () => {
      const bodies = [deep(DEPTH), deep(DEPTH + 1)];
      const answers = await Promise.all(bodies.map((body) => post(INFER, body)));
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 400],
      );
    });

    it('kills nothing in V1, at any depth', async () => {
      for (const body of [
        `{"instances":${nested(45_000)}}`,
        `{"x":${nested(45_000)}}`,
        `{"instances":${'['.repeat(90_000)}`,
        '{"a":'.repeat(19_000),
      ]) {
        const response = await post(PREDICT, body);
        assert.equal(response.status, 400);
        assert.ok(errorOf(response).length < 1000);
      }
      assert.deepEqual(jsonOf(await post(PREDICT, ROWS)), { predictions: [3.5, 4, 5.5] });
    });
  });

  it('accepts 12 KB of headers and refuses 40 KB', async () => {
    const header = (bytes: number) => [`X-Token: ${'t'.repeat(bytes)}`];
    assert.equal((await post(INFER, TENSOR, header(12_000))).status, 200);
    const connection = await RawConnection.open(port);
    await connection.write(requestBytes('POST', INFER, TENSOR, header(40_000)));
    assert.match(await connection.rest(), /^HTTP\/1\.1 431 /);
    await serves();
  });
});
