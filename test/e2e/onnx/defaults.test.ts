// Inputs with a default in the graph (inputs that are initializers too): a request may leave them
// out or feed them, over every protocol; and element types that no client has.
// Source: ONNX's IR.md (optional inputs since IR version 4); ONNX Runtime answers the same.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { encodeModel, floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { exchange, errorOf } from '../support/raw-http.js';
import { refusedServer } from '../support/serval-process.js';
import {
  floats,
  folderOf,
  get,
  infer,
  inferOverGrpc,
  post,
  predictOverGrpc,
  started,
  written,
} from './support.js';

/** y = x * scale + shift[0], where scale is 2 and shift [10] unless the request says so. */
const MODEL: OnnxModel = {
  graph: {
    name: 'defaults',
    inputs: [
      { name: 'scale', type: 'float', shape: [] },
      { name: 'x', type: 'float', shape: ['n', 2] },
      { name: 'shift', type: 'float', shape: [1] },
    ],
    outputs: [{ name: 'y', type: 'float', shape: ['n', 2] }],
    initializers: [
      { name: 'scale', type: 'float', dims: [], data: floatBytes([2]) },
      { name: 'shift', type: 'float', dims: [1], data: floatBytes([10]) },
    ],
    nodes: [
      { op: 'Mul', inputs: ['x', 'scale'], outputs: ['scaled'] },
      { op: 'Add', inputs: ['scaled', 'shift'], outputs: ['y'] },
    ],
  },
};
const X = { name: 'x', datatype: 'FP32', shape: [1, 2] };
const V2_X = { ...X, data: [1, 2] };
const tensor = (name: string, shape: readonly number[], data: readonly number[]): object => ({
  name,
  datatype: 'FP32',
  shape,
  data,
});
const raw = (values: readonly number[]): Buffer => Buffer.from(new Float32Array(values).buffer);
const proto = (shape: readonly number[], values: readonly number[]): object => ({
  dtype: 1,
  tensor_shape: { dim: shape.map((size) => ({ size })) },
  float_val: values,
});

describe('optional inputs', () => {
  it('may be left out or fed, over every protocol', async (t) => {
    const server = await started(t, written(folderOf(t), 'm.onnx', MODEL));
    const v2 = async (...more: readonly object[]): Promise<unknown> =>
      (await infer(server, 'm', { inputs: [V2_X, ...more] }))['y']?.data;
    const scale = tensor('scale', [], [3]);
    const shift = tensor('shift', [1], [0.5]);
    // Fed and left out in turn: nothing of a request stays for the next one.
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await v2(), [12, 14]);
      assert.deepEqual(await v2(scale), [13, 16]);
      assert.deepEqual(await v2(shift), [2.5, 4.5]);
      assert.deepEqual(await v2(shift, scale), [3.5, 6.5]);
    }
    const predict = async (body: object): Promise<Record<string, unknown>> =>
      post(server, '/v1/models/m:predict', body);
    assert.deepEqual(
      await predict({
        instances: [
          [1, 2],
          [0, 1],
        ],
      }),
      {
        predictions: [
          [12, 14],
          [10, 12],
        ],
      },
    );
    assert.deepEqual(await predict({ instances: [{ x: [1, 2] }] }), { predictions: [[12, 14]] });
    assert.deepEqual(await predict({ inputs: [[1, 2]] }), { outputs: [[12, 14]] });
    assert.deepEqual(await predict({ inputs: { x: [[1, 2]], scale: 3 } }), { outputs: [[13, 16]] });
    assert.deepEqual(await predict({ inputs: { x: [[1, 2]], scale: 3, shift: [0.5] } }), {
      outputs: [[3.5, 6.5]],
    });
    assert.deepEqual(await predict({ instances: [{ x: [1, 2], shift: 0.5 }] }), {
      predictions: [[2.5, 4.5]],
    });
    const some = await predict({ instances: [{ x: [1, 2], shift: 0.5 }, { x: [1, 2] }] });
    assert.match(String(some['error']), /element: 1 of 'instances' list[^]* keys must be equal to/);

    const message = { model_name: 'm', inputs: [X], raw_input_contents: [raw([1, 2])] };
    assert.deepEqual(floats((await inferOverGrpc(server, message))['y'] as Buffer), [12, 14]);
    const fed = await inferOverGrpc(server, {
      ...message,
      inputs: [{ name: 'shift', datatype: 'FP32', shape: [1] }, X],
      raw_input_contents: [raw([0.5]), raw([1, 2])],
    });
    assert.deepEqual(floats(fed['y'] as Buffer), [2.5, 4.5]);
    for (const [more, expected] of [
      [{}, [12, 14]],
      [{ scale: proto([], [3]) }, [13, 16]],
    ] as const) {
      const answer = await predictOverGrpc(server, {
        model_spec: { name: 'm' },
        inputs: { x: proto([1, 2], [1, 2]), ...more },
      });
      assert.deepEqual(answered(answer), expected);
    }
  });

  it('are shown as such, and the others are needed', async (t) => {
    const server = await started(t, written(folderOf(t), 'm.onnx', MODEL));
    const metadata = await get(server, '/v2/models/m');
    assert.deepEqual(metadata['inputs'], [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }]);
    assert.deepEqual(metadata['optional_inputs'], [
      { name: 'scale', datatype: 'FP32', shape: [] },
      { name: 'shift', datatype: 'FP32', shape: [1] },
    ]);
    const body = JSON.stringify({ inputs: [tensor('scale', [], [3])] });
    const without = await exchange(server.httpPort, 'POST', '/v2/models/m/infer', body);
    assert.deepEqual([without.status, errorOf(without)], [400, "input 'x' is missing"]);
    const wrong = JSON.stringify({ inputs: [V2_X, tensor('shift', [2], [3, 4])] });
    const refused = await exchange(server.httpPort, 'POST', '/v2/models/m/infer', wrong);
    assert.equal(refused.status, 400);
    assert.match(errorOf(refused), /input 'shift': expected \[1\], got \[2\]/);
  });

  it('do not keep requests from being batched', async (t) => {
    const folder = folderOf(t);
    const config = 'max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 2000 }\n';
    mkdirSync(`${folder}/m/1`, { recursive: true });
    written(`${folder}/m/1`, 'model.onnx', MODEL);
    writeFileSync(`${folder}/m/config.pbtxt`, config);
    const server = await started(t, folder);
    const answers = await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const more = i % 3 === 0 ? [tensor('shift', [1], [i])] : [];
        const inputs = [{ ...V2_X, data: [i, i + 1] }, ...more];
        return (await infer(server, 'm', { inputs }))['y']?.data;
      }),
    );
    for (const [i, data] of answers.entries()) {
      const shift = i % 3 === 0 ? i : 10;
      assert.deepEqual(data, [2 * i + shift, 2 * (i + 1) + shift]);
    }
  });
});

function answered(answer: Record<string, unknown>): unknown {
  const outputs = answer['outputs'] as Record<string, { float_val?: readonly number[] }>;
  return [...(outputs['y']?.float_val ?? [])];
}

const UINT2 = 25;
const INT2 = 26;

/** y = x, through a 2-bit, 4-bit or 8-bit type inside: Cast to it and back. */
function through(type: number): OnnxModel {
  return {
    opsets: { '': type < UINT2 ? 21 : 25 },
    graph: {
      name: 'through',
      inputs: [{ name: 'x', type: 'float', shape: ['n'] }],
      outputs: [{ name: 'y', type: 'float', shape: ['n'] }],
      nodes: [
        { op: 'Cast', inputs: ['x'], outputs: ['small'], attributes: { to: { int: type } } },
        { op: 'Cast', inputs: ['small'], outputs: ['y'], attributes: { to: { int: 1 } } },
      ],
    },
  };
}

describe('element types that no client has', () => {
  it('work inside of a model', async (t) => {
    const folder = folderOf(t);
    const eight = { e4m3fn: 17, e4m3fnuz: 18, e5m2: 19, e5m2fnuz: 20 };
    const kinds = { ...eight, uint4: 21, int4: 22, uint2: UINT2, int2: INT2 };
    const paths = Object.entries(kinds).map(([name, type]) =>
      written(folder, `${name}.onnx`, through(type)),
    );
    const server = await started(t, ...paths);
    for (const name of Object.keys(kinds)) {
      const data = name.endsWith('int2') ? [1, 0, 1] : [1, 2, 4];
      const inputs = [{ name: 'x', datatype: 'FP32', shape: [3], data }];
      assert.deepEqual((await infer(server, name, { inputs }))['y']?.data, data, name);
    }
  });

  it('are refused by name as an output', async (t) => {
    const folder = folderOf(t);
    for (const [type, name] of [
      [17, 'float8e4m3fn'],
      [INT2, 'int2'],
    ] as const) {
      const { graph, ...rest } = through(type);
      const outputs = [{ name: 'small', type: 'bfloat16', shape: ['n'] }] as const;
      const nodes = graph.nodes.slice(0, 1);
      const bytes = Buffer.from(encodeModel({ ...rest, graph: { ...graph, outputs, nodes } }));
      const at = bytes.lastIndexOf(Buffer.from([8, 16]));
      bytes[at + 1] = type; // which the builder has not
      const path = join(folder, `${name}.onnx`);
      writeFileSync(path, bytes);
      const server = await refusedServer(path);
      const refusal = new RegExp(`output \\\\?"small\\\\?" has element type ${name}, .*Cast`);
      assert.match(server.stderr, refusal);
    }
  });
});
