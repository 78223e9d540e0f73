// In TensorFlow Serving's form the responses of every protocol are PredictResponses with the same
// tensors. The models echo their inputs, so that both messages of a record contain the same.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { encodeModel, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { encode } from '../../unit/protocols/raw-client.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { decodeMessage } from '../../unit/models/warmup/support.js';
import { infer, metric, predict, put } from '../support/operating.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { Calls, records, types } from './support.js';

/** ONNX's name of a type, V2's name, and JSON texts of two values. */
type Field = readonly [onnx: string, datatype: string, values: readonly [string, string]];
const FIELDS: Readonly<Record<string, Field>> = {
  f32: ['float', 'FP32', ['0.1', '-3.4028235e38']],
  f64: ['double', 'FP64', ['0.1', '5e-324']],
  i8: ['int8', 'INT8', ['-128', '127']],
  u16: ['uint16', 'UINT16', ['0', '65535']],
  i32: ['int32', 'INT32', ['-2147483648', '7']],
  i64: ['int64', 'INT64', ['-9223372036854775808', '9007199254740993']],
  u64: ['uint64', 'UINT64', ['18446744073709551615', '0']],
  flag: ['bool', 'BOOL', ['true', 'false']],
  text: ['string', 'BYTES', ['"größer \\"outputs\\":[1]"', '""']],
};

/** Each input X is returned as X. */
function echoModel(fields: Readonly<Record<string, string>>): Uint8Array {
  const ports = (prefix: string) =>
    Object.entries(fields).map(([name, type]) => ({
      name: `${prefix}${name}`,
      type,
      shape: ['batch', 'n'],
    }));
  return encodeModel({
    graph: {
      name: 'echo',
      inputs: ports(''),
      outputs: ports('out_'),
      initializers: [],
      nodes: Object.keys(fields).map((name) => ({
        op: 'Identity',
        inputs: [name],
        outputs: [`out_${name}`],
      })),
    },
  } as OnnxModel);
}

const ALL = Object.fromEntries(Object.entries(FIELDS).map(([name, [onnx]]) => [name, onnx]));

interface Started {
  readonly server: ServalProcess;
  readonly logs: string;
  readonly client: Calls;
}

async function started(context: TestContext): Promise<Started> {
  const folder = tempFolder(context);
  const models = join(folder, 'models');
  put(join(models, 'all', '1', 'model.onnx'), echoModel(ALL));
  put(join(models, 'one', '1', 'model.onnx'), echoModel({ f32: 'float' }));
  put(join(models, 'half', '1', 'model.onnx'), echoModel({ f16: 'float16' }));
  put(join(models, 'texts', '1', 'model.onnx'), echoModel({ text: 'string' }));
  const logs = join(folder, 'logs');
  const server = await startServer([
    ...['--model-repository', models, '--request-log-dir', logs],
    '--request-log-format=tfrecord',
  ]);
  context.after(() => server.stop());
  const client = new Calls(server.grpcPort);
  context.after(() => client.close());
  return { server, logs, client };
}

interface Message {
  readonly model_spec: object;
  readonly inputs?: Readonly<Record<string, object>>;
  readonly outputs?: Readonly<Record<string, object>>;
}

/**
 * Checks that both messages of each record have the same tensors, those of the request's outputs.
 */
async function sameTensors(logs: string, model: string, count: number, names: readonly string[]) {
  const found = await records(logs, `${model}-`, count);
  assert.equal(found.length, count);
  for (const { predict_log: log } of found) {
    assert.ok(log?.response !== undefined, 'there is no answer');
    const request = decodeMessage('PredictRequest', log.request) as Message;
    const response = decodeMessage('PredictResponse', log.response) as Message;
    assert.deepEqual(response.model_spec, request.model_spec);
    const asked = names.map((name) => [`out_${name}`, request.inputs?.[name]]);
    assert.deepEqual(response.outputs, Object.fromEntries(asked));
  }
}

async function answered(response: Promise<{ status: number; body: Buffer }>): Promise<void> {
  const { status, body } = await response;
  assert.equal(status, 200, body.toString());
}

const member = ([name, text]: readonly [string, string]): string => `"${name}":${text}`;
const object = (members: readonly (readonly [string, string])[]): string =>
  `{${members.map(member).join(',')}}`;
const names = Object.keys(FIELDS);
const row = (i: 0 | 1): string =>
  object(Object.entries(FIELDS).map(([name, [, , values]]) => [name, `[${values[i]}]`]));
const tensors = (...wanted: readonly string[]): string =>
  Object.entries(FIELDS)
    .filter(([name]) => wanted.includes(name))
    .map(([name, [, datatype, [one, two]]]) =>
      object([
        ['name', `"${name}"`],
        ['datatype', `"${datatype}"`],
        ['shape', '[2,1]'],
        ['data', `[${one},${two}]`],
      ]),
    )
    .join(',');

describe("answers in TensorFlow Serving's form", () => {
  it('covers REST: every type, in rows and columns, JSON and binary', async (context) => {
    const { server, logs } = await started(context);
    await answered(predict(server, 'all', `{"instances":[${row(0)},${row(1)}]}`));
    const columns = Object.entries(FIELDS).map(
      ([name, [, , [one, two]]]) => [name, `[[${one}],[${two}]]`] as const,
    );
    await answered(predict(server, 'all', `{"inputs":${object(columns)}}`));
    await answered(
      infer(server, 'all', `{"id":"\\"outputs\\":[","inputs":[${tensors(...names)}]}`),
    );
    const binary = '"parameters":{"binary_data_output":true}';
    await answered(infer(server, 'all', `{${binary},"inputs":[${tensors(...names)}]}`));
    const mixed = names.map((name, i) =>
      object([
        ['name', `"out_${name}"`],
        ['parameters', `{"binary_data":${i % 2 === 0}}`],
      ]),
    );
    await answered(
      infer(server, 'all', `{"inputs":[${tensors(...names)}],"outputs":[${mixed.join(',')}]}`),
    );
    await sameTensors(logs, 'all', 5, names);
    assert.equal(await metric(server, 'serval_request_log_dropped_total'), 0);
  });

  it('covers one output: NaN and infinities, no elements, bytes that are not text', async (context) => {
    const { server, logs } = await started(context);
    await answered(predict(server, 'one', '{"instances":[[NaN,-Infinity],[-0.0,1e-45]]}'));
    await answered(predict(server, 'one', '{"inputs":[[1],[2]]}'));
    await answered(predict(server, 'one', '{"inputs":[[],[]]}'));
    const raw = Buffer.alloc(8);
    raw.writeFloatLE(Number.NaN, 0);
    raw.writeFloatLE(Number.NEGATIVE_INFINITY, 4);
    const json = `{"inputs":[{"name":"f32","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}],"outputs":[{"name":"out_f32","parameters":{"binary_data":true}}]}`;
    await answered(
      exchange(
        server.httpPort,
        'POST',
        '/v2/models/one/infer',
        Buffer.concat([Buffer.from(json), raw]),
        [`Inference-Header-Content-Length: ${json.length}`],
      ),
    );
    await sameTensors(logs, 'one', 4, ['f32']);
    await answered(predict(server, 'texts', '{"instances":[["a"],[{"b64":"//8="}]]}'));
    await answered(predict(server, 'texts', '{"inputs":[[{"b64":"//8="}]]}'));
    await sameTensors(logs, 'texts', 2, ['text']);
  });

  it('covers V2 gRPC, its streams, and a choice of outputs', async (context) => {
    const { logs, client } = await started(context);
    const raw = Buffer.from([0x00, 0x7e, 0x00, 0xfc]);
    const message = encode(types, 'inference.ModelInferRequest', {
      model_name: 'half',
      id: 'x',
      inputs: [{ name: 'f16', datatype: 'FP16', shape: [1, 2] }],
      raw_input_contents: [raw],
    });
    await client.infer(message);
    await client.stream([message, message]);
    await sameTensors(logs, 'half', 3, ['f16']);
  });

  it('have the requested outputs, and no classes', async (context) => {
    const { server, logs } = await started(context);
    const outputs = '[{"name":"out_text"},{"name":"out_f32"}]';
    await answered(infer(server, 'all', `{"inputs":[${tensors(...names)}],"outputs":${outputs}}`));
    await sameTensors(logs, 'all', 1, ['text', 'f32']);
    const input = '{"name":"f32","datatype":"FP32","shape":[1,2],"data":[1,2]}';
    const classes = '[{"name":"out_f32","parameters":{"classification":1}}]';
    await answered(infer(server, 'one', `{"inputs":[${input}],"outputs":${classes}}`));
    const [record] = await records(logs, 'one-', 1);
    assert.ok(record?.predict_log?.request !== undefined);
    assert.equal(record.predict_log.response, undefined);
  });
});
