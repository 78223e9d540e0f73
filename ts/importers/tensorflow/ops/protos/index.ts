// Protobuf messages to tensors of their fields and back, by Serval's own operators. The descriptors
// are parsed here, once. Importer's worker thread. Source:
// tensorflow/core/ops/{decode,encode}_proto_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import { numbersTensor, tensorBytes } from '../../lower/tensors.js';
import type { Dtype, Shape } from '../../types.js';
import { emit } from '../strings/elements.js';
import { netstrings, typeNumbers } from '../features/attributes.js';
import {
  type Descriptors,
  LINKED,
  type ProtoField,
  readDescriptors,
  TYPES,
} from './descriptors.js';

const BYTES_SOURCE = Buffer.from('bytes://');
const LOCAL_SOURCE = 'local://';

function descriptorsOf(cx: OpContext): Descriptors {
  const source = Buffer.from(cx.bytes('descriptor_source', Buffer.from(LOCAL_SOURCE)));
  if (source.subarray(0, BYTES_SOURCE.length).equals(BYTES_SOURCE)) {
    return readDescriptors(new Uint8Array(source.subarray(BYTES_SOURCE.length)));
  }
  if (source.length === 0 || source.toString() === LOCAL_SOURCE) return LINKED;
  return cx.fail(
    `descriptor_source is the file ${JSON.stringify(source.toString().slice(0, 200))}, which the ` +
      'model does not contain: expected bytes:// with a FileDescriptorSet, or local://',
  );
}

/** The fields that the node names, in its order. */
function fieldsOf(cx: OpContext, descriptors: Descriptors): ProtoField[] {
  const type = cx.text('message_type');
  const fields = descriptors.messages.get(type);
  if (fields === undefined) return cx.fail(`No descriptor found for message type ${type}`);
  return cx.list('field_names').bytes.map((bytes) => {
    const name = Buffer.from(bytes).toString();
    const extension = descriptors.extensions.get(name);
    const found =
      fields.find((one) => one.name === name) ??
      (extension?.extendee === type ? extension : undefined);
    return found ?? cx.fail(`Unknown field: ${name} in message type ${type}`);
  });
}

/** Tensor types that a field may have. */
function allowed(type: number): readonly Dtype[] {
  switch (type) {
    case TYPES.double:
      return ['double'];
    case TYPES.float:
      return ['float', 'double'];
    case TYPES.int64:
    case TYPES.sfixed64:
    case TYPES.sint64:
      return ['int64'];
    case TYPES.uint64:
    case TYPES.fixed64:
      return ['uint64'];
    case TYPES.int32:
    case TYPES.sfixed32:
    case TYPES.sint32:
      return ['int32', 'int64'];
    case TYPES.uint32:
    case TYPES.fixed32:
      return ['uint32', 'uint64'];
    case TYPES.bool:
      return ['bool'];
    case TYPES.enum:
      return ['int32'];
    default:
      return ['string'];
  }
}

function checkTypes(cx: OpContext, fields: readonly ProtoField[], dtypes: readonly Dtype[]): void {
  if (fields.length !== dtypes.length) {
    cx.fail(`${fields.length} field names, but ${dtypes.length} types`);
  }
  fields.forEach(({ name, type }, i) => {
    const dtype = dtypes[i] ?? 'string';
    const expected = allowed(type);
    if (!expected.includes(dtype)) {
      cx.fail(`field ${name}: expected ${expected.join(' or ')}, got ${dtype}`);
    }
  });
}

/** Value of a field that is not set, in the operator's form. */
function fallback(field: ProtoField, dtype: Dtype, { enums }: Descriptors): Uint8Array {
  const { type, fallback: text, isRepeated } = field;
  const isMessage = type === TYPES.message || type === TYPES.group;
  if (dtype === 'string') {
    if (isMessage || isRepeated || text === undefined) return new Uint8Array();
    const value = type === TYPES.bytes ? unescaped(text) : Buffer.from(text);
    // TensorFlow stores it as a C string.
    const end = value.indexOf(0);
    return new Uint8Array(end < 0 ? value : value.subarray(0, end));
  }
  if (type === TYPES.enum) {
    const values = enums.get(field.typeName) ?? [];
    const named = values.find(([name]) => name === text) ?? values[0];
    return tensorBytes(numbersTensor(dtype, [], [named?.[1] ?? 0]));
  }
  if (type === TYPES.bool) return Uint8Array.of(text === 'true' ? 1 : 0);
  if (dtype === 'int64' || dtype === 'uint64') return wide(BigInt(text ?? 0));
  const number = { inf: Infinity, '-inf': -Infinity, nan: NaN }[text ?? '0'] ?? Number(text ?? 0);
  return tensorBytes(numbersTensor(dtype, [], [number]));
}

function wide(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value));
  return new Uint8Array(bytes);
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 };

/** Decodes C escapes, which descriptors use for bytes. */
function unescaped(text: string): Buffer {
  const parts = text.match(/\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2}|\\.|[^\\]+/gs) ?? [];
  return Buffer.concat(
    parts.map((part) => {
      if (!part.startsWith('\\')) return Buffer.from(part);
      const body = part.slice(1);
      if (/^[0-7]+$/.test(body)) return Buffer.from([Number.parseInt(body, 8) & 255]);
      if (/^x./.test(body)) return Buffer.from([Number.parseInt(body.slice(1), 16)]);
      return Buffer.from([ESCAPES[body] ?? body.charCodeAt(0)]);
    }),
  );
}

const LENGTHS: ReadonlySet<number> = new Set([
  TYPES.string,
  TYPES.bytes,
  TYPES.message,
  TYPES.group,
]);

const isPacked = ({ isRepeated, packed, isProto3, type }: ProtoField): boolean =>
  isRepeated && !LENGTHS.has(type) && (packed ?? isProto3);

function attributesOf(
  fields: readonly ProtoField[],
  dtypes: readonly Dtype[],
  descriptors: Descriptors,
): OnnxAttributes {
  const flags = (values: readonly boolean[]): { ints: number[] } => ({ ints: values.map(Number) });
  return {
    numbers: { ints: fields.map(({ number }) => number) },
    types: { ints: fields.map(({ type }) => type) },
    repeated: flags(fields.map(({ isRepeated }) => isRepeated)),
    packed: flags(fields.map(isPacked)),
    dtypes: typeNumbers(dtypes),
    defaults: netstrings(
      fields.map((field, i) => fallback(field, dtypes[i] ?? 'string', descriptors)),
    ),
  };
}

const decode: Lowering = (cx) => {
  if (cx.text('message_format', 'binary') !== 'binary') {
    return cx.fail('message_format text is not supported, only binary');
  }
  if (cx.bool('sanitize', false)) return cx.fail('sanitize=True is not supported');
  const descriptors = descriptorsOf(cx);
  const fields = fieldsOf(cx, descriptors);
  const dtypes = cx.list('output_types').types;
  checkTypes(cx, fields, dtypes);
  const messages = cx.tensor(0);
  const padded = (last: number | undefined): Shape => messages.shape && [...messages.shape, last];
  return cx.custom(
    'DecodeProto',
    [messages],
    [
      { dtype: 'int32', shape: padded(fields.length) },
      ...dtypes.map((dtype) => ({ dtype, shape: padded(undefined) })),
    ],
    attributesOf(fields, dtypes, descriptors),
  );
};

const encode: Lowering = (cx) => {
  const descriptors = descriptorsOf(cx);
  const fields = fieldsOf(cx, descriptors);
  const inputs = cx.tensors();
  const dtypes = inputs.slice(1).map(({ dtype }) => dtype);
  checkTypes(cx, fields, dtypes);
  const shape = inputs[0]?.shape?.slice(0, -1);
  return emit(cx, inputs, 'string', shape, attributesOf(fields, dtypes, descriptors));
};

export const PROTOS: Operators = {
  DecodeProtoV2: {
    lower: decode,
    dtypes: 'string',
    note: 'binary messages; the descriptor is in the graph or that of tf.train.Example; no sanitize',
  },
  EncodeProto: { lower: encode, dtypes: 'any' },
};
