// Protobuf descriptors in a graph, and the ones that DecodeProtoV2 and EncodeProto refuse.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProtobufWriter } from '../../../../../ts/protobuf/writer.js';
import {
  readDescriptors,
  TYPES,
} from '../../../../../ts/importers/tensorflow/ops/protos/descriptors.js';
import type { Attribute } from '../../../../../ts/importers/tensorflow/types.js';
import { bool, list, text as textAttribute, types, utf8 } from '../prepare/graphs.js';
import { invalid } from '../messages.js';
import { lowerOne, refusal, tensor } from './lower-one.js';

type Fill = (writer: ProtobufWriter) => void;

const field =
  (name: string, number: number, type: number, more: Fill = () => undefined): Fill =>
  (writer) => {
    writer.string(1, name).varint(3, number).varint(4, 1).varint(5, type);
    more(writer);
  };

/**
 * A file of package p with message M, which contains message Inner and enum E, and an extension of
 * M.
 */
function set(): Uint8Array {
  const writer = new ProtobufWriter();
  writer.message(1, (file) => {
    file.string(2, 'p');
    file.message(4, (message) => {
      message.string(1, 'M');
      message.message(2, field('i', 1, TYPES.int32));
      message.message(
        2,
        field('e', 2, TYPES.enum, (own) => own.string(6, '.p.M.E').string(7, 'B')),
      );
      message.message(3, (inner) => {
        inner.string(1, 'Inner').message(2, field('s', 1, TYPES.string));
      });
      message.message(4, (own) => {
        own.string(1, 'E').message(2, (value) => value.string(1, 'A').varint(2, 4));
        own.message(2, (value) => value.string(1, 'B').varint(2, 7));
      });
    });
    file.message(
      7,
      field('more', 100, TYPES.bytes, (own) => own.string(2, '.p.M')),
    );
  });
  return new Uint8Array(writer.concat());
}

const attributes = (more: Readonly<Record<string, Attribute>>): Record<string, Attribute> => ({
  descriptor_source: {
    kind: 'bytes',
    value: new Uint8Array(Buffer.concat([Buffer.from('bytes://'), set()])),
  },
  message_type: textAttribute('p.M'),
  field_names: list({ bytes: [utf8('i')] }),
  output_types: types('int32'),
  ...more,
});

const messages = tensor('string', [undefined]);

test('messages inside messages, enums and extensions are found by their full names', () => {
  const { messages: found, enums, extensions } = readDescriptors(set());
  assert.deepEqual([...found.keys()], ['p.M.Inner', 'p.M']);
  assert.deepEqual(
    [...enums],
    [
      [
        'p.M.E',
        [
          ['A', 4],
          ['B', 7],
        ],
      ],
    ],
  );
  assert.equal(extensions.get('p.more')?.extendee, 'p.M');
  assert.match(
    invalid(() => readDescriptors(Uint8Array.of(10, 200))),
    /FileDescriptorSet/,
  );
});

test('sizes and values have the dims of the messages and one more', () => {
  const names = list({ bytes: [utf8('e'), utf8('p.more')] });
  const { values, nodes } = lowerOne(
    'DecodeProtoV2',
    [messages],
    attributes({ field_names: names, output_types: types('int32', 'string') }),
  );
  assert.deepEqual(nodes, ['DecodeProto']);
  assert.deepEqual(
    values.map(({ dtype, shape }) => [dtype, shape]),
    [
      ['int32', [undefined, 2]],
      ['int32', [undefined, undefined]],
      ['string', [undefined, undefined]],
    ],
  );
});

describe('a message is refused', () => {
  const cases: readonly (readonly [string, RegExp, Readonly<Record<string, Attribute>>])[] = [
    [
      'of a type that there is not',
      /No descriptor found for message type p\.N/,
      {
        message_type: textAttribute('p.N'),
      },
    ],
    [
      'for a field that it has not',
      /Unknown field: x in message type p\.M/,
      {
        field_names: list({ bytes: [utf8('x')] }),
      },
    ],
    [
      'as another type of tensor',
      /field i: expected int32 or int64, got float/,
      {
        output_types: types('float'),
      },
    ],
    ['as text', /message_format text/, { message_format: textAttribute('text') }],
    ['with sanitize', /sanitize/, { sanitize: bool(true) }],
    [
      'by a file of descriptors',
      /"\/tmp\/d\.pb", which the model does not contain/,
      {
        descriptor_source: textAttribute('/tmp/d.pb'),
      },
    ],
    [
      'of more names than types',
      /1 field names, but 2 types/,
      {
        output_types: types('int32', 'int32'),
      },
    ],
  ];
  for (const [what, expected, more] of cases) {
    test(what, () => {
      assert.match(refusal('DecodeProtoV2', [messages], attributes(more)), expected);
    });
  }
});
