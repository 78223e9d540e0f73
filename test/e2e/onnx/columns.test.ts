// Models with one [?,1] input per column, as skl2onnx exports a ColumnTransformer: rows of plain
// values, null for a missing number, CSV, and errors that say what to write. Source: our own
// extension of V1; TensorFlow Serving reads only the nested form, which works too.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { errorOf, exchange } from '../support/raw-http.js';
import { refusedServer } from '../support/serval-process.js';
import { folderOf, post, started, written } from './support.js';

/** doubled = age + age, job and count as they are. */
const MODEL: OnnxModel = {
  graph: {
    name: 'columns',
    inputs: [
      { name: 'age', type: 'float', shape: ['n', 1] },
      { name: 'job', type: 'string', shape: ['n', 1] },
      { name: 'count', type: 'int64', shape: ['n', 1] },
    ],
    outputs: [
      { name: 'doubled', type: 'float', shape: ['n', 1] },
      { name: 'same', type: 'string', shape: ['n', 1] },
      { name: 'counted', type: 'int64', shape: ['n', 1] },
    ],
    nodes: [
      { op: 'Add', inputs: ['age', 'age'], outputs: ['doubled'] },
      { op: 'Identity', inputs: ['job'], outputs: ['same'] },
      { op: 'Identity', inputs: ['count'], outputs: ['counted'] },
    ],
  },
};
const row = (age: unknown, job: unknown, count: unknown): object => ({ age, job, count });

describe('models with one input per column', () => {
  it('accept plain values as rows, and lists of one value', async (t) => {
    const server = await started(t, written(folderOf(t), 'm.onnx', MODEL));
    const predict = async (body: object): Promise<unknown> =>
      post(server, '/v1/models/m:predict', body);
    const nested = (doubled: number, same: string, counted: number): object => ({
      doubled: [doubled],
      same: [same],
      counted: [counted],
    });
    const expected = { predictions: [nested(114, 'a', 1), nested(60, 'b', 2)] };
    const lists = [row([57], ['a'], [1]), row([30], ['b'], [2])];
    assert.deepEqual(await predict({ instances: lists }), expected);
    const values = [row(57, 'a', 1), row(30, 'b', 2)];
    assert.deepEqual(await predict({ instances: values }), expected);
    assert.deepEqual(await predict({ instances: [row(57, ['a'], 1)] }), {
      predictions: [nested(114, 'a', 1)],
    });
    const columns = { age: [57, 30], job: ['a', 'b'], count: [[1], [2]] };
    assert.deepEqual(await predict({ inputs: columns }), {
      outputs: { doubled: [[114], [60]], same: [['a'], ['b']], counted: [[1], [2]] },
    });
  });

  it('accept null for a missing floating-point number, and only there', async (t) => {
    const server = await started(t, written(folderOf(t), 'm.onnx', MODEL));
    const ask = async (...instances: readonly object[]): Promise<string> => {
      const body = JSON.stringify({ instances });
      return (
        await exchange(server.httpPort, 'POST', '/v1/models/m:predict', body)
      ).body.toString();
    };
    for (const age of [null, [null]]) {
      assert.match(await ask(row(age, 'a', 1)), /"doubled":\[NaN\]/);
    }
    assert.match(
      await ask(row(1, 'a', null)),
      /key: count .*null Type: Null is not of expected type/,
    );
    assert.match(await ask(row(1, null, 1)), /key: job .*null Type: Null is not of expected type/);
    assert.match(
      await ask(row([1, 2], 'a', 1)),
      /input 'age': expected \[-1,1\], got \[1,2\]: a row is a value, or a list of one value/,
    );
  });

  it('accept CSV', async (t) => {
    const folder = folderOf(t);
    written(folder, 'm.onnx', MODEL);
    const graph = {
      ...MODEL.graph,
      inputs: [{ name: 'age', type: 'float', shape: ['n', 2] }],
      outputs: [{ name: 'doubled', type: 'float', shape: ['n', 2] }],
      nodes: MODEL.graph.nodes.slice(0, 1),
    } as const;
    const server = await started(t, `${folder}/m.onnx`, written(folder, 'wide.onnx', { graph }));
    const csv = async (model: string, body: string, query = ''): Promise<string> => {
      const path = `/v2/models/${model}/csv${query}`;
      const answer = await exchange(server.httpPort, 'POST', path, body);
      return answer.status === 200 ? answer.body.toString() : `${answer.status} ${errorOf(answer)}`;
    };
    assert.equal(
      await csv('m', 'count,job,age,other\n1,a,57,x\n2,"b,c",,y\n'),
      'doubled,same,counted\r\n[114.0],"[""a""]",[1]\r\n[NaN],"[""b,c""]",[2]\r\n',
    );
    assert.equal(
      await csv('m', 'count,job,age\n1,a,57\n', '?outputs=counted'),
      'counted\r\n[1]\r\n',
    );
    assert.equal(
      await csv('m', 'count,job,age\n1,,57\n'),
      '400 CSV: row 0, column "job": expected BYTES, got an empty cell (write "" for an empty text)',
    );
    assert.equal(
      await csv('m', 'count,job,age\n1,a,old\n'),
      '400 CSV: row 0, column "age": expected FP32, got "old"',
    );
    assert.equal(await csv('m', 'job,age\na,1\n'), "400 input 'count' is missing");
    assert.equal(
      await csv('wide', 'age\n1\n'),
      '400 CSV: expected a tabular model, or inputs of shape [-1] or [-1, 1]; the model has age [-1, 2]',
    );
  });
});

describe('exports that need another export', () => {
  it('says how to export a model whose number of rows is fixed', async (t) => {
    const graph = {
      ...MODEL.graph,
      inputs: [{ name: 'age', type: 'float', shape: [1, 2] }],
      outputs: [{ name: 'doubled', type: 'float', shape: [1, 2] }],
      nodes: MODEL.graph.nodes.slice(0, 1),
    } as const;
    const server = await started(t, written(folderOf(t), 'm.onnx', { graph }));
    const two = await post(server, '/v1/models/m:predict', {
      instances: [
        [1, 2],
        [3, 4],
      ],
    });
    assert.match(
      String(two['error']),
      /expected \[1,2\], got \[2,2\]; the model was exported with a fixed first dimension: send 1/,
    );
    assert.match(String(two['error']), /dynamic_shapes, or dynamic_axes/);
    const other = await post(server, '/v1/models/m:predict', { instances: [[1, 2, 3]] });
    assert.match(String(other['error']), /expected \[1,2\], got \[1,3\]$/);
  });

  it('says to use float32 if the runtime has no kernel for double', async (t) => {
    const graph = {
      name: 'imputer',
      inputs: [{ name: 'x', type: 'double', shape: ['n', 1] }],
      outputs: [{ name: 'y', type: 'double', shape: ['n', 1] }],
      nodes: [
        {
          op: 'Imputer',
          domain: 'ai.onnx.ml',
          inputs: ['x'],
          outputs: ['y'],
          attributes: {
            imputed_value_floats: { floats: [1] },
            replaced_value_float: { float: NaN },
          },
        },
      ],
    } as const;
    const path = written(folderOf(t), 'double.onnx', {
      opsets: { '': 17, 'ai.onnx.ml': 1 },
      graph,
    });
    const server = await refusedServer(path);
    assert.match(
      server.stderr,
      /implementation for Imputer\(1\)[^]*export the model with float32 inputs/,
    );
  });
});
