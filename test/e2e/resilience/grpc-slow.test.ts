// gRPC clients that stop halfway: silent ones, ones that send slowly or endlessly, ones that do not
// read. None of them blocks a thread, uses unbounded memory, or keeps a call beyond its deadline.
import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { framed, inferMessage, openCall } from '../../attacks/grpc-frames.js';
import { ModelFolders } from '../support/model-folders.js';
import { FLAG, FRAME, RawHttp2, callFields, frame, headerBlock } from '../support/raw-http2.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const LIVE = '/inference.GRPCInferenceService/ServerLive';
const INFER = '/inference.GRPCInferenceService/ModelInfer';
const STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';
const DEADLINE_EXCEEDED = '4';
/** The listeners allow a silent client ten seconds; a busy machine may need longer. */
const SILENT_MS = 40_000;
/** SETTINGS_INITIAL_WINDOW_SIZE 0: no DATA may be sent back. */
const CLOSED_WINDOW = Buffer.of(0, 4, 0, 0, 0, 0);
/** Far more than any window. */
const ENDLESS_BYTES = 256 << 20;

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

describe('slow gRPC clients', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let other: RawClient;
  before(async () => {
    const models = folders.repository('slow', ['identity_fp32']);
    server = await startServer([models]);
    other = new RawClient(server.grpcPort);
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
  const begin = (path: string, ...more: readonly (readonly [string, string])[]): Buffer =>
    frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(callFields(path, ...more)));

  it('a client that sends nothing is disconnected', async () => {
    const silent = await RawHttp2.open(server.grpcPort, { silent: true });
    const half = await RawHttp2.open(server.grpcPort, { silent: true });
    await half.send(Buffer.from('PRI * HTTP/2.0\r\n'));
    await isServed();
    await silent.ended(SILENT_MS);
    await half.ended(SILENT_MS);
  });

  it('half a message ends at its deadline', async (context) => {
    const session = connect(`http://127.0.0.1:${server.grpcPort}`);
    context.after(() => session.destroy());
    session.on('error', () => undefined);
    const message = framed(inferMessage('identity_fp32', 'input', [1], [1, 1]));
    const headers = { 'grpc-timeout': '300m' };
    const call = openCall(session, { path: INFER, headers });
    call.stream.write(message.subarray(0, 20));
    assert.equal(await call.status, DEADLINE_EXCEEDED);
    await isServed();
  });

  it('a stream is read only as far as its responses are read', async (context) => {
    const connection = await RawHttp2.open(server.grpcPort, { settings: CLOSED_WINDOW });
    context.after(() => connection.close());
    const message = framed(
      inferMessage('identity_fp32', 'input', new Array(1000).fill(1), [1, 1000]),
    );
    await connection.send(begin(STREAM));
    // The window that the server grants beyond the first 64 KiB, of the stream and of the
    // connection.
    const granted = (stream: number): number =>
      connection.frames
        .filter((one) => one.type === FRAME.windowUpdate && one.stream === stream)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 65_535);
    const first = (): number => {
      const settings = connection.frames.find(
        ({ type, flags: seen }) => type === FRAME.settings && seen === 0,
      );
      return settings === undefined ? 65_535 : initialWindow(settings.payload);
    };
    await connection.frame(FRAME.settings);
    let sent = 0;
    let quiet = 0;
    while (sent < ENDLESS_BYTES && quiet < 100) {
      const room = Math.min(granted(0), granted(1) - 65_535 + first()) - sent;
      if (room < message.length) {
        quiet += 1;
        await pause(10);
        continue;
      }
      quiet = 0;
      await connection.send(frame(FRAME.data, 0, 1, message));
      sent += message.length;
    }
    assert.ok(sent < ENDLESS_BYTES / 2, `${sent} bytes were taken`);
    await isServed();
  });
});

function initialWindow(settings: Buffer): number {
  for (let at = 0; at + 6 <= settings.length; at += 6) {
    if (settings.readUInt16BE(at) === 4) return settings.readUInt32BE(at + 2);
  }
  return 65_535;
}
