// Session bundles built by hand: the conversion of their signatures, the choice of the graph and of
// the checkpoint. Source of the expectations: bundle_shim.cc, described in tensorflow-import.md
// 1.5.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import type { LoadedGraph } from '../../../../../ts/importers/tensorflow/types.js';
import { filledFolder } from '../../../temp-folder.js';
import {
  any,
  anyList,
  attr,
  entry,
  graph,
  invalid,
  message,
  metaGraph,
  nodeList,
} from '../messages.js';
import type { Fill, MetaGraphText, NodeText } from '../messages.js';

const FLOAT = { dtype: attr.type(1) };
const NODES: readonly NodeText[] = [
  { name: 'x', op: 'Placeholder', attributes: FLOAT },
  { name: 'e', op: 'Placeholder', attributes: { dtype: attr.type(7) } },
  { name: 'top', op: 'TopKV2', inputs: ['x', 'k'], attributes: { T: attr.type(1) } },
  { name: 'mine', op: 'MyOp' },
  { name: 'init', op: 'NoOp' },
];
const SIGNATURES = 'tensorflow.serving.Signatures';

const binding =
  (name: string): Fill =>
  (writer) =>
    writer.string(1, name);
const regression =
  (input: string, output: string): Fill =>
  (writer) =>
    writer.message(1, (inner) => inner.message(1, binding(input)).message(2, binding(output)));
const classification =
  (input: string, classes: string, scores: string): Fill =>
  (writer) =>
    writer.message(2, (inner) => {
      inner.message(1, binding(input));
      if (classes !== '') inner.message(2, binding(classes));
      if (scores !== '') inner.message(3, binding(scores));
    });
const generic =
  (tensors: Readonly<Record<string, string>>): Fill =>
  (writer) =>
    writer.message(3, (inner) => {
      for (const [key, name] of Object.entries(tensors))
        inner.message(1, entry(key, binding(name)));
    });

/** tensorflow.serving.Signatures in a collection. */
function manifest(
  defaultSignature: Fill | undefined,
  named: Readonly<Record<string, Fill>> = {},
): Fill {
  return anyList([
    any(SIGNATURES, (writer) => {
      if (defaultSignature !== undefined) writer.message(1, defaultSignature);
      for (const [name, fill] of Object.entries(named)) writer.message(2, entry(name, fill));
    }),
  ]);
}

function load(
  t: TestContext,
  text: MetaGraphText,
  files: Readonly<Record<string, string>> = {},
): LoadedGraph {
  const meta = message(metaGraph({ graph: graph(NODES), ...text }));
  return loadGraph(filledFolder(t, { 'export.meta': meta, ...files }));
}

/** "key method inputs -> outputs" of each signature, sorted. */
function signaturesOf({ signatures }: LoadedGraph): readonly string[] {
  return [...signatures]
    .map(([key, { methodName, inputs, outputs }]) => {
      const list = (infos: typeof inputs): string =>
        [...infos].map(([alias, { name, dtypeCode }]) => `${alias}=${name}/${dtypeCode}`).join(',');
      return `${key} ${methodName.split('/').at(-1)} ${list(inputs)} -> ${list(outputs)}`;
    })
    .sort();
}

function converted(t: TestContext, serving_signatures: Fill): LoadedGraph {
  return load(t, { collections: { serving_signatures } });
}

test('a default regression or classification', (t) => {
  assert.deepEqual(signaturesOf(converted(t, manifest(regression('e:0', 'top:0')))), [
    'serving_default regress inputs=e:0/7 -> outputs=top:0/1',
  ]);
  // The dtype of the actual port: indices are int32.
  assert.deepEqual(signaturesOf(converted(t, manifest(classification('e', 'top:1', 'top:0')))), [
    'serving_default classify inputs=e/7 -> classes=top:1/3,scores=top:0/1',
  ]);
  assert.deepEqual(signaturesOf(converted(t, manifest(classification('e', '', 'top:0')))), [
    'serving_default classify inputs=e/7 -> scores=top:0/1',
  ]);
});

test('a default that is generic or empty is ignored with a warning', (t) => {
  const found = converted(t, manifest(generic({ a: 'x:0' })));
  assert.deepEqual(signaturesOf(found), []);
  assert.match(found.warnings.join(), /default signature .* is ignored: .* got generic/);
  const empty = converted(
    t,
    manifest(() => undefined),
  );
  assert.match(empty.warnings.join(), /got empty/);
});

test('named inputs and outputs are a Predict signature', (t) => {
  const named = { inputs: generic({ a: 'x:0' }), outputs: generic({ b: 'top:0', c: 'top:1' }) };
  assert.deepEqual(signaturesOf(converted(t, manifest(undefined, named))), [
    'serving_default predict a=x:0/1 -> b=top:0/1,c=top:1/3',
  ]);
  const both = converted(t, manifest(regression('e:0', 'top:0'), named));
  assert.deepEqual(signaturesOf(both), [
    'serving_default regress inputs=e:0/7 -> outputs=top:0/1',
    'serving_default_from_named predict a=x:0/1 -> b=top:0/1,c=top:1/3',
  ]);
  assert.deepEqual(both.warnings, []);
});

test('inputs without outputs, and other generic names, are ignored with a warning', (t) => {
  const found = converted(
    t,
    manifest(undefined, {
      inputs: generic({ a: 'x:0' }),
      other: generic({ b: 'top:0' }),
      none: () => undefined,
    }),
  );
  assert.deepEqual(signaturesOf(found), []);
  assert.deepEqual(
    found.warnings.map((warning) => /"(\w+)"/.exec(warning)?.[1]),
    ['inputs', 'none', 'other'],
  );
});

test('other named signatures keep their names, "inputs" of another kind too', (t) => {
  const found = converted(
    t,
    manifest(undefined, {
      'my regress/1': regression('e:0', 'top:0'),
      inputs: regression('x:0', 'top:0'),
      classify: classification('e:0', 'top:1', ''),
    }),
  );
  assert.deepEqual(signaturesOf(found), [
    'classify classify inputs=e:0/7 -> classes=top:1/3',
    'inputs regress inputs=x:0/1 -> outputs=top:0/1',
    'my regress/1 regress inputs=e:0/7 -> outputs=top:0/1',
  ]);
  assert.deepEqual(found.warnings, []);
});

test('a default beside a serving_default of the meta graph is an error', (t) => {
  const signatures = { serving_default: ((writer) => writer.string(3, 'm')) satisfies Fill };
  const text = {
    signatures,
    collections: { serving_signatures: manifest(regression('e:0', 'top:0')) },
  };
  assert.match(
    invalid(() => load(t, text)),
    /serving_default: .*got both/,
  );
  const named = load(t, {
    signatures,
    collections: {
      serving_signatures: manifest(undefined, {
        inputs: generic({ a: 'x:0' }),
        outputs: generic({ b: 'top:0' }),
      }),
    },
  });
  assert.deepEqual([...named.signatures.keys()], ['serving_default', 'serving_default_from_named']);
});

test('missing and malformed manifests: no signatures, a warning', (t) => {
  const cases: readonly (Fill | undefined)[] = [
    undefined,
    nodeList(['a']),
    anyList([]),
    anyList([any('other.Type', () => undefined)]),
    anyList([any(SIGNATURES, () => undefined), any(SIGNATURES, () => undefined)]),
    anyList([any(SIGNATURES, (writer) => writer.varint(1, 5))]),
  ];
  for (const serving_signatures of cases) {
    const found = load(t, {
      collections: serving_signatures === undefined ? {} : { serving_signatures },
    });
    assert.deepEqual([found.signatures.size, found.warnings.length], [0, 1]);
  }
});

test('tensors that the graph does not have, or whose type nobody knows', (t) => {
  const found = converted(t, manifest(regression('gone:0', 'mine:0')));
  assert.deepEqual(signaturesOf(found), [
    'serving_default regress inputs=gone:0/0 -> outputs=mine:0/0',
  ]);
  assert.match(found.warnings.join('\n'), /no such tensor\n.*MyOp does not declare its type/);
});

test("the model's own operator list says what its operators return", (t) => {
  const info: Fill = (writer) =>
    writer.message(2, (list) =>
      list.message(1, (op) =>
        op.string(1, 'MyOp').message(3, (arg) => arg.string(1, 'o').varint(3, 9)),
      ),
    );
  const found = load(t, {
    info,
    collections: { serving_signatures: manifest(regression('x:0', 'mine:0')) },
  });
  assert.deepEqual(signaturesOf(found), [
    'serving_default regress inputs=x:0/1 -> outputs=mine:0/9',
  ]);
  assert.deepEqual(
    found.opDefs?.map(({ name }) => name),
    ['MyOp'],
  );
});

const graphAny = (fill: Fill): Fill => anyList([any('tensorflow.GraphDef', fill)]);
const names = ({ graph: { nodes } }: LoadedGraph): readonly string[] =>
  nodes.map(({ name }) => name);

test('serving_graph counts before graph_def', (t) => {
  const found = load(t, {
    collections: { serving_graph: graphAny(graph([{ name: 'only', op: 'NoOp' }])) },
  });
  assert.deepEqual(names(found), ['only']);
});

test('uses the restore op of graph_def if only that has one, with its inputs', (t) => {
  const outer = graph([
    { name: 'v', op: 'Variable', attributes: FLOAT },
    { name: 'file', op: 'Const' },
    { name: 'unrelated', op: 'NoOp' },
    { name: 'read', op: 'RestoreV2', inputs: ['file'] },
    { name: 'assign', op: 'Assign', inputs: ['v', 'read:0', 'nowhere'] },
    { name: 'restore', op: 'NoOp', inputs: ['^assign'] },
  ]);
  const serving_graph = graphAny(
    graph([
      { name: 'v', op: 'Variable', attributes: FLOAT },
      { name: 'y', op: 'Identity', inputs: ['v'] },
    ]),
  );
  const found = load(t, {
    graph: outer,
    collections: { serving_graph },
    saver: { filename: 'file:0', restore: 'restore' },
  });
  assert.deepEqual(names(found), ['v', 'y', 'restore', 'assign', 'read', 'file']);
  assert.match(found.warnings.join(), /lacks the restore op "restore"/);
  const without = load(t, {
    collections: { serving_graph },
    saver: { filename: 'file:0', restore: 'restore' },
  });
  assert.deepEqual(names(without), ['v', 'y']);
});

test('wrong collections: several graphs, other types, several init ops, no such op', (t) => {
  const cases: readonly (readonly [key: string, fill: Fill, expected: RegExp])[] = [
    ['serving_graph', anyList([]), /serving_graph: expected one graph, got 0/],
    ['serving_graph', anyList([any('tensorflow.NodeDef', () => undefined)]), /"tensorflow.Node/],
    ['serving_graph', nodeList(['a']), /expected messages, got another kind/],
    ['serving_init_op', nodeList(['init', 'x']), /expected the name of one op, got 2/],
    ['serving_init_op', anyList([]), /got another kind of list/],
    ['serving_init_op', nodeList(['gone']), /init op "gone"/],
    [
      'serving_assets',
      anyList([
        any('tensorflow.serving.AssetFile', (writer) =>
          writer.message(1, binding('c:0')).string(2, '../../x'),
        ),
      ]),
      /asset "..\/..\/x"/,
    ],
  ];
  for (const [key, fill, expected] of cases) {
    assert.match(
      invalid(() => load(t, { collections: { [key]: fill } })),
      expected,
    );
  }
  assert.equal(load(t, { collections: { serving_init_op: nodeList(['init']) } }).initOp, 'init');
});

test('the checkpoint: V2, one V1 file, V1 shards, none', (t) => {
  const files = (...given: readonly string[]): unknown => {
    const found = load(t, {}, Object.fromEntries(given.map((name) => [name, '']))).checkpoint;
    if (found === undefined) return undefined;
    return found.version === 2
      ? found.prefix.split('/').at(-1)
      : found.files.map((file) => file.split('/').at(-1));
  };
  assert.equal(files(), undefined);
  assert.equal(files('export.index', 'export'), 'export');
  assert.deepEqual(files('export', 'export-00000-of-00001'), ['export']);
  assert.deepEqual(
    files(
      'export-00001-of-00002',
      'export-00000-of-00002',
      'export-0-of-1',
      'export-00000-of-00002.tmp',
    ),
    ['export-00000-of-00002', 'export-00001-of-00002'],
  );
});

test('a text export.meta', (t) => {
  const folder = filledFolder(t, {
    'export.meta': `
    graph_def { node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_HALF } } } }
    collection_def { key: "serving_signatures" value { any_list { value {
      [type.googleapis.com/tensorflow.serving.Signatures] {
        default_signature { regression_signature {
          input { tensor_name: "x:0" } output { tensor_name: "x:0" } } } } } } } }`,
  });
  assert.deepEqual(signaturesOf(loadGraph(folder)), [
    'serving_default regress inputs=x:0/19 -> outputs=x:0/19',
  ]);
  assert.equal(loadGraph(join(folder, 'export.meta')).format, 'session-bundle');
});
