// Model and node files in JSON. Importer's worker thread; pure.
// Source: tabular.md 4.1
import { elementCount } from '../../../model/shape.js';
import { reasonOf, modelInvalid } from '../../../base/errors.js';
import {
  type BasicType,
  type BundleInfo,
  type BundleModel,
  type BundleNode,
  type BundleValue,
  type DataShape,
  EMPTY_VALUE,
  type Socket,
} from './values.js';

type Json = Readonly<Record<string, unknown>>;

const BASIC_TYPES: readonly string[] = [
  'boolean',
  'byte',
  'short',
  'int',
  'long',
  'float',
  'double',
  'string',
  'byte_string',
];
const NUMBERS = ['double', 'float', 'long', 'int', 'short', 'byte'] as const;

/** Errors: ModelInvalid naming the file. */
export function parseJson(bytes: Uint8Array, file: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    throw modelInvalid(`${file}: ${reasonOf(error)}`);
  }
}

export function infoOfJson(bytes: Uint8Array, file: string): BundleInfo {
  const json = objectOf(parseJson(bytes, file), file);
  const format = json['format'];
  if (format !== 'json' && format !== 'protobuf') {
    throw modelInvalid(`${file}: expected format 'json' or 'protobuf', got ${said(format)}`);
  }
  return { name: textOf(json['name'], ''), format, version: textOf(json['version'], '') };
}

export function nodeOfJson(bytes: Uint8Array, file: string): BundleNode {
  const json = objectOf(parseJson(bytes, file), file);
  const shape = objectOf(json['shape'] ?? {}, `${file}: shape`);
  const sockets = (key: string): readonly Socket[] =>
    arrayOf(shape[key] ?? [], `${file}: ${key}`).map((each) => {
      const { port, name } = objectOf(each, `${file}: ${key}`);
      if (typeof port !== 'string' || typeof name !== 'string') {
        throw modelInvalid(`${file}: ${key}: expected a port and a name, got ${said(each)}`);
      }
      return { port, name };
    });
  return { name: textOf(json['name'], ''), inputs: sockets('inputs'), outputs: sockets('outputs') };
}

export function modelOfJson(bytes: Uint8Array, file: string): BundleModel {
  const json = objectOf(parseJson(bytes, file), file);
  const { op, attributes } = json;
  if (typeof op !== 'string') throw modelInvalid(`${file}: expected 'op', got ${said(op)}`);
  if (Array.isArray(attributes)) {
    throw modelInvalid(
      `${file}: attributes: expected an object, got a list, as MLeap before 0.8 writes it`,
    );
  }
  const entries = Object.entries(objectOf(attributes ?? {}, `${file}: attributes`));
  const values = entries.map(
    ([name, value]) => [name, valueOf(value, `${file}: attribute '${name}'`)] as const,
  );
  return { op, attributes: new Map(values) };
}

function valueOf(json: unknown, place: string): BundleValue {
  const object = objectOf(json, place);
  const type = object['type'];
  if (type === 'list') return { ...EMPTY_VALUE, ...membersOf(object, place, true), form: 'list' };
  if (type === 'tensor') return tensorOf(object, place);
  if (type === undefined) return { ...EMPTY_VALUE, ...membersOf(object, place, false) };
  throw modelInvalid(`${place}: expected type 'list' or 'tensor', got ${said(type)}`);
}

function membersOf(object: Json, place: string, isList: boolean): Partial<BundleValue> {
  const all = (key: string): readonly unknown[] => {
    const value = object[key];
    if (value === undefined) return [];
    return isList ? arrayOf(value, `${place}: ${key}`) : [value];
  };
  const numbers = NUMBERS.find((key) => object[key] !== undefined);
  const texts = all('string');
  const booleans = all('boolean');
  if (!texts.every((each) => typeof each === 'string')) {
    throw modelInvalid(`${place}: expected strings`);
  }
  if (!booleans.every((each) => typeof each === 'boolean')) {
    throw modelInvalid(`${place}: expected booleans`);
  }
  if (object['model'] !== undefined) {
    throw modelInvalid(`${place}: models inside of attributes are not supported`);
  }
  return {
    numbers: numbers === undefined ? new Float64Array() : numbersOf(all(numbers), place),
    texts: texts as readonly string[],
    booleans: booleans as readonly boolean[],
    shapes: all('data_shape').map((each) => shapeOf(each, place)),
    types: all('basic_type').map((each) => basicTypeOf(each, place)),
    tensors: all('tensor').map((each) => tensorOf(objectOf(each, place), place)),
  };
}

/** JSON cannot represent non-finite numbers: MLeap writes NaN as null. */
function numbersOf(values: readonly unknown[], place: string): Float64Array {
  return Float64Array.from(values, (value, i) => {
    if (typeof value === 'number') return value;
    if (value === null || value === 'NaN') return Number.NaN;
    if (value === 'Infinity' || value === '-Infinity') return Number(value);
    throw modelInvalid(`${place}: value ${i}: expected a number, got ${said(value)}`);
  });
}

function tensorOf(object: Json, place: string): BundleValue {
  const dimensions = dimensionsOf(object['shape'], place);
  const base = object['base'];
  if (base !== undefined && typeof object['value'] === 'string') {
    const bytes = Buffer.from(object['value'], 'base64');
    return {
      ...EMPTY_VALUE,
      form: 'tensor',
      dimensions,
      ...rawValues(bytes, basicTypeOf(base, place), place),
    };
  }
  const made = {
    ...EMPTY_VALUE,
    ...membersOf(object, place, true),
    form: 'tensor',
    dimensions,
  } as const;
  const count = Math.max(made.numbers.length, made.texts.length, made.booleans.length);
  const expected = elementCount(dimensions);
  if (dimensions.every((size) => size >= 0) && dimensions.length > 0 && count !== expected) {
    throw modelInvalid(`${place}: shape [${dimensions.join(', ')}] with ${count} values`);
  }
  return made;
}

/** Elements as they lie in a tensor's bytes: most significant byte first. */
export function rawValues(bytes: Uint8Array, type: BasicType, place: string): Partial<BundleValue> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const each = (size: number, read: (at: number) => number): Partial<BundleValue> => {
    if (bytes.length % size !== 0) {
      throw modelInvalid(
        `${place}: expected ${type} values of ${size} bytes each, got ${bytes.length} bytes`,
      );
    }
    return {
      numbers: Float64Array.from({ length: bytes.length / size }, (_, i) => read(i * size)),
    };
  };
  switch (type) {
    case 'boolean':
      return { booleans: Array.from(bytes, (byte) => byte === 1) };
    case 'byte':
      return each(1, (at) => view.getInt8(at));
    case 'short':
      return each(2, (at) => view.getInt16(at));
    case 'int':
      return each(4, (at) => view.getInt32(at));
    case 'long':
      return each(8, (at) => Number(view.getBigInt64(at)));
    case 'float':
      return each(4, (at) => view.getFloat32(at));
    case 'double':
      return each(8, (at) => view.getFloat64(at));
    default:
      return { texts: rawTexts(bytes, view, place) };
  }
}

function rawTexts(bytes: Uint8Array, view: DataView, place: string): readonly string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = at + 4 <= bytes.length ? view.getInt32(at) : -1;
    if (length < 0 || at + 4 + length > bytes.length) {
      throw modelInvalid(`${place}: byte ${at}: a string extends beyond the tensor`);
    }
    texts.push(Buffer.from(bytes.buffer, bytes.byteOffset + at + 4, length).toString('utf8'));
    at += 4 + length;
  }
  return texts;
}

function shapeOf(json: unknown, place: string): DataShape {
  const object = objectOf(json, place);
  const base = object['base'];
  if (base !== 'scalar' && base !== 'list' && base !== 'tensor') {
    throw modelInvalid(`${place}: expected scalar, list or tensor, got ${said(base)}`);
  }
  const nullable = object['isNullable'] ?? object['is_nullable'];
  const dimensions = dimensionsOf(object['tensorShape'] ?? object['tensor_shape'], place);
  return { base, nullable: nullable === true, dimensions };
}

function dimensionsOf(json: unknown, place: string): readonly number[] {
  if (json === undefined || json === null) return [];
  const dimensions = arrayOf(objectOf(json, place)['dimensions'] ?? [], `${place}: dimensions`);
  return dimensions.map((each) => {
    const size = objectOf(each, place)['size'] ?? 0;
    if (!Number.isSafeInteger(size))
      throw modelInvalid(`${place}: size: expected a whole number, got ${said(size)}`);
    return size as number;
  });
}

function basicTypeOf(json: unknown, place: string): BasicType {
  if (typeof json === 'string' && BASIC_TYPES.includes(json)) return json as BasicType;
  throw modelInvalid(`${place}: expected a basic type, got ${said(json)}`);
}

function objectOf(json: unknown, place: string): Json {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json;
  throw modelInvalid(`${place}: expected an object, got ${said(json)}`);
}

function arrayOf(json: unknown, place: string): readonly unknown[] {
  if (Array.isArray(json)) return json;
  throw modelInvalid(`${place}: expected a list, got ${said(json)}`);
}

const textOf = (json: unknown, fallback: string): string =>
  typeof json === 'string' ? json : fallback;

function said(json: unknown): string {
  const text = JSON.stringify(json) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
