// Writes test/fuzz/corpus/grpc_connection and grpc_text: calls of each form, frames of each type,
// and texts for the fuzzer to start from. Deterministic. The first bytes are the targets' choices
// (grpc_connection_fuzz.cc, grpc_text_fuzz.cc). Test time only.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync, gzipSync } from 'node:zlib';

const corpus = join(dirname(dirname(fileURLToPath(import.meta.url))), 'corpus');
const DATA = 0;
const HEADERS = 1;
const [END_STREAM, END_HEADERS, PADDED] = [1, 4, 8];

function frame(type, flags, stream, payload) {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

// Literals that are not indexed, shorter than 127 bytes.
function hpack(headers) {
  const text = (value) => [value.length, ...Buffer.from(value)];
  return Buffer.from(headers.flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

function message(content, packed = false) {
  const body = Buffer.from(content);
  const head = Buffer.from([packed ? 1 : 0, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

const headersOf = (path, more = []) =>
  hpack([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...more,
  ]);
const open = (path, more) => frame(HEADERS, END_HEADERS, 1, headersOf(path, more));
const call = (path, content, more) =>
  Buffer.concat([open(path, more), frame(DATA, END_STREAM, 1, message(content))]);
const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer).swap32();
const many = (count, bytes) => Buffer.concat(Array(count).fill(bytes));
const packedCall = (coding, content) =>
  Buffer.concat([
    open('/t.T/Echo', [
      ['grpc-encoding', coding],
      ['grpc-accept-encoding', 'identity,gzip,deflate'],
    ]),
    frame(DATA, END_STREAM, 1, Buffer.concat([message(content, true), message('plain')])),
  ]);

const half = headersOf('/t.T/Unary').subarray(0, 30);
const rest = headersOf('/t.T/Unary').subarray(30);
const text = 'x'.repeat(500);

// [first byte, bytes]
const connection = {
  unary: [1, call('/t.T/Unary', 'text', [['x-a-bin', 'AAAA']])],
  unary_in_pieces: [0xe1, call('/t.T/Unary', text)],
  unary_small_window: [3, call('/t.T/Unary', text)],
  status: [1, call('/t.T/Status', '9 a text')],
  deadline: [1, call('/t.T/Hang', 'm', [['grpc-timeout', '1n']])],
  later: [5, call('/t.T/Later', 'm')],
  push: [1, call('/t.T/Push', '20 100')],
  flood: [3, call('/t.T/Flood', '20 100')],
  early: [0x41, call('/t.T/Early', 'm')],
  unknown: [1, call('/t.T/None', 'm')],
  gzip: [1, packedCall('gzip', gzipSync(text))],
  deflate: [1, packedCall('deflate', deflateSync(text))],
  gzip_broken: [1, packedCall('gzip', gzipSync(text).subarray(0, 20))],
  paused: [5, Buffer.concat([open('/t.T/Paused'), many(10, frame(DATA, 0, 1, message('abc')))])],
  echo: [
    0x61,
    Buffer.concat([
      open('/t.T/Echo'),
      many(
        5,
        frame(DATA, PADDED, 1, Buffer.concat([Buffer.from([2]), message('a'), Buffer.alloc(2)])),
      ),
      frame(DATA, END_STREAM, 1, ''),
    ]),
  ],
  cancelled: [1, Buffer.concat([call('/t.T/Hang', 'm'), frame(3, 0, 1, u32(8))])],
  trailers: [
    1,
    Buffer.concat([
      open('/t.T/Collect'),
      frame(DATA, 0, 1, message('abc')),
      frame(HEADERS, END_HEADERS | END_STREAM, 1, hpack([['x', 'y']])),
    ]),
  ],
  continuation: [
    0x81,
    Buffer.concat([
      frame(HEADERS, 0, 1, half),
      frame(9, END_HEADERS, 1, rest),
      frame(DATA, END_STREAM, 1, message('m')),
    ]),
  ],
  frames: [
    1,
    Buffer.concat([
      frame(6, 0, 0, '12345678'),
      frame(2, 0, 1, Buffer.from([0, 0, 0, 0, 16])),
      frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 99])),
      frame(4, 1, 0, ''),
      frame(0xbe, 0xff, 3, 'unknown'),
      frame(16, 0, 0, Buffer.concat([u32(1), Buffer.from('u=1')])),
      frame(8, 0, 0, u32(1000)),
      frame(7, 0, 0, Buffer.concat([u32(0), u32(0)])),
    ]),
  ],
  http1: [0, Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
  preface: [
    0,
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, '')]),
  ],
};

const texts = {
  timeout: [9, 9, '100m'],
  timeout_long: [9, 9, '99999999H'],
  message: [20, 60, 'a status, 100% \u00e4\u20ac\ud83d\ude00'],
  base64: [9, 9, 'Zm9vYmE='],
  codings: [9, 9, 'identity, deflate ,gzip'],
  gzip: [7, 9, gzipSync(text)],
  deflate: [6, 9, deflateSync(text)],
  plain: [6, 9, text],
};

function write(name, seeds) {
  const folder = join(corpus, name);
  mkdirSync(folder, { recursive: true });
  for (const [seed, parts] of Object.entries(seeds)) {
    const bytes = parts.map((part) =>
      typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part),
    );
    writeFileSync(join(folder, seed), Buffer.concat(bytes));
  }
}

write('grpc_connection', connection);
write('grpc_text', texts);
