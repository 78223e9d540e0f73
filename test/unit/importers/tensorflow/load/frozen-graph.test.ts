// Frozen graphs: which nodes are inputs and outputs, and remaining variables.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import type { LoadOptions } from '../../../../../ts/importers/tensorflow/load/index.js';
import type { LoadedGraph } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import { attr, graph, invalid, message, shape } from '../messages.js';
import type { NodeText } from '../messages.js';

const T = { T: attr.type(1) };
const placeholder = (name: string, dims: readonly number[], code = 1): NodeText => ({
  name,
  op: 'Placeholder',
  attributes: { dtype: attr.type(code), shape: attr.shape(dims) },
});
const hint = attr.list((writer) => writer.message(7, shape([-1, 5])));

const NODES: readonly NodeText[] = [
  placeholder('in/x', [-1, 3]),
  placeholder('spare', []),
  {
    name: 'keep',
    op: 'PlaceholderWithDefault',
    inputs: ['c'],
    attributes: {
      dtype: attr.type(1),
      shape: attr.shape([]),
    },
  },
  { name: 'c', op: 'Const', attributes: { dtype: attr.type(1) } },
  { name: 'unused', op: 'Const', attributes: { dtype: attr.type(1) } },
  { name: 'mul', op: 'Mul', inputs: ['in/x', 'keep:0'], attributes: T },
  { name: 'check', op: 'Assert', inputs: ['mul'], attributes: {} },
  { name: 'waited', op: 'Identity', inputs: ['mul'], attributes: T },
  { name: 'group', op: 'NoOp', inputs: ['^check', '^waited'] },
  { name: 'y', op: 'Relu', inputs: ['mul:0'], attributes: { ...T, _output_shapes: hint } },
  { name: 'top', op: 'TopKV2', inputs: ['mul', 'c'], attributes: T },
];

function load(
  t: TestContext,
  nodes: readonly NodeText[] = NODES,
  options: LoadOptions = {},
  producer = 100,
): LoadedGraph {
  const folder = filledFolder(t, { 'model.graphdef': message(graph(nodes, producer)) });
  return loadGraph(folder, options);
}

function ends(
  found: LoadedGraph,
): readonly [inputs: readonly string[], outputs: readonly string[]] {
  const signature = found.signatures.get('serving_default');
  assert.equal(signature?.methodName, 'tensorflow/serving/predict');
  const list = (infos: typeof signature.inputs): readonly string[] =>
    [...infos].map(
      ([alias, { name, dtypeCode, shape: { dims } = { dims: undefined } }]) =>
        `${alias}=${name}/${dtypeCode}[${dims?.map(({ size }) => size).join(',') ?? '?'}]`,
    );
  return [list(signature.inputs), list(signature.outputs)];
}

test('inputs are the placeholders that are needed, outputs the nodes that nobody uses', (t) => {
  const found = load(t);
  assert.deepEqual(ends(found), [['in/x=in/x:0/1[-1,3]'], ['y=y:0/1[-1,5]', 'top=top:0/1[?]']]);
  assert.deepEqual(
    [found.format, found.tags, found.checkpoint, found.saver, found.initOp],
    ['frozen-graph', [], undefined, undefined, undefined],
  );
});

test('given ends: interior tensors, ports, placeholders with defaults', (t) => {
  assert.deepEqual(ends(load(t, NODES, { inputs: ['mul:0'], outputs: ['top:1', 'y'] })), [
    ['mul:0=mul:0/1[?]'],
    ['top:1=top:1/3[?]', 'y=y:0/1[-1,5]'],
  ]);
  assert.deepEqual(ends(load(t, NODES, { inputs: ['in/x', 'keep'] }))[0], [
    'in/x=in/x:0/1[-1,3]',
    'keep=keep:0/1[]',
  ]);
});

test('without plain placeholders those with a default are the inputs', (t) => {
  const nodes = NODES.filter(({ op }) => op !== 'Placeholder').map((node) =>
    node.name === 'mul' ? { ...node, inputs: ['keep', 'keep'] } : node,
  );
  assert.deepEqual(ends(load(t, nodes))[0], ['keep=keep:0/1[]']);
});

test('an old placeholder of shape [] has no known shape', (t) => {
  const nodes = [placeholder('x', []), { name: 'y', op: 'Relu', inputs: ['x'], attributes: T }];
  const shapeOf = (producer: number): unknown =>
    load(t, nodes, {}, producer).signatures.get('serving_default')?.inputs.get('x')?.shape;
  assert.deepEqual(shapeOf(23), { unknownRank: true, dims: [] });
  assert.deepEqual(shapeOf(24), { unknownRank: false, dims: [] });
});

test('variables are an error that names them', (t) => {
  const many = Array.from({ length: 10 }, (_, index) => ({
    name: `v${index}`,
    op: 'VariableV2',
    attributes: { dtype: attr.type(1) },
  }));
  assert.match(
    invalid(() => load(t, [...NODES, ...many])),
    /model\.graphdef: expected a frozen graph.* got the variables v0, .*, v7 and 2 more$/,
  );
  // The requested outputs do not need it.
  assert.deepEqual(ends(load(t, [...NODES, ...many], { outputs: ['y'] }))[1], ['y=y:0/1[-1,5]']);
  const used = [...many, { name: 'z', op: 'Relu', inputs: ['v3'], attributes: T }];
  assert.match(
    invalid(() => load(t, used, { outputs: ['z'] })),
    /got the variables v3$/,
  );
});

test('wrong: no such node or output, no outputs, damaged', (t) => {
  assert.match(
    invalid(() => load(t, NODES, { inputs: ['gone'] })),
    /input "gone": .*no such node/,
  );
  assert.match(
    invalid(() => load(t, NODES, { outputs: ['gone:1'] })),
    /output "gone:1"/,
  );
  assert.match(
    invalid(() => load(t, NODES, { outputs: ['top:2'] })),
    /expected an output below 2, as TopKV2 has, got 2/,
  );
  assert.match(
    invalid(() => load(t, [])),
    /expected nodes that no node uses, got none/,
  );
  const cycle = [
    { name: 'a', op: 'Relu', inputs: ['b'] },
    { name: 'b', op: 'Relu', inputs: ['a'] },
  ];
  assert.match(
    invalid(() => load(t, cycle)),
    /got none/,
  );
  const folder = filledFolder(t, { 'model.pb': Uint8Array.of(0x0a, 0x7f) });
  assert.match(
    invalid(() => loadGraph(folder)),
    /model\.pb: GraphDef: byte/,
  );
});

test('the text form, in a file of any of the names', (t) => {
  const text =
    'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }' +
    ' node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }';
  for (const name of ['frozen.pb', 'graph.pbtxt', 'model.graphdef']) {
    const folder = filledFolder(t, { [name]: text });
    assert.deepEqual(ends(loadGraph(folder)), [['x=x:0/1[]'], ['y=y:0/1[?]']]);
    assert.equal(loadGraph(join(folder, name)).format, 'frozen-graph');
  }
});
