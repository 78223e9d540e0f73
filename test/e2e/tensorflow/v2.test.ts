// TensorFlow models over Predict Protocol V2, REST and gRPC. Test time only.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decode,
  encode,
  messageTypes,
  type Outcome,
  RawClient,
} from '../../unit/protocols/raw-client.js';
import { answered, get, HALF, model, post, started } from './support.js';

describe('TensorFlow models over Predict Protocol V2', () => {
  it('Predict Protocol V2 of the same model', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half', `--model_base_path=${path}`);
    const metadata = (await get(server, '/v2/models/half')) as {
      platform: string;
      inputs: { name: string; datatype: string; shape: number[] }[];
    };
    assert.equal(metadata.platform, 'tensorflow_savedmodel');
    assert.deepEqual(metadata.inputs, [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }]);
    const answer = answered(
      await post(
        server,
        '/v2/models/half/infer',
        JSON.stringify({
          inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 1], data: [1, 2] }],
        }),
      ),
    ) as {
      outputs: object[];
    };
    assert.deepEqual(answer.outputs, [
      { name: 'y', datatype: 'FP32', shape: [2, 1], data: [2.5, 3] },
    ]);
    const wrong = await post(
      server,
      '/v2/models/half/infer',
      JSON.stringify({
        inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }],
      }),
    );
    assert.equal(wrong.status, 400);
  });

  it('Predict Protocol V2 over gRPC', async (t) => {
    const path = model(t, HALF);
    if (path === undefined) return;
    const server = await started(t, '--model_name=half', `--model_base_path=${path}`);
    const types = messageTypes();
    const client = new RawClient(server.grpcPort);
    t.after(() => client.close());
    const infer = (datatype: string): Promise<Outcome> =>
      client.unary(
        '/inference.GRPCInferenceService/ModelInfer',
        encode(types, 'inference.ModelInferRequest', {
          model_name: 'half',
          inputs: [{ name: 'x', datatype, shape: [2, 1] }],
          raw_input_contents: [Buffer.from(Float32Array.from([1, 2]).buffer)],
        }),
      );
    const { code, details, message = Buffer.alloc(0) } = await infer('FP32');
    assert.equal(code, 0, details);
    const answer = decode(types, 'inference.ModelInferResponse', message) as {
      model_version: string;
      outputs: { name: string; shape: string[] }[];
      raw_output_contents: Uint8Array[];
    };
    assert.equal(answer.model_version, '123');
    assert.deepEqual(
      answer.outputs.map(({ name, shape }) => [name, shape]),
      [['y', ['2', '1']]],
    );
    const [raw = Buffer.alloc(0)] = answer.raw_output_contents;
    assert.deepEqual([...new Float32Array(Uint8Array.from(raw).buffer)], [2.5, 3]);
    assert.equal((await infer('INT32')).code, 3);
  });
});
