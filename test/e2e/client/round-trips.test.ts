// The client of the package against a real server: every datatype over REST (binary and JSON),
// gRPC and TensorFlow's Predict, and the calls of control and metadata.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ClientError, GrpcClient, V1Client, V2Client } from '../../../ts/client/client.js';
import type { InferOptions, InferResult, Inputs } from '../../../ts/client/core/types.js';
import { ModelFolders } from '../support/model-folders.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { NOT_UTF8, SHAPE, TEXTS, VALUES, bytesOf, modelOf } from './values.js';

const DATATYPES = Object.keys(VALUES);
const MODELS = [
  'half_plus_three',
  'add_sub',
  'scalar',
  'identity_bytes',
  ...DATATYPES.map(modelOf),
];

type Infer = (model: string, inputs: Inputs, options?: InferOptions) => Promise<InferResult>;

describe('serval/client against a server', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let rest: V2Client;
  let v1: V1Client;
  let grpc: GrpcClient;
  const ways: Record<string, Infer> = {};

  before(async () => {
    const repository = folders.repository('client', MODELS);
    server = await startServer([
      ...['--model-repository', repository, '--model-control-mode', 'explicit'],
      ...['--load-model', '*'],
    ]);
    const url = `http://127.0.0.1:${server.httpPort}`;
    rest = new V2Client(url);
    v1 = new V1Client(url);
    grpc = new GrpcClient(`grpc://127.0.0.1:${server.grpcPort}`);
    ways['V2 REST, binary'] = (model, inputs, options) => rest.infer(model, inputs, options);
    ways['V2 REST, binary, by node:http'] = (model, inputs, options) =>
      new V2Client(url, { keepAliveMs: 0 }).infer(model, inputs, options);
    ways['V2 REST, JSON'] = (model, inputs, options) =>
      rest.infer(model, inputs, { ...options, binary: false });
    ways['V2 gRPC'] = (model, inputs, options) => grpc.infer(model, inputs, options);
    ways['V2 gRPC, gzip'] = (model, inputs, options) =>
      grpc.infer(model, inputs, { ...options, compression: 'gzip' });
    ways['V2 REST, deflate'] = (model, inputs, options) =>
      rest.infer(model, inputs, { ...options, compression: 'deflate' });
    ways['Predict over gRPC'] = (model, inputs, { raw } = {}) =>
      grpc.predict(model, inputs, { raw });
  });
  const warnings: Error[] = [];
  const warned = (warning: Error): void => {
    warnings.push(warning);
  };
  process.on('warning', warned);
  after(async () => {
    process.off('warning', warned);
    grpc.close();
    await server.stop();
    folders.remove();
  });

  for (const way of [
    ...['V2 REST, binary', 'V2 REST, binary, by node:http', 'V2 REST, JSON', 'V2 REST, deflate'],
    ...['V2 gRPC', 'V2 gRPC, gzip', 'Predict over gRPC'],
  ]) {
    const call: Infer = (model, inputs, options) =>
      (ways[way] as Infer)(model, inputs, { raw: true, ...options });
    const isJson = way === 'V2 REST, JSON';

    it(`returns every number bit for bit: ${way}`, async () => {
      for (const datatype of DATATYPES) {
        const data = (VALUES[datatype] as Uint8Array).slice();
        // JSON has one NaN.
        const last = datatype === 'FP32' || datatype === 'FP64' ? NaN : undefined;
        if (isJson && last !== undefined) data[5] = last;
        if (isJson && datatype === 'FP16') data[5] = 0x7e00;
        if (isJson && datatype === 'BF16') data[5] = 0x7fc0;
        const { outputs } = await call(modelOf(datatype), {
          input: { data, datatype, shape: SHAPE },
        });
        const { output } = outputs;
        assert.equal(output?.datatype, datatype);
        assert.deepEqual(output?.shape, SHAPE, datatype);
        assert.deepEqual(bytesOf(output?.data), bytesOf(data), `${datatype} by ${way}`);
        assert.equal(output?.data.constructor, VALUES[datatype]?.constructor, datatype);
      }
    });

    it(`returns texts unchanged: ${way}`, async () => {
      const data = isJson ? [...TEXTS] : [...TEXTS.slice(1), NOT_UTF8];
      const input = { data, shape: SHAPE };
      const { outputs } = await call('identity_bytes', { input }, { raw: false });
      assert.deepEqual(outputs['output']?.data, data);
      const { outputs: raw } = await call('identity_bytes', { input });
      const encoded = data.map((text) =>
        typeof text === 'string' ? new TextEncoder().encode(text) : text,
      );
      assert.deepEqual(
        (raw['output']?.data as Uint8Array[]).map((one) => [...one]),
        encoded.map((one) => [...one]),
      );
    });

    it(`carries an empty tensor and one of 5 MB: ${way}`, async () => {
      const empty = await call('identity_fp32', {
        input: { data: new Float32Array(0), shape: [0, 3] },
      });
      assert.deepEqual(empty.outputs['output']?.shape, [0, 3]);
      assert.equal(empty.outputs['output']?.data.length, 0);
      const data = Float32Array.from({ length: 1_250_000 }, (_, i) => i / 7);
      const { outputs } = await call('identity_fp32', { input: { data, shape: [1250, 1000] } });
      const returned = outputs['output']?.data as Float32Array;
      const { buffer, byteOffset, byteLength } = returned;
      assert.ok(Buffer.from(data.buffer).equals(Buffer.from(buffer, byteOffset, byteLength)));
    });

    it(`completes datatype and shape from the metadata: ${way}`, async () => {
      const lists = await call('identity_int64', {
        input: [
          [1, 2],
          [3, 2n ** 62n],
        ],
      });
      assert.deepEqual(lists.outputs['output']?.data, BigInt64Array.of(1n, 2n, 3n, 2n ** 62n));
      const halves = await call('identity_fp16', { input: [[0.5, -0, 65504]] }, { raw: false });
      assert.deepEqual(halves.outputs['output']?.data, Float32Array.of(0.5, -0, 65504));
      const typed = await call('half_plus_three', { x: Float32Array.of(1, 2, 5) });
      assert.deepEqual(typed.outputs['y']?.data, Float32Array.of(3.5, 4, 5.5));
      const bool = await call('identity_bool', { input: [[true, false]] });
      assert.deepEqual(bool.outputs['output']?.data, Uint8Array.of(1, 0));
      await assert.rejects(call('identity_int8', { input: [[1, 300]] }), {
        code: 'INVALID_ARGUMENT',
        message: "input 'input': element 1: expected a value of INT8, got 300",
      });
      await assert.rejects(call('identity_int8', { wrong: [[1]] }), {
        message: "input 'wrong': expected an input of the model (input), got an unknown name",
      });
    });

    it(`names an unknown model: ${way}`, async () => {
      await assert.rejects(call('none', { x: 1 }), (error: ClientError) => {
        assert.equal(error.code, 'NOT_FOUND');
        assert.match(error.message, /none/);
        return error.status === 404 || error.status === 5;
      });
    });
  }

  it('selects outputs, returns the id and classes', async () => {
    const values = Float32Array.from({ length: 16 }, (_, i) => 16 - i);
    for (const client of [rest, grpc]) {
      const metadata = await client.modelMetadata('add_sub');
      assert.deepEqual(
        metadata.inputs.map((one) => one.name),
        ['INPUT0', 'INPUT1'],
      );
      const given = { INPUT0: values, INPUT1: values };
      const [, output = ''] = metadata.outputs.map((one) => one.name);
      const named = await client.infer('add_sub', given, { outputs: [output], id: 'seven' });
      assert.deepEqual(Object.keys(named.outputs), [output]);
      assert.equal(named.id, 'seven');
      assert.equal(named.model, 'add_sub');
      assert.equal(named.version, '1');
      const best = await client.infer('add_sub', given, { outputs: [output], classification: 2 });
      assert.equal(best.outputs[output]?.datatype, 'BYTES');
      assert.match(String(best.outputs[output]?.data[0]), /^0:0$/);
      assert.equal(best.outputs[output]?.data.length, 2);
    }
  });

  it('answers the calls of V1', async () => {
    assert.deepEqual(await v1.predict('half_plus_three', [1, 2, 5]), [3.5, 4, 5.5]);
    assert.deepEqual(await v1.predictColumns('half_plus_three', Float32Array.of(1, 2)), [3.5, 4]);
    const column = { data: BigInt64Array.of(2n ** 63n - 1n, -(2n ** 63n)), shape: [1, 2] };
    const big = [[2n ** 63n - 1n, -(2n ** 63n)]];
    assert.deepEqual(await v1.predictColumns('identity_int64', { input: column }), big);
    const odd = await v1.predict('identity_fp64', [[NaN, -Infinity, -0]]);
    assert.deepEqual(odd, [[NaN, -Infinity, -0]]);
    const texts = await v1.predict('identity_bytes', [['a', Uint8Array.of(0xff)]]);
    assert.deepEqual(
      texts,
      [['a', Uint8Array.of(0xff)]].map((row) => row),
    );
    const [status] = await v1.status('half_plus_three');
    assert.equal(status?.state, 'AVAILABLE');
    const metadata = await v1.metadata('half_plus_three');
    assert.ok('metadata' in metadata);
    await assert.rejects(v1.predict('half_plus_three', ['x']), {
      code: 'INVALID_ARGUMENT',
      status: 400,
    });
    await assert.rejects(v1.classify('half_plus_three', [{ x: 1 }]), ClientError);
    await assert.rejects(v1.regress('half_plus_three', [{ x: 1 }]), ClientError);
  });

  for (const name of ['REST', 'gRPC']) {
    it(`answers the calls of control and metadata over ${name}`, async () => {
      const client = name === 'REST' ? rest : grpc;
      const { extensions } = await client.serverMetadata();
      assert.ok(extensions.includes('binary_tensor_data'));
      assert.equal(await client.live(), true);
      assert.equal(await client.ready(), true);
      assert.equal(await client.modelReady('half_plus_three'), true);
      assert.equal(await client.modelReady('none'), false);
      const [newest = ''] = (await client.modelMetadata('half_plus_three')).versions;
      const version = newest;
      const { inputs, versions } = await client.modelMetadata('half_plus_three', { version });
      assert.deepEqual(inputs, [{ name: 'x', datatype: 'FP32', shape: [-1] }]);
      assert.ok(versions.includes(version));
      const config = await client.modelConfig('half_plus_three');
      assert.equal(config['name'], 'half_plus_three');
      await client.unload('scalar');
      assert.equal(await client.modelReady('scalar'), false);
      await client.load('scalar', { config: { max_batch_size: 0 } });
      assert.equal(await client.modelReady('scalar'), true);
      const states = await client.index();
      assert.equal(states.find((one) => one.name === 'scalar')?.state, 'READY');
      assert.ok((await client.index({ ready: true })).length > 0);
      const statistics = await client.statistics('half_plus_three');
      assert.equal((statistics['model_stats'] as { name: string }[])[0]?.name, 'half_plus_three');
    });
  }

  it('streams requests and responses, and ends when the loop is left', async () => {
    const request = (i: number) => ({
      model: 'half_plus_three',
      inputs: { x: [i] },
      id: String(i),
    });
    const seen: string[] = [];
    for await (const { id, outputs } of grpc.streamInfer([1, 2, 3].map(request))) {
      seen.push(`${id}:${String(outputs['y']?.data[0])}`);
    }
    assert.deepEqual(seen, ['1:3.5', '2:4', '3:4.5']);
    let sent = 0;
    async function* endless() {
      for (;;) yield request((sent += 1));
    }
    for await (const { id } of grpc.streamInfer(endless())) if (id === '5') break;
    const x = { data: [1], shape: [1], datatype: 'FP32' };
    const bad = { model: 'none', inputs: { x } };
    const errors: ClientError[] = [];
    const rest: string[] = [];
    const mixed = [request(1), bad, request(2)];
    const options = { onError: (error: ClientError) => errors.push(error) };
    for await (const { id } of grpc.streamInfer(mixed, options)) rest.push(id);
    assert.deepEqual(rest, ['1', '2']);
    assert.equal(errors.length, 1);
    assert.match(errors[0]?.message ?? '', /none/);
    await assert.rejects(async () => {
      for await (const { id } of grpc.streamInfer(mixed)) assert.equal(id, '1');
    }, ClientError);
  });

  it('causes no warning of the runtime', () => {
    assert.deepEqual(warnings, []);
  });
});
