// Hostile and damaged models through the whole import: only ServalErrors, in a short time, with
// memory in proportion to the file.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { ImportedModel } from '../../../../ts/importers/tensorflow/imported.js';
import { importTensorFlow } from '../../../../ts/importers/tensorflow/index.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';
import { floats, plusModel, xToY } from '../run/support.js';
import { randomNumbers } from './checkpoint/random.js';
import { MODELS } from './load/support.js';
import {
  attr,
  graph,
  node,
  savedModel,
  shape as shapeOf,
  type Fill,
  type NodeText,
} from './messages.js';

/**
 * The CPU time of one import, including the collector's threads. The largest models within the
 * limits of prepare/limits.ts take about 2 s; a model that no limit stopped would take forever.
 */
const LIMIT_MS = 30_000;
const FLOAT = attr.type(1);
const T = { T: FLOAT };
const X: NodeText = { name: 'x', op: 'Placeholder', attributes: { dtype: FLOAT } };

/** The import's model, or its error. */
function imported(path: string, workFolder: string): ImportedModel | ServalError {
  const began = process.cpuUsage();
  try {
    return importTensorFlow(path, { workFolder });
  } catch (error) {
    assert.ok(error instanceof ServalError, `${(error as Error).stack}`);
    assert.notEqual(error.code, ErrorCode.Internal, error.message);
    return error;
  } finally {
    // CPU time rather than wall time, because other work on the machine does not count.
    const { user, system } = process.cpuUsage(began);
    const ms = (user + system) / 1000;
    assert.ok(ms < LIMIT_MS, `${ms} ms`);
  }
}

interface FunctionText {
  readonly name: string;
  readonly nodes: readonly NodeText[];
  /** The name of its result. */
  readonly result: string;
}

/** A FunctionDef from float "a" to float "r". */
const functionDef =
  ({ name, nodes, result }: FunctionText): Fill =>
  (writer) => {
    writer.message(1, (signature) =>
      signature
        .string(1, name)
        .message(2, (arg) => arg.string(1, 'a').varint(3, 1))
        .message(3, (arg) => arg.string(1, 'r').varint(3, 1)),
    );
    for (const each of nodes) writer.message(3, node(each));
    writer.message(4, (entry) => entry.string(1, 'r').string(2, result));
  };

/** A SavedModel from x to y. */
function model(nodes: readonly NodeText[], functions: readonly FunctionText[] = []): Uint8Array {
  const plain = graph([X, ...nodes]);
  return savedModel([
    {
      tags: ['serve'],
      signatures: { serving_default: xToY },
      graph: (writer) => {
        plain(writer);
        writer.message(2, (library) => {
          for (const each of functions) library.message(1, functionDef(each));
        });
      },
    },
  ]);
}

/** The outcome: "served", or the text of the error. */
function outcome(t: TestContext, bytes: Uint8Array): string {
  const folder = filledFolder(t, { 'saved_model.pb': bytes });
  const result = imported(folder, tempFolder(t));
  if (result instanceof ServalError) return result.message;
  const [problem] = result.blocked[0]?.problems ?? [];
  return problem === undefined ? 'served' : `${problem.op}: ${problem.reason}`;
}

const func =
  (name: string): Fill =>
  (writer) =>
    writer.message(10, (value) => value.string(1, name));
const types = attr.list((list) => list.varint(6, 1));
const CALL = { Tin: types, Tout: types };
const call = (name: string, of: string, input: string): NodeText => ({
  name,
  op: 'PartitionedCall',
  inputs: [input],
  attributes: { ...CALL, f: func(of) },
});
const branch = (name: string, of: readonly [string, string], input: string): NodeText => ({
  name,
  op: 'If',
  inputs: [input, input],
  attributes: { ...CALL, Tcond: FLOAT, then_branch: func(of[0]), else_branch: func(of[1]) },
});
const neg = (name: string, input: string): NodeText => ({
  name,
  op: 'Neg',
  inputs: [input],
  attributes: T,
});
const IDENTITY: FunctionText = { name: 'last', nodes: [neg('n', 'a')], result: 'n:y:0' };

test('the originals of the hostile models are valid', (t) => {
  assert.equal(outcome(t, model([neg('y', 'x')])), 'served');
  assert.equal(outcome(t, model([call('y', 'last', 'x')], [IDENTITY])), 'served');
  assert.equal(outcome(t, model([branch('y', ['last', 'last'], 'x')], [IDENTITY])), 'served');
});

test('functions that call each other', (t) => {
  const self: FunctionText = {
    name: 'self',
    nodes: [call('c', 'self', 'a')],
    result: 'c:output:0',
  };
  assert.match(outcome(t, model([call('y', 'self', 'x')], [self])), /"?self"?/);
  const there: FunctionText = { name: 'f', nodes: [call('c', 'g', 'a')], result: 'c:output:0' };
  const back: FunctionText = { name: 'g', nodes: [call('c', 'f', 'a')], result: 'c:output:0' };
  assert.match(outcome(t, model([call('y', 'f', 'x')], [there, back])), /calls itself|"f"|"g"/);
});

test('branches and loops of which a body is themselves', (t) => {
  const again: FunctionText = {
    name: 'again',
    nodes: [branch('i', ['again', 'last'], 'a')],
    result: 'i:output:0',
  };
  const first = branch('y', ['again', 'last'], 'x');
  assert.match(outcome(t, model([first], [again, IDENTITY])), /again/);
  const loop = (name: string, input: string): NodeText => ({
    name,
    op: 'While',
    inputs: [input],
    attributes: { T: types, cond: func('cond'), body: func('body') },
  });
  const cond: FunctionText = { name: 'cond', nodes: [loop('w', 'a')], result: 'w:output:0' };
  const body: FunctionText = { name: 'body', nodes: [loop('w', 'a')], result: 'w:output:0' };
  assert.match(outcome(t, model([loop('y', 'x')], [cond, body])), /cond|body/);
});

test('deep nesting', (t) => {
  for (const nested of [
    (i: number): NodeText => call('c', `f${i}`, 'a'),
    (i: number): NodeText => branch('c', [`f${i}`, 'last'], 'a'),
  ]) {
    const functions = Array.from(
      { length: 2000 },
      (_, i): FunctionText => ({ name: `f${i}`, nodes: [nested(i + 1)], result: 'c:output:0' }),
    );
    const first = { ...nested(0), name: 'y' };
    const all = [...functions, { ...IDENTITY, name: 'f2000' }, IDENTITY];
    const text = outcome(t, model([{ ...first, inputs: first.inputs?.map(() => 'x') ?? [] }], all));
    assert.notEqual(text, 'served');
  }
});

test('functions that double what they call', (t) => {
  for (const twice of [
    (i: number): NodeText[] => [call('c', `f${i}`, 'a'), call('d', `f${i}`, 'c:output:0')],
    (i: number): NodeText[] => [branch('d', [`f${i}`, `f${i}`], 'a')],
    (i: number): NodeText[] => [
      branch('c', [`f${i}`, `f${i}`], 'a'),
      branch('d', [`f${i}`, `f${i}`], 'c:output:0'),
    ],
  ]) {
    const functions = Array.from(
      { length: 60 },
      (_, i): FunctionText => ({ name: `f${i}`, nodes: twice(i + 1), result: 'd:output:0' }),
    );
    const bytes = model([call('y', 'f0', 'x')], [...functions, { ...IDENTITY, name: 'f60' }]);
    assert.notEqual(outcome(t, bytes), 'served');
  }
});

const LONG = 100_000;

test('chains of 100,000 nodes', (t) => {
  const chain = (op: string, link: (i: number) => Partial<NodeText>): NodeText[] => [
    ...Array.from(
      { length: LONG },
      (_, i): NodeText => ({ name: `n${i}`, op, attributes: T, ...link(i) }),
    ),
    neg('y', `n${LONG - 1}`),
  ];
  const before = (i: number): string => (i === 0 ? 'x' : `n${i - 1}`);
  assert.equal(outcome(t, model(chain('Neg', (i) => ({ inputs: [before(i)] })))), 'served');
  assert.equal(outcome(t, model(chain('Identity', (i) => ({ inputs: [before(i)] })))), 'served');
  assert.equal(
    outcome(t, model(chain('Neg', (i) => ({ inputs: ['x', `^${before(i)}`] })))),
    'served',
  );
});

test('a long circle', (t) => {
  const nodes = Array.from({ length: LONG }, (_, i) => neg(`n${i}`, `n${(i + 1) % LONG}`));
  assert.match(
    outcome(t, model([...nodes, neg('y', 'n0')])),
    /has a cycle|depends on its own output/,
  );
});

/** A TensorProto of this shape that repeats one float. */
const filled = (...dims: readonly number[]): Fill =>
  attr.tensor((writer) => {
    writer
      .varint(1, 1)
      .message(2, (shape) => {
        for (const dim of dims) shape.message(2, (one) => one.varint(1, dim));
      })
      .float(5, 1.5);
  });
const constant = (name: string, value: Fill): NodeText => ({
  name,
  op: 'Const',
  attributes: { dtype: FLOAT, value },
});
const add = (name: string, a: string, b: string): NodeText => ({
  name,
  op: 'AddV2',
  inputs: [a, b],
  attributes: T,
});

test('constants that repeat one element take no memory', (t) => {
  const before = process.memoryUsage.rss();
  for (const dims of [[2 ** 31], [2 ** 40, 2 ** 20], [2 ** 28]]) {
    assert.notEqual(
      outcome(t, model([constant('c', filled(...dims)), add('y', 'x', 'c')])),
      'served',
    );
  }
  const many = Array.from({ length: 60 }, (_, i) => [
    constant(`c${i}`, filled(2 ** 25 - i)),
    add(i === 59 ? 'y' : `s${i}`, i === 0 ? 'x' : `s${i - 1}`, `c${i}`),
  ]).flat();
  assert.match(outcome(t, model(many)), /bytes in total/);
  assert.ok(process.memoryUsage.rss() - before < 2 ** 30);
});

test('operators that make much of little', (t) => {
  const ints = (...values: number[]): Fill =>
    attr.tensor((writer) => {
      writer.varint(1, 3).message(2, shapeOf([values.length]));
      for (const value of values) writer.varint(7, value);
    });
  const int = (name: string, ...values: number[]): NodeText => ({
    name,
    op: 'Const',
    attributes: { dtype: attr.type(3), value: ints(...values) },
  });
  const INDEX = { index_type: attr.type(3), T: FLOAT };
  const doubling = Array.from(
    { length: 40 },
    (_, i): NodeText => ({
      name: `c${i + 1}`,
      op: 'ConcatV2',
      inputs: [`c${i}`, `c${i}`, 'axis'],
      attributes: { T: attr.type(3), Tidx: attr.type(3), N: attr.int(2) },
    }),
  );
  const scalar: Fill = attr.tensor((writer) => {
    writer.varint(1, 3).varint(7, 0);
  });
  const axis: NodeText = {
    name: 'axis',
    op: 'Const',
    attributes: {
      dtype: attr.type(3),
      value: scalar,
    },
  };
  outcome(
    t,
    model([
      int('c0', 1, 2, 3, 4),
      axis,
      ...doubling,
      {
        name: 'y',
        op: 'Reshape',
        inputs: ['x', 'c40'],
        attributes: { T: FLOAT, Tshape: attr.type(3) },
      },
    ]),
  );
  outcome(
    t,
    model([
      int('dims', 2 ** 31 - 1),
      constant('one', filled()),
      {
        name: 'f',
        op: 'Fill',
        inputs: ['dims', 'one'],
        attributes: INDEX,
      },
      add('y', 'x', 'f'),
    ]),
  );
  outcome(
    t,
    model([
      int('dims', 2 ** 30, 2 ** 30),
      constant('one', floats(1)),
      {
        name: 'f',
        op: 'Tile',
        inputs: ['one', 'dims'],
        attributes: { T: FLOAT, Tmultiples: attr.type(3) },
      },
      add('y', 'x', 'f'),
    ]),
  );
});

type RandomNumbers = ReturnType<typeof randomNumbers>;

/** A copy with some bytes changed, removed, doubled, or moved. */
function mutated(random: RandomNumbers, original: Uint8Array): Uint8Array {
  const bytes = Buffer.from(original);
  const at = (): number => random(bytes.length);
  switch (random(5)) {
    case 0:
      for (let i = random(4); i >= 0; i--) bytes[at()] = random(256);
      return bytes;
    case 1: {
      const where = at();
      bytes[where] = (bytes[where] ?? 0) ^ (1 << random(8));
      return bytes;
    }
    case 2:
      return bytes.subarray(0, at());
    case 3: {
      const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number];
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
    }
    default: {
      const piece = Buffer.from(bytes.subarray(at()).subarray(0, random(64)));
      piece.copy(bytes, at());
      return bytes;
    }
  }
}

const SHARED = [
  'saved_model_half_plus_two_tf2_cpu',
  'saved_model_half_plus_two_mkl',
  'saved_model_counter',
].map((name) => join(MODELS, 'tfserving', name, '00000123'));

test('damaged SavedModels', (t) => {
  const nested = model(
    [branch('b', ['inner', 'last'], 'x'), call('y', 'inner', 'b')],
    [IDENTITY, { name: 'inner', nodes: [call('c', 'last', 'a')], result: 'c:output:0' }],
  );
  const workFolder = tempFolder(t);
  const folder = tempFolder(t);
  const path = join(folder, 'saved_model.pb');
  const random = randomNumbers(7);
  const seen = { served: 0, refused: 0 };
  const originals = [plusModel(3), nested];
  for (let i = 0; i < 400; i++) {
    writeFileSync(path, mutated(random, originals[i % originals.length] ?? nested));
    const result = imported(folder, workFolder);
    if (result instanceof ServalError || result.graphs.length === 0) seen.refused += 1;
    else seen.served += 1;
  }
  assert.ok(seen.refused > 100 && seen.served > 20, JSON.stringify(seen));
});

test('damaged models of others', (t) => {
  const folders = SHARED.filter((folder) => existsSync(folder));
  if (folders.length === 0) {
    t.skip(`${MODELS} is not on this machine`);
    return;
  }
  const workFolder = tempFolder(t);
  const random = randomNumbers(11);
  for (const original of folders) {
    const files = [
      'saved_model.pb',
      'variables/variables.index',
      'variables/variables.data-00000-of-00001',
    ];
    const contents = files.map((file) => readFileSync(join(original, file)));
    const folder = filledFolder(
      t,
      Object.fromEntries(files.map((file, i) => [file, contents[i] ?? ''])),
    );
    for (let i = 0; i < 60; i++) {
      const which = i % 4 === 3 ? 1 + random(2) : 0;
      const path = join(folder, files[which] ?? '');
      writeFileSync(path, mutated(random, contents[which] ?? Buffer.alloc(1)));
      imported(folder, workFolder);
      writeFileSync(path, contents[which] ?? '');
    }
    assert.ok(!(imported(folder, workFolder) instanceof ServalError));
  }
});
