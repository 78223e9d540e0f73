// A TensorProto as proto3 JSON with field names kept and defaults printed: the default values of
// signatures in V1 metadata. Control plane, any thread; pure. Source: tfserving.md 1.9, 2;
// protobuf.dev, JSON mapping.
import {
  TENSOR_PROTO,
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../protobuf/generated/tensorflow-fields.js';
import { WireReader } from '../../protobuf/reader.js';
import { dtypeName } from './documents.js';

type Json = Record<string, unknown>;

/** Maximum elements of all lists together; more are omitted. */
const ELEMENTS_MAX = 1_000_000;

/** The lists of numbers: field -> name and reader of one occurrence. */
const LISTS: Readonly<Record<number, readonly [string, (reader: WireReader) => unknown[]]>> = {
  5: ['float_val', floats],
  6: ['double_val', doubles],
  7: ['int_val', int32s],
  9: ['scomplex_val', floats],
  10: ['int64_val', (reader) => longs(reader, 64, true)],
  11: ['bool_val', (reader) => varints(reader, (low, high) => low !== 0 || high !== 0)],
  12: ['dcomplex_val', doubles],
  13: ['half_val', int32s],
  16: ['uint32_val', (reader) => varints(reader, (low) => low)],
  17: ['uint64_val', (reader) => longs(reader, 64, false)],
};

/** Resource handles and variants are omitted. Errors: ModelInvalid: not such a message. */
export function tensorProtoJson(proto: Uint8Array): Json {
  const reader = new WireReader(proto, 'TensorProto');
  const lists = Object.fromEntries(Object.values(LISTS).map(([name]) => [name, [] as unknown[]]));
  const strings: string[] = [];
  const tensor: Json = { dtype: 'DT_INVALID' };
  const rest: Json = { version_number: 0, tensor_content: '' };
  let count = 0;
  while (reader.next()) {
    const list = LISTS[reader.field];
    if (list !== undefined) {
      for (const value of list[1](reader)) {
        count += 1;
        if (count <= ELEMENTS_MAX) lists[list[0]]?.push(value);
      }
    } else if (reader.field === TENSOR_PROTO.stringVal) {
      strings.push(base64(reader.view()));
    } else {
      readScalarField(reader, tensor, rest);
    }
  }
  return {
    ...tensor,
    ...rest,
    ...lists,
    string_val: strings,
    resource_handle_val: [],
    variant_val: [],
    float8_val: rest['float8_val'] ?? '',
  };
}

function readScalarField(reader: WireReader, tensor: Json, rest: Json): void {
  switch (reader.field) {
    case TENSOR_PROTO.dtype: {
      const code = Number(reader.int64());
      tensor['dtype'] = dtypeName(code) ?? code;
      break;
    }
    case TENSOR_PROTO.tensorShape:
      tensor['tensor_shape'] = shapeJson(reader.nested('TensorShapeProto'));
      break;
    case TENSOR_PROTO.versionNumber:
      rest['version_number'] = Number(BigInt.asIntN(32, reader.int64()));
      break;
    case TENSOR_PROTO.tensorContent:
      rest['tensor_content'] = base64(reader.view());
      break;
    case TENSOR_PROTO.float8Val:
      rest['float8_val'] = base64(reader.view());
      break;
    default:
      reader.skip();
  }
}

function shapeJson(reader: WireReader): Json {
  const dim: Json[] = [];
  let unknownRank = false;
  while (reader.next()) {
    if (reader.field === TENSOR_SHAPE_PROTO.dim) dim.push(dimJson(reader.nested('Dim')));
    else if (reader.field === TENSOR_SHAPE_PROTO.unknownRank) unknownRank = reader.int64() !== 0n;
    else reader.skip();
  }
  return { dim, unknown_rank: unknownRank };
}

function dimJson(reader: WireReader): Json {
  let size = 0n;
  let name = '';
  while (reader.next()) {
    if (reader.field === DIM.size) size = reader.int64();
    else if (reader.field === DIM.name) name = reader.string();
    else reader.skip();
  }
  return { size: size.toString(), name };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}

/** NaN and the infinities are strings in proto3 JSON. */
function jsonNumber(value: number): number | string {
  if (Number.isFinite(value)) return value;
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? 'Infinity' : '-Infinity';
}

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** A float as the shortest text that parses to the same float. */
function floatNumber(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

function floats(reader: WireReader): unknown[] {
  const view = viewOf(reader.fixed(4));
  return Array.from({ length: view.byteLength / 4 }, (_, i) => {
    const value = view.getFloat32(4 * i, true);
    return jsonNumber(Number.isFinite(value) ? floatNumber(value) : value);
  });
}

function doubles(reader: WireReader): unknown[] {
  const view = viewOf(reader.fixed(8));
  return Array.from({ length: view.byteLength / 8 }, (_, i) =>
    jsonNumber(view.getFloat64(8 * i, true)),
  );
}

function varints(reader: WireReader, value: (low: number, high: number) => unknown): unknown[] {
  const values: unknown[] = [];
  reader.varints(({ low, high }) => values.push(value(low, high)));
  return values;
}

function int32s(reader: WireReader): unknown[] {
  return varints(reader, (low) => low | 0);
}

/** 64-bit integers are strings in proto3 JSON. */
function longs(reader: WireReader, bits: number, signed: boolean): unknown[] {
  return varints(reader, (low, high) => {
    const value = (BigInt(high) << 32n) | BigInt(low);
    return (signed ? BigInt.asIntN(bits, value) : value).toString();
  });
}
