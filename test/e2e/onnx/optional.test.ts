// config.pbtxt's `input { optional: true }` with real models: inputs with a default in the graph,
// and of ONNX's type optional(tensor), omitted and set over every protocol; loads that are refused;
// batches. Source: Triton's ModelInput.optional; ONNX Runtime gives the same results.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { exchange, errorOf } from '../support/raw-http.js';
import { refusedServer, type ServalProcess } from '../support/serval-process.js';
import { findPython, runPythonSuite } from '../support/python-suites.js';
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

const ROWS = ['n', 2] as const;

/** y = x + bias, where bias defaults to [[10, 20]]. Both have the batch's rows. */
const BIASED: OnnxModel = {
  graph: {
    name: 'biased',
    inputs: [
      { name: 'x', type: 'float', shape: ROWS },
      { name: 'bias', type: 'float', shape: ['m', 2] },
    ],
    outputs: [{ name: 'y', type: 'float', shape: ROWS }],
    initializers: [{ name: 'bias', type: 'float', dims: [1, 2], data: floatBytes([10, 20]) }],
    nodes: [{ op: 'Add', inputs: ['x', 'bias'], outputs: ['y'] }],
  },
};

/** y = x + extra if extra, of the type optional(tensor), has an element; else y = 2 x. */
const MAYBE: OnnxModel = {
  opsets: { '': 18 },
  graph: {
    name: 'maybe',
    inputs: [
      { name: 'extra', type: 'float', shape: ROWS, container: 'optional' },
      { name: 'x', type: 'float', shape: ROWS },
    ],
    outputs: [{ name: 'y', type: 'float', shape: ROWS }],
    nodes: [
      { op: 'OptionalHasElement', inputs: ['extra'], outputs: ['has'] },
      {
        op: 'If',
        inputs: ['has'],
        outputs: ['more'],
        attributes: {
          then_branch: {
            graph: {
              name: 'with',
              inputs: [],
              outputs: [{ name: 'element', type: 'float', shape: ROWS }],
              nodes: [{ op: 'OptionalGetElement', inputs: ['extra'], outputs: ['element'] }],
            },
          },
          else_branch: {
            graph: {
              name: 'without',
              inputs: [],
              outputs: [{ name: 'copy', type: 'float', shape: ROWS }],
              nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['copy'] }],
            },
          },
        },
      },
      { op: 'Add', inputs: ['x', 'more'], outputs: ['y'] },
    ],
  },
};

const config = (batch: number, name: string, more = '', optional = 'optional: true'): string => `
backend: "onnxruntime"
max_batch_size: ${batch}
input { name: "x" data_type: TYPE_FP32 dims: [ ${batch > 0 ? '' : '-1, '}2 ] }
input { name: "${name}" data_type: TYPE_FP32 dims: [ ${batch > 0 ? '' : '-1, '}2 ] ${optional} }
output { name: "y" data_type: TYPE_FP32 dims: [ ${batch > 0 ? '' : '-1, '}2 ] }
${more}
`;

function repository(
  t: TestContext,
  models: Readonly<Record<string, readonly [OnnxModel, string]>>,
): string {
  const folder = folderOf(t);
  for (const [name, [model, text]] of Object.entries(models)) {
    mkdirSync(`${folder}/${name}/1`, { recursive: true });
    written(`${folder}/${name}/1`, 'model.onnx', model);
    if (text !== '') writeFileSync(`${folder}/${name}/config.pbtxt`, text);
  }
  return folder;
}

const tensor = (name: string, data: readonly number[]): object => ({
  name,
  datatype: 'FP32',
  shape: [data.length / 2, 2],
  data,
});
const proto = (values: readonly number[]): object => ({
  dtype: 1,
  tensor_shape: { dim: [{ size: values.length / 2 }, { size: 2 }] },
  float_val: values,
});
const raw = (values: readonly number[]): Buffer => Buffer.from(new Float32Array(values).buffer);

/** The answers over every protocol to a request with x = [1, 2] and, if given, `name`. */
async function answers(
  server: ServalProcess,
  model: string,
  name: string,
  extra: readonly number[] | undefined,
): Promise<readonly unknown[]> {
  const x = [1, 2];
  const given = extra === undefined ? [] : [tensor(name, extra)];
  const rest = await infer(server, model, { inputs: [...given, tensor('x', x)] });
  const grpc = await inferOverGrpc(server, {
    model_name: model,
    inputs: [tensor('x', x), ...given].map((one) => ({ ...one, data: undefined })),
    raw_input_contents: [raw(x), ...(extra === undefined ? [] : [raw(extra)])],
  });
  const member = extra === undefined ? {} : { [name]: extra };
  const rows = await post(server, `/v1/models/${model}:predict`, {
    instances: [{ x, ...member }],
  });
  const columns = await post(server, `/v1/models/${model}:predict`, {
    inputs: { x: [x], ...(extra === undefined ? {} : { [name]: [extra] }) },
  });
  const predicted = await predictOverGrpc(server, {
    model_spec: { name: model },
    inputs: { x: proto(x), ...(extra === undefined ? {} : { [name]: proto(extra) }) },
  });
  const outputs = predicted['outputs'] as Record<string, { float_val?: readonly number[] }>;
  return [
    rest['y']?.data,
    floats(grpc['y'] as Buffer),
    (rows['predictions'] as readonly unknown[] | undefined)?.[0] ?? rows,
    (columns['outputs'] as readonly unknown[] | undefined)?.[0] ?? columns,
    [...(outputs['y']?.float_val ?? [])],
  ];
}

const all = (value: readonly number[]): readonly unknown[] =>
  Array.from({ length: 5 }, () => value);

describe('optional: true', () => {
  it('lets requests omit an input that has a default, over every protocol', async (t) => {
    const folder = repository(t, { m: [BIASED, config(0, 'bias')] });
    const server = await started(t, folder);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await answers(server, 'm', 'bias', undefined), all([11, 22]));
      assert.deepEqual(await answers(server, 'm', 'bias', [5, 6]), all([6, 8]));
    }
    const without = JSON.stringify({ inputs: [tensor('bias', [1, 2])] });
    const refused = await exchange(server.httpPort, 'POST', '/v2/models/m/infer', without);
    assert.deepEqual([refused.status, errorOf(refused)], [400, "input 'x' is missing"]);
  });

  it('lets requests omit an input of the type optional(tensor)', async (t) => {
    const folder = repository(t, { m: [MAYBE, config(0, 'extra')], plain: [MAYBE, ''] });
    const server = await started(t, folder);
    for (const model of ['m', 'plain', 'm']) {
      assert.deepEqual(await answers(server, model, 'extra', undefined), all([2, 4]), model);
      assert.deepEqual(await answers(server, model, 'extra', [5, 6]), all([6, 8]), model);
    }
    assert.deepEqual((await get(server, '/v2/models/plain'))['optional_inputs'], [
      { name: 'extra', datatype: 'FP32', shape: [-1, 2] },
    ]);
  });

  it('is shown by the configuration, and the metadata lists the input', async (t) => {
    const folder = repository(t, { m: [BIASED, config(4, 'bias')], plain: [BIASED, ''] });
    const server = await started(t, folder);
    const shown = (await get(server, '/v2/models/m/config'))['input'] as readonly {
      name: string;
      optional: boolean;
    }[];
    assert.deepEqual(
      shown.map(({ name, optional }) => [name, optional]),
      [
        ['x', false],
        ['bias', true],
      ],
    );
    const metadata = await get(server, '/v2/models/m');
    assert.deepEqual(metadata['inputs'], [
      { name: 'x', datatype: 'FP32', shape: [-1, 2] },
      { name: 'bias', datatype: 'FP32', shape: [-1, 2] },
    ]);
    assert.equal(metadata['optional_inputs'], undefined);
    // Without a configuration, a default is no input of the model's; Triton lists none either.
    const plain = await get(server, '/v2/models/plain');
    assert.deepEqual(
      (plain['inputs'] as readonly { name: string }[]).map(({ name }) => name),
      ['x'],
    );
    const completed = await get(server, '/v2/models/plain/config');
    assert.equal((completed['input'] as readonly unknown[]).length, 1);
  });

  it('is what makes a listed input optional: without it, requests must set it', async (t) => {
    const folder = repository(t, { m: [BIASED, config(0, 'bias', '', '')] });
    const server = await started(t, folder);
    assert.deepEqual(await answers(server, 'm', 'bias', [5, 6]), all([6, 8]));
    const body = JSON.stringify({ inputs: [tensor('x', [1, 2])] });
    const refused = await exchange(server.httpPort, 'POST', '/v2/models/m/infer', body);
    assert.deepEqual([refused.status, errorOf(refused)], [400, "input 'bias' is missing"]);
  });

  it('works in a process of the model too', async (t) => {
    const isolated = 'parameters { key: "isolation" value { string_value: "process" } }';
    const folder = repository(t, {
      m: [BIASED, config(0, 'bias', isolated)],
      n: [MAYBE, config(0, 'extra', isolated)],
    });
    const server = await started(t, folder);
    assert.deepEqual(await answers(server, 'm', 'bias', undefined), all([11, 22]));
    assert.deepEqual(await answers(server, 'm', 'bias', [5, 6]), all([6, 8]));
    assert.deepEqual(await answers(server, 'n', 'extra', undefined), all([2, 4]));
    assert.deepEqual(await answers(server, 'n', 'extra', [5, 6]), all([6, 8]));
  });

  it('refuses the load if the graph needs the input', async (t) => {
    const { graph } = BIASED;
    const required: OnnxModel = { graph: { ...graph, initializers: [] } };
    const folder = repository(t, { m: [required, config(0, 'bias')] });
    const server = await refusedServer(folder);
    assert.match(
      server.stderr,
      /model 'm': input 'bias': the configuration says optional: true, but the graph needs its value/,
    );
  });

  it('batches only requests that omit the same inputs', async (t) => {
    const batching = 'dynamic_batching { max_queue_delay_microseconds: 200000 }';
    const folder = repository(t, { m: [BIASED, config(8, 'bias', batching)] });
    const server = await started(t, folder);
    const runs = async (): Promise<number> => {
      const stats = await get(server, '/v2/models/m/stats');
      const [model] = stats['model_stats'] as readonly { execution_count: number }[];
      return model?.execution_count ?? 0;
    };
    const before = await runs();
    const got = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => {
        const more = i % 2 === 0 ? [tensor('bias', [i, -i])] : [];
        return (await infer(server, 'm', { inputs: [...more, tensor('x', [i, i + 1])] }))['y']
          ?.data;
      }),
    );
    for (const [i, data] of got.entries()) {
      assert.deepEqual(data, i % 2 === 0 ? [2 * i, 1] : [i + 10, i + 21], String(i));
    }
    // Eight requests of each kind fill a batch; some may have come too late for theirs.
    assert.ok((await runs()) - before <= 8, `${await runs()} runs`);
    const uneven = { inputs: [tensor('x', [1, 2, 3, 4]), tensor('bias', [1, 2])] };
    const refused = await post(server, '/v2/models/m/infer', uneven);
    assert.match(String(refused['error']), /'x' and 'bias' must have the same first dimension/);
  });

  it('works with tritonclient, which reads the configuration', async (t) => {
    const { python, missing } = findPython();
    if (missing !== '') {
      t.skip(missing);
      return;
    }
    const folder = repository(t, { optional: [BIASED, config(4, 'bias', 'dynamic_batching {}')] });
    await runPythonSuite(t, python, 'optional_inputs.test_triton', await started(t, folder));
  });
});
