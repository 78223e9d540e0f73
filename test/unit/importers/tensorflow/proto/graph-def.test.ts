// GraphDef, NodeDef, AttrValue, OpDef and FunctionDef from bytes; nesting and counts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAttrValue } from '../../../../../ts/importers/tensorflow/proto/attr-value.js';
import { readGraphDef } from '../../../../../ts/importers/tensorflow/proto/graph-def.js';
import {
  ITEMS_MAX,
  NESTING_MAX,
  ReadContext,
} from '../../../../../ts/importers/tensorflow/proto/read-context.js';
import {
  attr,
  entry,
  graph,
  invalid,
  message,
  node,
  readOf,
  readerOf,
  shape,
  utf8,
} from '../messages.js';
import type { Fill } from '../messages.js';

const EMPTY_LIST = {
  bytes: [],
  ints: [],
  floats: [],
  bools: [],
  types: [],
  shapes: [],
  tensors: [],
  functions: [],
};

test('attributes of every kind', () => {
  const cases: readonly (readonly [fill: Fill, expected: unknown])[] = [
    [attr.bytes('ab'), { kind: 'bytes', value: utf8('ab') }],
    [attr.int(-5), { kind: 'int', value: -5n }],
    [attr.int(2n ** 62n), { kind: 'int', value: 2n ** 62n }],
    [(writer) => writer.float(4, 0.5), { kind: 'float', value: 0.5 }],
    [(writer) => writer.varint(5, 1), { kind: 'bool', value: true }],
    [(writer) => writer.varint(5, 0), { kind: 'bool', value: false }],
    [attr.type(19), { kind: 'type', value: 'half' }],
    [attr.type(101), { kind: 'type', value: 'float' }],
    [attr.shape([2, -1]), { kind: 'shape', value: [2, undefined] }],
    [
      (writer) => writer.message(7, (inner) => inner.varint(3, 1)),
      { kind: 'shape', value: undefined },
    ],
    [(writer) => writer.string(9, 'T'), { kind: 'placeholder', value: 'T' }],
    [
      (writer) =>
        writer.message(10, (inner) => inner.string(1, 'f').message(2, entry('T', attr.type(3)))),
      {
        kind: 'function',
        value: { name: 'f', attributes: new Map([['T', { kind: 'type', value: 'int32' }]]) },
      },
    ],
    [attr.list(() => undefined), { kind: 'list', value: EMPTY_LIST }],
    [
      attr.list((writer) => writer.varint(3, 1).bytes(3, Uint8Array.of(2, 3))),
      { kind: 'list', value: { ...EMPTY_LIST, ints: [1n, 2n, 3n] } },
    ],
    [
      attr.list((writer) =>
        writer
          .string(2, 'x')
          .float(4, 2)
          .varint(5, 1)
          .varint(6, 9)
          .message(7, shape([1])),
      ),
      {
        kind: 'list',
        value: {
          ...EMPTY_LIST,
          bytes: [utf8('x')],
          floats: [2],
          bools: [true],
          types: ['int64'],
          shapes: [[1]],
        },
      },
    ],
    // A oneof: the last one counts.
    [(writer) => writer.varint(3, 1).varint(5, 1), { kind: 'bool', value: true }],
  ];
  for (const [fill, expected] of cases) assert.deepEqual(readOf(readAttrValue, fill), expected);
});

test('attributes without a value or of an unknown type are left out', () => {
  for (const fill of [
    () => undefined,
    attr.type(0),
    attr.type(99),
    attr.list((writer) => writer.varint(6, 1).varint(6, 99)),
    attr.tensor((writer) => writer.varint(1, 99)),
  ]) {
    assert.equal(readOf(readAttrValue, fill), undefined);
  }
  assert.deepEqual(readOf(readAttrValue, attr.type(29)), { kind: 'unserved type', value: 'int4' });
  const found = readOf(
    readGraphDef,
    graph([
      {
        name: 'a',
        op: 'A',
        attributes: {
          good: attr.type(1),
          bad: attr.type(0),
        },
      },
    ]),
  );
  assert.deepEqual([...(found.nodes[0]?.attributes.keys() ?? [])], ['good']);
});

test('functions inside attributes may nest only so deep', () => {
  const nested = (depth: number): Uint8Array => {
    let bytes = message(attr.int(1));
    for (let level = 0; level < depth; level += 1) {
      const inner = bytes;
      bytes = message((writer) =>
        writer.message(10, (ref) =>
          ref.message(2, (attribute) => attribute.string(1, 'f').bytes(2, inner)),
        ),
      );
    }
    return bytes;
  };
  assert.equal(readOf(readAttrValue, nested(NESTING_MAX))?.kind, 'function');
  assert.match(
    invalid(() => readOf(readAttrValue, nested(NESTING_MAX + 1))),
    /at most 32 deep/,
  );
  assert.match(
    invalid(() => readOf(readAttrValue, nested(2000))),
    /at most 32 deep/,
  );
});

test('a graph with functions', () => {
  const found = readOf(readGraphDef, (writer) => {
    graph(
      [
        { name: 'x', op: 'Placeholder', attributes: { dtype: attr.type(1) } },
        { name: 'y', op: 'f', inputs: ['x:0', '^x'] },
      ],
      1234,
    )(writer);
    writer.message(2, (library) =>
      library.message(1, (fn) => {
        fn.message(1, (op) => {
          op.string(1, 'f').message(2, (arg) => arg.string(1, 'a').varint(3, 1));
          op.message(3, (arg) => arg.string(1, 'b').string(4, 'T').string(5, 'N').varint(16, 1));
          op.message(3, (arg) => arg.string(1, 'c').string(6, 'Ts'));
          op.message(4, (def) => def.string(1, 'k').message(3, attr.int(3)));
          op.varint(17, 1);
        });
        fn.message(3, node({ name: 'n', op: 'Neg', inputs: ['a'] }));
        fn.message(4, (ret) => ret.string(1, 'b').string(2, 'n:y:0'));
        fn.message(5, entry('_attr', attr.bytes('v')));
        fn.message(6, (ret) => ret.string(1, 'done').string(2, 'n'));
      }),
    );
  });
  const arg = { typeAttr: '', numberAttr: '', typeListAttr: '', isRef: false };
  assert.equal(found.producer, 1234);
  assert.deepEqual(
    found.nodes.map(({ name, op, inputs }) => [name, op, inputs]),
    [
      ['x', 'Placeholder', []],
      ['y', 'f', ['x:0', '^x']],
    ],
  );
  assert.deepEqual(found.functions.get('f'), {
    signature: {
      name: 'f',
      inputs: [{ ...arg, name: 'a', type: 'float' }],
      outputs: [
        { ...arg, name: 'b', typeAttr: 'T', numberAttr: 'N', isRef: true },
        { ...arg, name: 'c', typeListAttr: 'Ts' },
      ],
      defaults: new Map([['k', { kind: 'int', value: 3n }]]),
      isStateful: true,
    },
    nodes: [{ name: 'n', op: 'Neg', inputs: ['a'], attributes: new Map() }],
    returns: new Map([['b', 'n:y:0']]),
    controlReturns: new Map([['done', 'n']]),
    attributes: new Map([['_attr', { kind: 'bytes', value: utf8('v') }]]),
  });
});

test('names must be there and be one of a kind', () => {
  const two = (name: string): Fill =>
    graph([
      { name, op: 'A' },
      { name, op: 'B' },
    ]);
  assert.match(
    invalid(() => readOf(readGraphDef, two('a'))),
    /expected one node "a", got two/,
  );
  assert.match(
    invalid(() => readOf(readGraphDef, two(''))),
    /expected names of nodes/,
  );
  const fn: Fill = (library) =>
    library.message(1, (inner) => inner.message(1, (op) => op.string(1, 'f')));
  assert.match(
    invalid(() => readOf(readGraphDef, (writer) => writer.message(2, fn).message(2, fn))),
    /expected one function "f", got two/,
  );
  assert.match(
    invalid(() =>
      readOf(readGraphDef, (writer) =>
        writer.message(2, (library) => library.message(1, () => undefined)),
      ),
    ),
    /FunctionDef: expected a name/,
  );
  assert.match(
    invalid(() =>
      readOf(readGraphDef, (writer) =>
        writer.message(1, (inner) => inner.bytes(1, Uint8Array.of(0xff))),
      ),
    ),
    /not valid UTF-8/,
  );
});

test('more items than the limit are refused', () => {
  const context = new ReadContext();
  context.count(ITEMS_MAX);
  const bytes = message(graph([{ name: 'a', op: 'A' }]));
  assert.match(
    invalid(() => readGraphDef(readerOf(bytes), context)),
    /at most 10000000 nodes/,
  );
});

test('damaged bytes: cut off, a length beyond the end, an endless number', () => {
  const bytes = message(graph([{ name: 'a', op: 'A', attributes: { s: attr.bytes('xyz') } }]));
  let cuts = 0;
  for (let length = 1; length < bytes.length; length += 1) {
    try {
      readOf(readGraphDef, bytes.subarray(0, length));
    } catch {
      invalid(() => readOf(readGraphDef, bytes.subarray(0, length)));
      cuts += 1;
    }
  }
  assert.ok(cuts > bytes.length / 2, `${cuts} of ${bytes.length}`);
  for (const hex of ['0affffffffffffffffff01', '0affffffff0f61', `0a${'ff'.repeat(12)}`, '0b']) {
    invalid(() => readOf(readGraphDef, Buffer.from(hex, 'hex')));
  }
});
