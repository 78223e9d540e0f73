// Protobuf's text form of TensorFlow's messages, read through its binary form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGraphDef } from '../../../../../ts/importers/tensorflow/proto/graph-def.js';
import { readMetaGraph } from '../../../../../ts/importers/tensorflow/proto/meta-graph.js';
import {
  GRAPH_DEF,
  META_GRAPH_DEF,
} from '../../../../../ts/protobuf/generated/tensorflow-graph.js';
import {
  encodeTextProto,
  looksLikeText,
} from '../../../../../ts/importers/tensorflow/proto/text-wire.js';
import type { Attribute, GraphDef } from '../../../../../ts/importers/tensorflow/types.js';
import { graph, invalid, message, metaGraph, readOf, utf8 } from '../messages.js';

function graphOf(text: string): GraphDef {
  return readOf(readGraphDef, encodeTextProto(utf8(text), GRAPH_DEF));
}

function attribute(text: string): Attribute | undefined {
  const found = graphOf(`node { name: "a" op: "A" attr { key: "k" value { ${text} } } }`);
  return found.nodes[0]?.attributes.get('k');
}

test('tells text from binary', () => {
  for (const text of ['node {', '  # a\n# b\n\n node{', 'meta_graphs <', 'version: 3']) {
    assert.equal(looksLikeText(utf8(text)), true, text);
  }
  assert.equal(looksLikeText(message(graph([{ name: 'node { ', op: 'A' }]))), false);
  assert.equal(looksLikeText(message(metaGraph({ tags: ['serve'] }))), false);
  assert.equal(looksLikeText(utf8('')), false);
  assert.equal(looksLikeText(utf8('just words')), false);
});

test('values of every kind', () => {
  const tensor = (text: string): unknown => {
    const found = attribute(`tensor { ${text} }`);
    return found?.kind === 'tensor' ? found.value.data : undefined;
  };
  assert.deepEqual(attribute('type: DT_FLOAT_REF'), { kind: 'type', value: 'float' });
  assert.deepEqual(attribute('type: 9'), { kind: 'type', value: 'int64' });
  assert.deepEqual(attribute('type: DT_INT4'), { kind: 'unserved type', value: 'int4' });
  assert.deepEqual(attribute('i: -0x10'), { kind: 'int', value: -16n });
  assert.deepEqual(attribute('f: -inf'), { kind: 'float', value: -Infinity });
  assert.deepEqual(attribute('f: 1'), { kind: 'float', value: 1 });
  assert.deepEqual(attribute('b: True'), { kind: 'bool', value: true });
  assert.deepEqual(attribute('s: "\\000\\377" \'x\''), {
    kind: 'bytes',
    value: Uint8Array.of(0, 255, 0x78),
  });
  assert.deepEqual(attribute('shape { dim { size: -1 name: "n" } dim { size: 3 } }'), {
    kind: 'shape',
    value: [undefined, 3],
  });
  const list = attribute('list { i: 1 i: [2, 3] }');
  assert.deepEqual(list?.kind === 'list' ? list.value.ints : list, [1n, 2n, 3n]);
  assert.deepEqual(tensor('dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: -1'), {
    kind: 'bytes',
    bytes: new Uint8Array(8).fill(255),
  });
  assert.deepEqual(tensor('dtype: DT_DOUBLE double_val: 1.5'), {
    kind: 'bytes',
    bytes: new Uint8Array(new Float64Array([1.5]).buffer),
  });
  assert.deepEqual(tensor('dtype: DT_UINT64 uint64_val: 18446744073709551615'), {
    kind: 'bytes',
    bytes: new Uint8Array(8).fill(255),
  });
  assert.deepEqual(tensor('dtype: DT_UINT8 tensor_content: "\\001"'), {
    kind: 'bytes',
    bytes: Uint8Array.of(1),
  });
  const nested = attribute('func { name: "f" attr { key: "T" value { type: DT_BOOL } } }');
  assert.deepEqual(nested?.kind === 'function' ? nested.value.attributes.get('T') : nested, {
    kind: 'type',
    value: 'bool',
  });
});

test('messages that are not read may hold anything', () => {
  assert.equal(
    graphOf('node { name: "a" experimental_type { whatever: 1 [x.y/z] { q: 2 } } }').nodes.length,
    1,
  );
});

test('Any: expanded and as bytes', () => {
  const found = readOf(
    readMetaGraph,
    encodeTextProto(
      utf8(`
    collection_def { key: "k" value { any_list {
      value { [type.googleapis.com/tensorflow.serving.AssetFile] {
        tensor_binding { tensor_name: "c:0" } filename: "v" } }
      value { type_url: "type.googleapis.com/tensorflow.GraphDef" value: "\\n\\003\\n\\001a" }
      value { [type.googleapis.com/other.Thing] { a: 1 } }
    } } }`),
      META_GRAPH_DEF,
    ),
  );
  const list = found.collections.get('k');
  assert.ok(list?.kind === 'any');
  assert.deepEqual(
    list.values.map(({ typeName }) => typeName),
    ['tensorflow.serving.AssetFile', 'tensorflow.GraphDef', 'other.Thing'],
  );
  const graphReader = list.values[1]?.message();
  assert.ok(graphReader !== undefined && graphReader.next());
  assert.equal(graphReader.field, 1);
});

test('wrong text: where and what', () => {
  const cases: readonly (readonly [text: string, expected: RegExp])[] = [
    ['node { nam: "a" }', /line 1, column 8: unknown field "nam" of NodeDef/],
    ['node { name: 5 }', /name: expected string, got 5/],
    ['node: 3', /node: expected message, got 3/],
    ['\nnode { attr { key: "k" value { type: DT_NONE } } }', /line 2, .*type: expected enum/],
    ['node { attr { key: "k" value { i: 9223372036854775808 } } }', /i: expected int64/],
    ['node { attr { key: "k" value { b: 2 } } }', /b: expected bool, got 2/],
    ['node { attr { key: "k" value { f: "1" } } }', /f: expected float, got a string/],
    ['node { [x.y] { } }', /NodeDef has no extensions/],
    ['node { name: "a"', /GraphDef:1/],
    [`${'node { attr { value { func { '.repeat(30)}`, /GraphDef:1/],
  ];
  for (const [text, expected] of cases)
    assert.match(
      invalid(() => graphOf(text)),
      expected,
    );
  assert.match(
    invalid(() => encodeTextProto(Uint8Array.of(0x61, 0xff), GRAPH_DEF)),
    /UTF-8/,
  );
});
