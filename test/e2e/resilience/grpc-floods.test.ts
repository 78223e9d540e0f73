// Floods of frames that cost a client nothing, against the native gRPC listener: the connection
// gets ENHANCE_YOUR_CALM and is ended soon, others are served meanwhile, and no memory is left.
// Source: CVE-2023-44487, CVE-2024-27316, CVE-2025-8671, CVE-2019-9512, -9513, -9515, -9518.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  CODE,
  FLAG,
  FRAME,
  RawHttp2,
  callFields,
  frame,
  headerBlock,
  indexedField,
  uint32,
} from '../support/raw-http2.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const LIVE = '/inference.GRPCInferenceService/ServerLive';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
/** The growth of resident memory that is allowed afterwards. */
const LEFT_BYTES = 48 << 20;
/** The number of frames in one write. */
const AT_ONCE = 1000;

interface Flood {
  readonly name: string;
  /** The maximum number of frames: many more than are allowed. */
  readonly times: number;
  /** Bytes that precede the flood. */
  readonly first?: Buffer;
  /** The nth frame. */
  readonly nth: (n: number) => Buffer;
  /** The allowed error codes. */
  readonly codes: readonly number[];
}

const call = headerBlock(callFields(STREAM));
const opened = frame(FRAME.headers, FLAG.endHeaders, 1, call);
/** Client streams are odd. */
const id = (n: number): number => 2 * n + 1;
const begin = (n: number): Buffer => frame(FRAME.headers, FLAG.endHeaders, id(n), call);

/**
 * A call's headers with `times` references to 4 KB; `first`: adds the repeated entry to the table.
 */
function bomb(times: number, first: boolean): Buffer {
  const kept = headerBlock([['x-bomb', 'x'.repeat(3900)]], true);
  const repeated = Array.from({ length: times }, () => indexedField(62));
  return Buffer.concat([call, ...(first ? [kept] : []), ...repeated]);
}

const ARMED = bomb(4000, true);
const BOMB = bomb(4000, false);

const FLOODS: readonly Flood[] = [
  {
    name: 'calls that are reset at once (rapid reset)',
    times: 100_000,
    nth: (n) => Buffer.concat([begin(n), frame(FRAME.reset, 0, id(n), uint32(8))]),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'calls that make the server reset them',
    times: 100_000,
    nth: (n) => Buffer.concat([begin(n), frame(FRAME.windowUpdate, 0, id(n), uint32(0))]),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'a header block that never ends',
    times: 100_000,
    first: frame(FRAME.headers, 0, 1, call),
    nth: () => frame(FRAME.continuation, 0, 1, headerBlock([['x-more', 'x'.repeat(1000)]])),
    codes: [CODE.enhanceYourCalm, CODE.protocol],
  },
  {
    name: 'empty CONTINUATION frames',
    times: 100_000,
    first: frame(FRAME.headers, 0, 1, call),
    nth: () => frame(FRAME.continuation, 0, 1),
    codes: [CODE.enhanceYourCalm, CODE.protocol],
  },
  {
    name: 'SETTINGS',
    times: 20_000,
    nth: () => frame(FRAME.settings, 0, 0),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'pings without calls',
    times: 20_000,
    nth: () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'pings beside a call',
    times: 200_000,
    first: opened,
    nth: () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'empty DATA',
    times: 20_000,
    first: opened,
    nth: () => frame(FRAME.data, 0, 1),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'PRIORITY',
    times: 20_000,
    nth: (n) => frame(FRAME.priority, 0, id(n), Buffer.concat([uint32(0), Buffer.of(n % 256)])),
    codes: [CODE.enhanceYourCalm],
  },
  {
    name: 'header lists that unpack to megabytes',
    times: 100_000,
    nth: (n) =>
      frame(FRAME.headers, FLAG.endHeaders + FLAG.endStream, id(n), n === 0 ? ARMED : BOMB),
    codes: [CODE.enhanceYourCalm],
  },
];

describe('floods of frames', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let other: RawClient;
  before(async () => {
    const models = folders.repository('floods', ['half_plus_three']);
    server = await startServer([models, '--grpc-threads', '1']);
    other = new RawClient(server.grpcPort);
    await isServed();
  });
  after(async () => {
    other.close();
    await server.stop();
    folders.remove();
  });

  const isServed = async (): Promise<void> => {
    const { code, details } = await other.unary(LIVE, Buffer.alloc(0));
    assert.equal(code, 0, `${details}\n${server.stderr}`);
  };
  /** Its own memory, because its pages of code vary with the functions that are called. */
  const resident = (): number => {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
  };

  for (const { name, times, first, nth, codes } of FLOODS) {
    it(name, async (context) => {
      const connection = await RawHttp2.open(server.grpcPort);
      context.after(() => connection.close());
      const idle = resident();
      if (first !== undefined) await connection.send(first);
      let sent = 0;
      while (sent < times && !connection.closed) {
        const parts = Array.from({ length: AT_ONCE }, (_, i) => nth(sent + i));
        sent += AT_ONCE;
        await connection.send(...parts);
        if (sent % (10 * AT_ONCE) === 0) await isServed();
      }
      await connection.ended();
      assert.ok(sent < times, `${sent} were taken`);
      // A reset socket may lose what was sent before it.
      if (connection.goaway !== undefined) assert.ok(codes.includes(connection.goaway));
      await isServed();
      assert.ok(resident() - idle < LEFT_BYTES, `${resident() - idle} bytes more`);
    });
  }

  it('frames of no known type are passed over', async (context) => {
    const connection = await RawHttp2.open(server.grpcPort);
    context.after(() => connection.close());
    const unknown = Buffer.concat(Array.from({ length: AT_ONCE }, () => frame(0x42, 0, 0)));
    for (let i = 0; i < 20 && !connection.closed; i += 1) {
      await connection.send(unknown);
      await isServed();
    }
  });

  it('a header list over the limit costs its call, not the connection', async (context) => {
    const connection = await RawHttp2.open(server.grpcPort);
    context.after(() => connection.close());
    const flags = FLAG.endHeaders + FLAG.endStream;
    await connection.send(frame(FRAME.headers, flags, 1, bomb(30, true)));
    await connection.frame(FRAME.headers, 1);
    await connection.send(begin(1), frame(FRAME.data, FLAG.endStream, id(1)));
    await connection.frame(FRAME.headers, id(1));
    assert.equal(connection.goaway, undefined);
  });

  it('a connection that is not HTTP/2 gets an error or is closed', async (context) => {
    for (const text of [
      'GET / HTTP/1.1\r\nHost: test\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense that is no SETTINGS frame',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      '\0'.repeat(10_000),
    ]) {
      const connection = await RawHttp2.open(server.grpcPort, { silent: true });
      context.after(() => connection.close());
      await connection.send(Buffer.from(text, 'latin1'));
      await connection.ended();
    }
    await isServed();
  });
});
