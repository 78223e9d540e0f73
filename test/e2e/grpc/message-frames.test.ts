// Invalid messages: flags that gRPC does not know, and requests that end inside a message. Over
// both listeners. Source: gRPC over HTTP2, "Requests".
import assert from 'node:assert/strict';
import { connect, type ClientHttp2Session } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { framed, framedCall, GRPC_STREAM, inferMessage } from '../../attacks/grpc-frames.js';
import { ModelFolders } from '../support/model-folders.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const OK = '0';
const INTERNAL = '13';
const PATHS = {
  'an inference': '/inference.GRPCInferenceService/ModelInfer',
  'a stream': GRPC_STREAM,
  'a document': '/inference.GRPCInferenceService/ServerMetadata',
};

describe('Invalid message frames', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let session: ClientHttp2Session;
  before(async () => {
    server = await startServer([folders.repository('frames', [MODEL])]);
    session = connect(`http://127.0.0.1:${server.grpcPort}`);
  });
  after(async () => {
    session.destroy();
    await server.stop();
    folders.remove();
  });

  const status = async (path: string, body: Buffer): Promise<string> => {
    const call = framedCall(session, body, { path });
    call.stream.resume();
    return call.status;
  };

  for (const [what, path] of Object.entries(PATHS)) {
    const message = (): Buffer =>
      what === 'a document' ? Buffer.alloc(0) : inferMessage(MODEL, 'x', [1], [1]);

    it(`${what}: of a flag that is neither 0 nor 1 ends with INTERNAL`, async () => {
      for (const flag of [2, 3, 128, 255]) {
        const body = framed(message());
        body[0] = flag;
        assert.equal(await status(path, body), INTERNAL, `${flag}`);
        assert.equal(await status(path, Buffer.concat([framed(message()), body])), INTERNAL);
        // The rest of its message is not awaited.
        assert.equal(await status(path, Buffer.from([flag, 0, 0, 1, 0, 1])), INTERNAL);
      }
    });

    it(`${what}: that is cut ends with INTERNAL`, async () => {
      const whole = framed(Buffer.concat([message(), Buffer.alloc(8)]));
      for (const bytes of [1, 4, 5, whole.length - 1]) {
        assert.equal(await status(path, whole.subarray(0, bytes)), INTERNAL, `${bytes} bytes`);
      }
    });

    it(`${what}: that is whole is answered`, async () => {
      assert.equal(await status(path, framed(message())), OK);
    });
  }
});
