// The requests of the rows for tabular models, the trees that they share, skipped rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doublesOf, rawTexts, v2JsonRequest } from '../bodies.mjs';
import { formatErrors, formatFigure, formatRows, formatSkipped } from '../report.mjs';
import { runWorkload, Skipped } from '../runner.mjs';
import { judgeFigures } from '../statistics.mjs';
import { drawForest, onnxForest, sumOfForest } from '../tabular/forest.mjs';
import { fields, modelInferRequest } from '../wire.mjs';
import { firstRow, tensorsOf } from '../workloads/tabular/bundle.mjs';
import { planRow } from '../workloads/tabular/plans.mjs';

const FRAME = {
  schema: {
    fields: [
      { name: 'state', type: 'string' },
      { name: 'rooms', type: 'double' },
      { name: 'kind', type: 'string' },
    ],
  },
  rows: [
    ['NY', 2, 'flat'],
    ['CA', 1, 'house'],
  ],
};

test('a LeapFrame becomes one tensor for the fields of each type', () => {
  const [texts, numbers] = tensorsOf(FRAME);
  assert.deepEqual(texts.tensor, {
    name: 'string',
    datatype: 'STRING',
    shape: [2, 2],
    parameters: { features: 'state,kind' },
  });
  assert.equal(
    texts.bytes.toString('latin1'),
    '\x02\0\0\0NY\x04\0\0\0flat\x02\0\0\0CA\x05\0\0\0house',
  );
  assert.deepEqual(numbers.tensor.shape, [2, 1]);
  assert.deepEqual([...doublesOf(numbers.bytes)], [2, 1]);
  assert.deepEqual(firstRow(FRAME).rows, [['NY', 2, 'flat']]);
  assert.equal(rawTexts(['ü']).toString('hex'), '02000000' + 'c3bc');
});

test('a tensor may have parameters, and a request several tensors', () => {
  const tensor = { name: 'a', datatype: 'FP64', shape: [1], parameters: { features: 'b' } };
  const bytes = Buffer.from([7]);
  const message = modelInferRequest('m', [
    { tensor, bytes },
    { tensor: { ...tensor, parameters: {} }, bytes },
  ]);
  const found = fields(message);
  assert.deepEqual(
    found.map(([number]) => number),
    [1, 5, 5, 7, 7],
  );
  // parameters{key, value{string_param}}
  const entry = '220d' + '0a086665617475726573' + '1203' + '1a0162';
  assert.ok(found[1][1].toString('hex').includes(entry.slice(4)));
  assert.ok(found[1][1].length > found[2][1].length);
  const inputs = [
    { tensor, texts: ['1.5'] },
    { tensor: { name: 'c', datatype: 'STRING', shape: [1] }, texts: ['"x"'] },
  ];
  assert.deepEqual(JSON.parse(v2JsonRequest('m', inputs).body.toString()).inputs, [
    { ...tensor, data: [1.5] },
    { name: 'c', datatype: 'STRING', shape: [1], data: ['x'] },
  ]);
});

test('a forest is summed by its thresholds; the ONNX model has the same trees', () => {
  const shape = { trees: 3, depth: 2, features: 4 };
  const forest = drawForest(shape);
  assert.equal(forest.length, 3);
  const row = [0.2, 0.9, 0.4, 0.6];
  const byHand = forest.map((tree) => {
    const first = row[tree.featureOf(1)] <= tree.thresholdOf(1) ? 2 : 3;
    const leaf = 2 * first + (row[tree.featureOf(first)] <= tree.thresholdOf(first) ? 0 : 1);
    return tree.leafOf(leaf);
  });
  assert.equal(sumOfForest(forest, row), byHand[0] + byHand[1] + byHand[2]);
  const [node] = onnxForest(forest, shape.features).graph.nodes;
  const { attributes } = node;
  assert.deepEqual(attributes.nodes_treeids.ints.length, 3 * 7);
  assert.deepEqual(attributes.nodes_truenodeids.ints.slice(0, 7), [1, 3, 5, 0, 0, 0, 0]);
  assert.deepEqual(attributes.nodes_falsenodeids.ints.slice(0, 7), [2, 4, 6, 0, 0, 0, 0]);
  assert.deepEqual(attributes.nodes_modes.strings.slice(0, 4), [
    'BRANCH_LEQ',
    'BRANCH_LEQ',
    'BRANCH_LEQ',
    'LEAF',
  ]);
  const leaves = new Float64Array(attributes.target_weights_as_tensor.tensor.data.buffer);
  assert.deepEqual([...leaves.slice(0, 4)], [4, 5, 6, 7].map(forest[0].leafOf));
});

test('figures without a reference are judged by their median', () => {
  const target = { relation: '<', limit: 5 };
  const row = judgeFigures({ id: 'a', title: 'A', form: 's', target }, [4, 9, 3]);
  assert.deepEqual([row.got, row.ok, row.spread], [4, true, { min: 3, max: 9 }]);
  assert.equal(judgeFigures({ id: 'a', title: 'A', form: 's', target: null }, [4]).ok, null);
  const plan = { id: 'p', name: 'iris_tree', title: 'plan', limitUs: 2 };
  assert.deepEqual([planRow(plan, [{ name: 'iris_tree', ns_per_run: 900 }]).got], [0.9]);
  assert.throws(() => planRow(plan, []), /no 'iris_tree'/);
  assert.equal(formatFigure('time', 0.9), '0.900 us');
});

test('a missing tool is reported as skipped and is not an error', async () => {
  const context = {
    options: { rounds: 1, seconds: 1, limitSeconds: 100 },
    elapsedSeconds: () => 0,
  };
  const workload = {
    id: 'w',
    title: 'W',
    metric: 'rate',
    target: { relation: '>=', limit: 3 },
    openServal: () => Promise.reject(new Skipped('no java here')),
  };
  const rows = await runWorkload(context, workload);
  assert.deepEqual([rows[0].ok, rows[0].skipped, rows[0].error], [null, true, 'no java here']);
  assert.equal(formatErrors(rows), '');
  assert.equal(formatSkipped(rows), 'skipped: w: no java here');
  assert.match(formatRows(rows), / SKIPPED +no java here$/);
  const [failed] = await runWorkload(context, {
    ...workload,
    openServal: () => Promise.reject(new Error('broken')),
  });
  assert.deepEqual([failed.ok, failed.skipped], [false, undefined]);
  assert.equal(formatSkipped([failed]), '');
});
