// The attacks on memory, at full size: each makes an unguarded server hold gigabytes. Each settles
// when everything has begun, and returns a function that ends it. Test time only.
import { connect, type ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { RawConnection, exchange, requestBytes } from '../e2e/support/raw-http.js';
import { GRPC_STREAM, framed, framedCall, inferMessage } from './grpc-frames.js';

export const MIB = 1 << 20;
/** 10 MB of response. */
export const WIDE_ELEMENTS = 2_600_000;
/** 60 KB: always served, however little memory is left. */
export const NARROW_ELEMENTS = 15_000;

export const WIDE_BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[0.5]}]}';
export const SMALL_BODY =
  '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,2],"data":[1.5,-2]}]}';
export const INFER = '/v2/models/identity_fp32/infer';

/** The server under attack. */
export interface Target {
  readonly httpPort: number;
  readonly grpcPort: number;
}

export interface Attack {
  readonly name: string;
  readonly what: string;
  /** The server's address space, if the attack is about that. */
  readonly addressBytes?: number;
  /** The reason why more than the limit and 20 % is resident: reported, not a failure. */
  readonly known?: string;
  /** Settles when everything has begun; the result ends the attack. */
  readonly run: (target: Target, settled: () => Promise<void>) => Promise<() => void>;
}

const wideMessage = (model = 'wide'): Buffer => framed(inferMessage(model, 'x', [0.5], [1]));

function closedSession({ grpcPort }: Target): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${grpcPort}`, { settings: { initialWindowSize: 0 } });
  session.on('error', () => undefined);
  return session;
}

async function connections(count: number, port: number): Promise<readonly RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => RawConnection.open(port)));
}

function closeAll(clients: readonly RawConnection[]): () => void {
  return () => {
    for (const client of clients) client.close();
  };
}

/** Calls on connections with closed windows, each with several messages. */
function unreadCalls({
  sessions = 1,
  calls,
  messages = 1,
  model = 'wide',
}: {
  readonly sessions?: number;
  readonly calls: number;
  readonly messages?: number;
  readonly model?: string;
}): Attack['run'] {
  return async (target, settled) => {
    const message = wideMessage(model);
    const body = Buffer.concat(Array.from({ length: messages }, () => message));
    const open = Array.from({ length: sessions }, () => closedSession(target));
    for (const session of open) {
      for (let i = 0; i < calls; i += 1) {
        const { status } = framedCall(session, body, messages > 1 ? { path: GRPC_STREAM } : {});
        void status;
      }
    }
    await settled();
    return () => {
      for (const session of open) session.destroy();
    };
  };
}

/** The same body sent at the same time by `count` clients that read their responses. */
function bodies(count: number, body: Buffer): Attack['run'] {
  return async ({ httpPort }, settled) => {
    const clients = await connections(count, httpPort);
    const head = requestBytes('POST', INFER, '', [`Content-Length: ${body.length}`]);
    await Promise.all(
      clients.map(async (client) => {
        await client.write(head);
        await Promise.race([client.write(body), client.response().catch(() => undefined)]);
      }),
    );
    await settled();
    return closeAll(clients);
  };
}

/** JSON padded with blanks to that many bytes. */
const padded = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from(SMALL_BODY), Buffer.alloc(bytes - SMALL_BODY.length, ' ')]);

/** A sequence of gzip members, each with 64 MiB of zeros. */
function gzipOfZeros(bytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(64 * MIB), { level: 9 });
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / (64 * MIB)) }, () => member));
}

async function bombs({ httpPort }: Target, settled: () => Promise<void>): Promise<() => void> {
  const bomb = gzipSync(padded(99_000_000), { level: 9 });
  const answers = Promise.allSettled(
    Array.from({ length: 40 }, () =>
      exchange(httpPort, 'POST', INFER, bomb, ['Content-Encoding: gzip']),
    ),
  );
  await Promise.all([answers, settled()]);
  return () => undefined;
}

export const ATTACKS: readonly Attack[] = [
  {
    name: 'grpc-unary',
    what: 'one closed window, 400 calls for 10 MB',
    run: unreadCalls({ calls: 400 }),
  },
  {
    name: 'grpc-stream',
    what: 'one closed window, a stream of 1,000 requests for 10 MB',
    run: unreadCalls({ calls: 1, messages: 1000 }),
  },
  {
    name: 'grpc-streams',
    what: 'one closed window, 100 streams of 64 requests for 10 MB',
    run: unreadCalls({ calls: 100, messages: 64 }),
  },
  {
    name: 'grpc-connections',
    what: '20 closed windows, 20 calls for 10 MB each',
    run: unreadCalls({ sessions: 20, calls: 20 }),
  },
  {
    name: 'grpc-small',
    what: '10 closed windows, 25 streams each of 64 requests for 60 KB',
    known: 'blocks below 1 MiB stay with the allocator',
    run: unreadCalls({ sessions: 10, calls: 25, messages: 64, model: 'narrow' }),
  },
  {
    name: 'grpc-bomb',
    what: 'a gzip message of 2 MB that unpacks to 2 GB, four times',
    run: async ({ grpcPort }, settled) => {
      const bomb = framed(gzipOfZeros(2000 * MIB), true);
      const session = connect(`http://127.0.0.1:${grpcPort}`);
      session.on('error', () => undefined);
      const calls = Array.from({ length: 4 }, () =>
        framedCall(session, bomb, { headers: { 'grpc-encoding': 'gzip' } }),
      );
      await Promise.all(calls.map(({ status }) => status));
      await settled();
      return () => session.destroy();
    },
  },
  {
    name: 'http-unread',
    what: '200 clients that do not read 10 MB',
    run: async ({ httpPort }, settled) => {
      const clients = await connections(200, httpPort);
      for (const client of clients) {
        client.socket.pause();
        await client.write(requestBytes('POST', '/v2/models/wide/infer', WIDE_BODY));
      }
      await settled();
      return closeAll(clients);
    },
  },
  {
    name: 'http-pipelined',
    what: '200 clients that ask for 60 KB 200 times and read nothing',
    run: async ({ httpPort }, settled) => {
      const clients = await connections(200, httpPort);
      const one = requestBytes('POST', '/v2/models/narrow/infer', WIDE_BODY);
      const many = Buffer.concat(Array.from({ length: 200 }, () => one));
      for (const client of clients) {
        client.socket.pause();
        await client.write(many);
      }
      await settled();
      return closeAll(clients);
    },
  },
  {
    name: 'http-bodies',
    what: '64 bodies of 100 MB at once',
    run: (target, settled) => bodies(64, padded(100_000_000))(target, settled),
  },
  {
    name: 'http-tensors',
    what: '64 bodies of 100 MB of JSON numbers at once',
    run: (target, settled) => bodies(64, numbers(100_000_000))(target, settled),
  },
  { name: 'http-bombs', what: '40 gzip bodies of 100 KB that unpack to 99 MB', run: bombs },
  {
    name: 'http-bombs-4g',
    what: 'the same in 4 GB of address space',
    run: bombs,
    addressBytes: 4_000_000_000,
  },
];

/** A request with that many bytes of two-digit numbers. */
function numbers(bytes: number): Buffer {
  const count = 2 * Math.floor((bytes - 100) / 8);
  const head = `{"inputs":[{"name":"input","datatype":"FP32","shape":[${count / 2},2],"data":[`;
  const values = Buffer.alloc(4 * count - 1, '1.5,');
  return Buffer.concat([Buffer.from(head), values, Buffer.from(']}]}')]);
}
