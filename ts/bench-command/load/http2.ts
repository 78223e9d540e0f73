// HTTP/2 as much as a load needs: heads of frames, and how a connection begins. Pure; the load's
// threads. Source: RFC 9113 4.1, 6; RFC 7541 5, 6.

export const FRAME_HEAD_BYTES = 9;
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const Frame = {
  Data: 0,
  Headers: 1,
  Reset: 3,
  Settings: 4,
  Ping: 6,
  GoAway: 7,
  WindowUpdate: 8,
  Continuation: 9,
} as const;

export const Flag = { Ack: 1, EndStream: 1, EndHeaders: 4, Padded: 8, Priority: 32 } as const;

export const Setting = { TableSize: 1, MaxStreams: 3, InitialWindow: 4, MaxFrame: 5 } as const;
const PUSH = 2;

export const WINDOW_MAX = 0x7fffffff;
/** What each side may send before it hears more. */
export const WINDOW_FIRST = 65_535;
export const FRAME_BYTES_FIRST = 16_384;

/** A frame's head of `length` bytes. */
export function frameHead(type: number, flags: number, stream: number, length: number): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return head;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => bytes.writeUInt32BE(value, i * 4));
  return bytes;
}

export const windowUpdate = (stream: number, bytes: number): Buffer =>
  Buffer.concat([frameHead(Frame.WindowUpdate, 0, stream, 4), words(bytes)]);

/** What a connection begins with: no table of headers, windows as wide as they go. */
export function opening(): Buffer {
  const settings = [
    [Setting.TableSize, 0],
    [PUSH, 0],
    [Setting.InitialWindow, WINDOW_MAX],
  ] as const;
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([name, value], i) => {
    payload.writeUInt16BE(name, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return Buffer.concat([
    PREFACE,
    frameHead(Frame.Settings, 0, 0, payload.length),
    payload,
    windowUpdate(0, WINDOW_MAX - WINDOW_FIRST),
  ]);
}

/** Literals that nobody keeps. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  );
}

function literal(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const length: number[] = [];
  if (bytes.length < 127) {
    length.push(bytes.length);
  } else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export const PREFIX_BYTES = 5;

/** A message with gRPC's prefix: not packed, its length. */
export function prefixed(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}
