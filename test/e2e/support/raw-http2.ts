// HTTP/2 by hand over a TCP socket: any frames in any order, for bytes that a well-behaved client
// library refuses to send. Headers are sent as literals without indexing. Test time only. Source:
// RFC 9113 4.1, 6; RFC 7541 6.2.2.
import { connect, type Socket } from 'node:net';
import { until } from './polling.js';

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;
export const CODE = { none: 0, protocol: 1, enhanceYourCalm: 11 } as const;

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const HEAD_BYTES = 9;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
) {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK's integer with a prefix of `bits` bits in the first byte, after the bits of `first`. */
function prefixed(value: number, bits: number, first: number): Buffer {
  const full = 2 ** bits - 1;
  if (value < full) return Buffer.of(first + value);
  const bytes = [first + full];
  let rest = value - full;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.of(...bytes, rest);
}

/** A header block of these fields. `indexed`: each is kept in the server's table. */
export function headerBlock(
  fields: readonly (readonly [string, string])[],
  indexed = false,
): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, 'latin1');
    return Buffer.concat([prefixed(bytes.length, 7, 0), bytes]);
  };
  const first = Buffer.of(indexed ? 0x40 : 0);
  return Buffer.concat(fields.flatMap(([name, value]) => [first, text(name), text(value)]));
}

/** One byte for a field in the table: 62 is the latest one. */
export const indexedField = (index: number): Buffer => prefixed(index, 7, 0x80);

/** The headers of a gRPC call. */
export function callFields(
  path: string,
  ...more: readonly (readonly [string, string])[]
): readonly (readonly [string, string])[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'test'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...more,
  ];
}

export class RawHttp2 {
  readonly frames: Frame[] = [];
  closed = false;
  private received: Buffer = Buffer.alloc(0);

  private constructor(readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
    });
  }

  /** Connects; sends the preface and SETTINGS (`settings`: their payload) unless `silent`. */
  static async open(
    port: number,
    { silent = false, settings = Buffer.of() }: { silent?: boolean; settings?: Buffer } = {},
  ): Promise<RawHttp2> {
    const socket = connect({ host: '127.0.0.1', port });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const connection = new RawHttp2(socket);
    if (!silent) await connection.send(PREFACE, frame(FRAME.settings, 0, 0, settings));
    return connection;
  }

  /** Settles when the kernel has accepted the bytes, or the connection has ended. */
  send(...parts: readonly Buffer[]): Promise<void> {
    return new Promise((resolve) => {
      if (this.closed) resolve();
      this.socket.once('close', () => resolve());
      this.socket.write(Buffer.concat(parts), () => resolve());
    });
  }

  /** Resolves to the first frame of a type (and a stream), received already or later. */
  frame(type: number, stream?: number): Promise<Frame> {
    const found = (): Frame | undefined =>
      this.frames.find((one) => one.type === type && (stream ?? one.stream) === one.stream);
    return until(
      `frame ${type}`,
      found,
      () => `closed: ${this.closed}; ${JSON.stringify(this.frames.slice(-3))}`,
    );
  }

  /** The error code of the received GOAWAY; undefined without one. */
  get goaway(): number | undefined {
    return this.frames.findLast(({ type }) => type === FRAME.goaway)?.payload.readUInt32BE(4);
  }

  async ended(limitMs?: number): Promise<void> {
    await until(
      'the end of the connection',
      () => this.closed,
      () => `GOAWAY ${this.goaway}`,
      limitMs,
    );
  }

  close(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    while (this.received.length >= HEAD_BYTES) {
      const bytes = HEAD_BYTES + this.received.readUIntBE(0, 3);
      if (this.received.length < bytes) return;
      this.frames.push({
        type: this.received[3] ?? 0,
        flags: this.received[4] ?? 0,
        stream: this.received.readUInt32BE(5),
        payload: this.received.subarray(HEAD_BYTES, bytes),
      });
      this.received = this.received.subarray(bytes);
    }
  }
}
