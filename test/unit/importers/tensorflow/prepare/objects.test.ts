// Variables without a value after the restore op: matched by the object graphs, never by names.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { META_GRAPH_DEF } from '../../../../../ts/protobuf/generated/tensorflow-graph.js';
import { ProtobufWriter } from '../../../../../ts/protobuf/writer.js';
import { readMetaGraph } from '../../../../../ts/importers/tensorflow/proto/meta-graph.js';
import { readSavedObjects } from '../../../../../ts/importers/tensorflow/proto/object-graph.js';
import { encodeTextProto } from '../../../../../ts/importers/tensorflow/proto/text-wire.js';
import type {
  LoadedGraph,
  NodeDef,
  PreparedModel,
  SavedObjects,
  Tensor,
} from '../../../../../ts/importers/tensorflow/types.js';
import { invalid, readOf, utf8 } from '../messages.js';
import {
  arg,
  call,
  checkpoint,
  constant,
  floats,
  fun,
  graph,
  loaded,
  node,
  prepared,
  strings,
  type,
  types,
  variable,
  variablesOf,
} from './graphs.js';

const FLOAT = { T: type('float') };
const KEY = (path: string): string => `${path}/.ATTRIBUTES/VARIABLE_VALUE`;

/** An object: its children by name, and its key in a checkpoint. */
interface ObjectText {
  readonly parts?: Readonly<Record<string, number>>;
  readonly key?: string;
  readonly name?: string;
}

/** A TrackableObjectGraph. */
function stored(objects: readonly ObjectText[]): Tensor {
  const writer = new ProtobufWriter();
  for (const { parts = {}, key, name = '' } of objects) {
    writer.message(1, (object) => {
      for (const [part, id] of Object.entries(parts)) {
        object.message(1, (child) => child.varint(1, id).string(2, part));
      }
      if (key === undefined) return;
      object.message(2, (value) =>
        value.string(1, 'VARIABLE_VALUE').string(2, name).string(3, key),
      );
    });
  }
  return {
    dtype: 'string',
    shape: [],
    data: { kind: 'strings', values: [new Uint8Array(writer.concat())] },
  };
}

/** A SavedModel's objects; `serve` captures those with these numbers. */
function objects(
  parts: readonly Readonly<Record<string, number>>[],
  serve: readonly number[],
): SavedObjects {
  return {
    nodes: parts.map((one) => ({ children: new Map(Object.entries(one)) })),
    boundInputs: new Map([['serve_fn', serve]]),
  };
}

const FILE = node('file', 'Placeholder', [], { dtype: type('string') });

/**
 * x + handles, through a call of a function that captures them; the saver restores only `restored`.
 */
function model(
  handles: readonly string[],
  restored: Readonly<Record<string, string>> = {},
): readonly [readonly NodeDef[], ReturnType<typeof fun>] {
  const names = handles.map((_, i) => `v${i}`);
  const body = fun('serve_fn', {
    inputs: ['x', ...names.map((name) => arg(name, 'resource'))],
    nodes: names.flatMap((name, i) => [
      node(`r${i}`, 'ReadVariableOp', [name], { dtype: type('float') }),
      node(`y${i}`, 'AddV2', [i === 0 ? 'x' : `y${i - 1}:z:0`, `r${i}:value:0`], FLOAT),
    ]),
    returns: { out: `y${handles.length - 1}:z:0` },
  });
  const entries = Object.entries(restored);
  const nodes = [
    node('x', 'Placeholder', [], { dtype: type('float') }),
    ...handles.map((name) => variable(name)),
    call('y', 'serve_fn', ['x', ...handles], ['float']),
    ...(entries.length === 0 ? [] : restoring(entries)),
  ];
  return [nodes, body];
}

function restoring(entries: readonly (readonly [string, string])[]): NodeDef[] {
  const dims = [entries.length];
  return [
    FILE,
    constant(
      'names',
      strings(
        entries.map(([, key]) => key),
        dims,
      ),
    ),
    constant(
      'slices',
      strings(
        entries.map(() => ''),
        dims,
      ),
    ),
    node('read', 'RestoreV2', ['file', 'names', 'slices'], {
      dtypes: types(...entries.map((): 'float' => 'float')),
    }),
    ...entries.map(([name], i) =>
      node(`s${i}`, 'AssignVariableOp', [name, `read:${i}`], { dtype: type('float') }),
    ),
    node(
      'restore',
      'NoOp',
      entries.map((_, i) => `^s${i}`),
    ),
  ];
}

function run(
  [nodes, body]: ReturnType<typeof model>,
  tensors: Readonly<Record<string, Tensor>>,
  more: Partial<LoadedGraph>,
): PreparedModel {
  return prepared(loaded(graph(nodes, body), ['y'], more, ['x']), checkpoint(tensors));
}

const WITHOUT = { saver: undefined };
const VALUES = { [KEY('a')]: floats([1]), [KEY('b')]: floats([2]) };
/** Two variables that were both called "same". */
const STORED = stored([
  { parts: { a: 1, b: 2 } },
  { key: KEY('a'), name: 'same' },
  { key: KEY('b'), name: 'same' },
]);
/** The SavedModel numbers them differently. */
const SAVED = [{ b: 1, a: 2 }, {}, {}];

describe('a variable without a value', () => {
  test('gets that of the object that a call captures as this argument', () => {
    const tensors = { ...VALUES, _CHECKPOINTABLE_OBJECT_GRAPH: STORED };
    for (const [bound, a, b] of [
      [[2, 1], 1, 2],
      [[1, 2], 2, 1],
    ] as const) {
      const found = run(model(['same', 'same_1']), tensors, {
        ...WITHOUT,
        objects: objects(SAVED, bound),
      });
      assert.deepEqual(variablesOf(found), { same: [a], same_1: [b] });
      assert.deepEqual(found.state.warnings, []);
    }
  });

  test('gets no value of a key that is spelled as it is named', () => {
    const tensors = { ...VALUES, same: floats([9]), _CHECKPOINTABLE_OBJECT_GRAPH: stored([{}]) };
    const found = run(model(['same']), tensors, { ...WITHOUT, objects: objects([{}, {}], [1]) });
    assert.deepEqual(variablesOf(found), {});
  });

  test('does not change what the restore op has set', () => {
    const tensors = { ...VALUES, _CHECKPOINTABLE_OBJECT_GRAPH: STORED };
    const parts = model(['copy', 'same'], { copy: KEY('b') });
    const found = run(parts, tensors, { objects: objects(SAVED, [2, 2]) });
    assert.deepEqual(variablesOf(found), { copy: [2], same: [1] });
  });

  test('is found through parts of parts that lead back', () => {
    const nested = [{ layers: 1, self: 0 }, { 0: 2, up: 0 }, { kernel: 3 }, {}];
    const tensors = {
      w: floats([7]),
      _CHECKPOINTABLE_OBJECT_GRAPH: stored([
        { parts: { self: 0, layers: 3 } },
        { key: 'w' },
        { parts: { kernel: 1 } },
        { parts: { 0: 2, up: 0 } },
      ]),
    };
    const found = run(model(['v']), tensors, { ...WITHOUT, objects: objects(nested, [3]) });
    assert.deepEqual(variablesOf(found), { v: [7] });
  });

  test('fails the load where its value has another shape, or two share one name', () => {
    const wide = { ...VALUES, [KEY('a')]: floats([1, 2], [2]) };
    const load = (handles: string[], tensors: Readonly<Record<string, Tensor>>): string =>
      invalid(() =>
        run(
          model(handles),
          { ...tensors, _CHECKPOINTABLE_OBJECT_GRAPH: STORED },
          {
            ...WITHOUT,
            objects: objects(SAVED, [2, 1]),
          },
        ),
      );
    assert.match(load(['same', 'other'], wide), /"same": expected shape \[\], got \[2\]/);
    const [nodes, body] = model(['same', 'other']);
    const sharing = nodes.map((one) =>
      one.name === 'other' ? { ...variable('same'), name: 'other' } : one,
    );
    const tensors = { ...VALUES, _CHECKPOINTABLE_OBJECT_GRAPH: STORED };
    const more = { ...WITHOUT, objects: objects(SAVED, [2, 1]) };
    assert.match(
      invalid(() => run([sharing, body], tensors, more)),
      /two objects have the same name: "a\/.*" and "b\//,
    );
  });

  test('stays without one where the checkpoint has no object graph, or another function is called', () => {
    const more = { ...WITHOUT, objects: objects(SAVED, [2, 1]) };
    assert.deepEqual(variablesOf(run(model(['a', 'b']), VALUES, more)), {});
    const other = { ...more.objects, boundInputs: new Map([['another', [2, 1]]]) };
    const tensors = { ...VALUES, _CHECKPOINTABLE_OBJECT_GRAPH: STORED };
    const found = run(model(['a', 'b']), tensors, { ...WITHOUT, objects: other });
    assert.deepEqual(variablesOf(found), {});
  });
});

test('a graph without an object graph: a name that two objects have is no match', () => {
  const tensors = { ...VALUES, _CHECKPOINTABLE_OBJECT_GRAPH: STORED };
  const found = run(model(['same']), tensors, WITHOUT);
  assert.deepEqual(variablesOf(found), {});
  assert.match(found.state.warnings.join(), /not found: "same"/);
});

test('the object graph of a text form is that of the binary one', () => {
  const text = `object_graph_def {
    nodes { children { node_id: 1 local_name: "v" } user_object { identifier: "x" } }
    nodes { variable { dtype: DT_FLOAT shape { } name: "v" } registered_name: "r" }
    concrete_functions { key: "f" value { bound_inputs: 1 bound_inputs: 0
      canonicalized_input_signature { tuple_value { } } } } }`;
  const { objectGraph } = readOf(readMetaGraph, encodeTextProto(utf8(text), META_GRAPH_DEF));
  assert.ok(objectGraph !== undefined);
  const found = readOf(
    (_, context) => readSavedObjects(objectGraph(), context),
    () => undefined,
  );
  assert.deepEqual(found, {
    nodes: [{ children: new Map([['v', 1]]) }, { children: new Map() }],
    boundInputs: new Map([['f', [1, 0]]]),
  });
});
