// The V2 protocol over gRPC, exact message to exact message or status, over the wire. Source of
// each case: v2-protocol.md 1.4 and 10, unless it names another; KServe's V2 inference protocol.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import {
  RawClient,
  decode,
  encode,
  messageTypes,
  type Outcome,
} from '../unit/protocols/raw-client.js';
import { V2_EXTENSIONS } from './v2-extensions.js';
import { GRPC_REFUSED_CASES, GRPC_TAKEN_CASES } from './v2-grpc-cases.js';

const SERVICE = '/inference.GRPCInferenceService/';
const MESSAGE_BYTES_MAX = 100_000;
const types = messageTypes();
const request = (name: string, value: object): Buffer => encode(types, `inference.${name}`, value);

describe('V2 gRPC', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let client: RawClient;
  before(async () => {
    server = await startServer([
      folders.models,
      '--grpc-message-bytes-max',
      String(MESSAGE_BYTES_MAX),
    ]);
    client = new RawClient(server.grpcPort);
  });
  after(async () => {
    client.close();
    await server.stop();
    folders.remove();
  });

  const call = (method: string, message: Buffer): Promise<Outcome> =>
    client.unary(`${SERVICE}${method}`, message);
  /** The response of a call as plain values. */
  const answer = async (method: string, asked: object = {}): Promise<Record<string, unknown>> => {
    const { code, details, message } = await call(method, request(`${method}Request`, asked));
    assert.equal(code, 0, details);
    return decode(types, `inference.${method}Response`, message ?? Buffer.alloc(0)) as Record<
      string,
      unknown
    >;
  };
  const refuses = async (method: string, asked: object, code: number, details: string) => {
    const outcome = await call(method, request(`${method}Request`, asked));
    assert.deepEqual([outcome.code, outcome.details], [code, details]);
  };

  it('is live and ready', async () => {
    assert.deepEqual(await answer('ServerLive'), { live: true });
    assert.deepEqual(await answer('ServerReady'), { ready: true });
    for (const version of ['', '123', '0123']) {
      const asked = { name: 'half_plus_three', version };
      assert.deepEqual(await answer('ModelReady', asked), { ready: true });
    }
  });

  it('describes itself', async () => {
    const { name, version, extensions } = await answer('ServerMetadata');
    assert.equal(name, 'serval');
    assert.match(String(version), /^\d+\.\d+\.\d+/);
    assert.deepEqual(extensions, V2_EXTENSIONS);
  });

  it('describes models', async () => {
    const tensor = (name: string, datatype: string, ...shape: string[]) => ({
      name,
      datatype,
      shape,
    });
    const metadata = await answer('ModelMetadata', { name: 'multi_output' });
    assert.deepEqual(metadata['inputs'], [tensor('x', 'FP32', '-1', '4')]);
    assert.deepEqual(metadata['outputs'], [
      tensor('doubled', 'FP32', '-1', '4'),
      tensor('whole', 'INT64', '-1', '4'),
      tensor('positive', 'BOOL', '-1', '4'),
    ]);
    assert.deepEqual(
      [metadata['name'], metadata['versions'], metadata['platform']],
      ['multi_output', ['1'], 'onnxruntime_onnx'],
    );
    const scalar = await answer('ModelMetadata', { name: 'scalar', version: '1' });
    assert.deepEqual(scalar['inputs'], [tensor('x', 'FP32')]);
  });

  it('does not know other models and versions', async () => {
    await refuses(
      'ModelMetadata',
      { name: 'nope' },
      5,
      "Request for unknown model: 'nope' is not found",
    );
    await refuses(
      'ModelMetadata',
      { name: 'versions', version: '2' },
      5,
      "Request for unknown model: 'versions' version 2 is not found",
    );
    for (const asked of [{ name: 'nope' }, { name: 'versions', version: '2' }]) {
      assert.deepEqual(await answer('ModelReady', asked), { ready: false });
    }
    for (const method of ['ModelReady', 'ModelMetadata']) {
      await refuses(
        method,
        { name: 'versions', version: 'x' },
        5,
        "Request for unknown version of model 'versions': expected a whole number from 0 to " +
          "9223372036854775807, got 'x'",
      );
    }
  });

  describe('inference', () => {
    for (const { name, asked, outputs, raw } of GRPC_TAKEN_CASES) {
      it(name, async () => {
        const got = await answer('ModelInfer', asked);
        assert.deepEqual(
          (got['outputs'] as { name: string; datatype: string; shape: string[] }[]).map((one) => [
            one.name,
            one.datatype,
            one.shape.map(Number),
          ]),
          outputs,
        );
        const bytes = (got['raw_output_contents'] as Buffer[]).map((one) => one.toString('hex'));
        assert.deepEqual(
          bytes,
          raw.map((one) => one.toString('hex')),
        );
        assert.equal(got['id'], (asked as { id?: string }).id ?? '');
      });
    }
  });

  describe('refusals', () => {
    for (const { name, asked, code, details } of GRPC_REFUSED_CASES) {
      it(`${name}, in a call and in a stream that goes on`, async () => {
        await refuses('ModelInfer', asked, code, details);
        const stream = client.stream(`${SERVICE}ModelStreamInfer`);
        stream.call.write(request('ModelInferRequest', { ...asked, id: 'a' }));
        const good = { model_name: 'constant', id: 'b' };
        stream.call.write(request('ModelInferRequest', good));
        const replies = [await stream.reply(0), await stream.reply(1)].map(
          (message) =>
            decode(types, 'inference.ModelStreamInferResponse', message) as {
              error_message: string;
              infer_response: { id: string } | null;
            },
        );
        assert.deepEqual(
          replies.map((one) => [one.error_message, one.infer_response?.id]),
          [
            [details, 'a'],
            ['', 'b'],
          ],
        );
        stream.call.end();
        assert.equal((await stream.ended).code, 0);
      });
    }

    it('broken messages are INVALID_ARGUMENT with the byte', async () => {
      for (const [hex, details] of [
        ['ff', /^malformed ModelInferRequest: .* at byte \d+/],
        ['0a05', /^malformed ModelInferRequest: .* at byte \d+/],
      ] as const) {
        const outcome = await call('ModelInfer', Buffer.from(hex, 'hex'));
        assert.equal(outcome.code, 3);
        assert.match(outcome.details, details);
      }
    });

    it('messages over the limit are RESOURCE_EXHAUSTED, and the next one is served', async () => {
      const fits = {
        model_name: 'identity_fp32',
        inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 24_000] }],
        raw_input_contents: [Buffer.alloc(96_000)],
      };
      assert.equal((await call('ModelInfer', request('ModelInferRequest', fits))).code, 0);
      const over = { ...fits, raw_input_contents: [Buffer.alloc(MESSAGE_BYTES_MAX)] };
      const outcome = await call('ModelInfer', request('ModelInferRequest', over));
      assert.equal(outcome.code, 8);
      assert.match(outcome.details, /100\d\d\d.*100000/);
      assert.equal((await call('ModelInfer', request('ModelInferRequest', fits))).code, 0);
    });

    it('unknown methods are UNIMPLEMENTED', async () => {
      for (const path of ['Nope']) {
        const outcome = await call(path, Buffer.alloc(0));
        assert.equal(outcome.code, 12);
        assert.ok(outcome.details.includes(path), outcome.details);
      }
    });
  });
});
