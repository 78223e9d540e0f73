// Decodes JSON values to messages by a schema, and completes messages with every default. Control
// plane, any thread; pure. The form is that of schema.ts. Source: protobuf.dev, ProtoJSON; enum
// names in any case and no unknown fields, as Triton reads configurations; defaults written out as
// in Triton's GET config.
import { echo } from '../base/text.js';
import { DecodeNotes, unknownField, WrittenMembers } from './decode-notes.js';
import { defaultValue, enumName, integerValue, isInteger, typeText } from './schema.js';
import type { Decoded } from './decode-notes.js';
import type { FieldSchema, FieldType, MessageSchema, MessageValue, ScalarName } from './schema.js';

const SPECIAL_FLOATS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};
const INTEGER_TEXT = /^-?(?:0|[1-9]\d{0,24})$/;
const FLOAT_TEXT = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * `json`: a result of JSON.parse. Field names as in the proto or in lowerCamelCase; null means not
 * written. Locations are `where` and the member's path: "config: input[0].dims[1]".
 */
export function decodeJson(json: unknown, schema: MessageSchema, where: string): Decoded {
  const notes = new DecodeNotes();
  const value = new JsonDecode(notes, where).message(json, schema, '') ?? {};
  return { value, problems: notes.problems, places: notes };
}

class JsonDecode {
  readonly #notes: DecodeNotes;
  readonly #where: string;

  constructor(notes: DecodeNotes, where: string) {
    this.#notes = notes;
    this.#where = where;
  }

  message(json: unknown, schema: MessageSchema, path: string): MessageValue | undefined {
    if (!isObject(json)) return this.#wrong(path, `an object (${schema.name})`, json);
    const value: Record<string, unknown> = {};
    const before = this.#notes.problems.length;
    const members = new WrittenMembers();
    this.#notes.begin(value, this.#place(path));
    for (const [written, member] of Object.entries(json)) {
      const inner = path === '' ? written : `${path}.${written}`;
      const name = fieldName(written, schema);
      const known = name === undefined ? undefined : schema.fields[name];
      if (name === undefined || known === undefined) {
        this.#notes.problem(this.#place(path), unknownField(written, schema));
        continue;
      }
      if (member === null) continue;
      const refusal = members.refusal(name, known, false);
      if (refusal !== undefined || (!Array.isArray(member) && known.repeated)) {
        const wrong = refusal ?? `expected an array, got ${jsonText(member)}`;
        this.#notes.problem(this.#place(inner), wrong);
        continue;
      }
      this.#noteAll(value, name, member, inner);
      const decoded = this.#member(member, known, inner);
      if (decoded !== undefined) value[name] = decoded;
    }
    this.#notes.end(value, before);
    return value;
  }

  #place(path: string): string {
    return path === '' ? this.#where : `${this.#where}: ${path}`;
  }

  #wrong(path: string, expected: string, got: unknown): undefined {
    return this.#notes.problem(this.#place(path), `expected ${expected}, got ${jsonText(got)}`);
  }

  #noteAll(value: MessageValue, name: string, member: unknown, path: string): void {
    const paths = Array.isArray(member) ? member.map((_, i) => `${path}[${i}]`) : [path];
    for (const inner of paths) this.#notes.note(value, name, this.#place(inner));
  }

  #member(json: unknown, known: FieldSchema, path: string): unknown {
    if (known.mapKey !== undefined) return this.#map(json, known, known.mapKey, path);
    if (!known.repeated) return this.#value(json, known.type, path);
    return (json as readonly unknown[])
      .map((element: unknown, i) => this.#value(element, known.type, `${path}[${i}]`))
      .filter((element) => element !== undefined);
  }

  #map(json: unknown, known: FieldSchema, key: ScalarName, path: string): unknown {
    if (!isObject(json)) return this.#wrong(path, 'an object', json);
    const entries: [string, unknown][] = [];
    for (const [name, member] of Object.entries(json)) {
      const inner = `${path}[${echo(name)}]`;
      const keyValue = scalarJson(name, key);
      if (keyValue === undefined) this.#wrong(inner, `a key of ${key}`, name);
      const value = this.#value(member, known.type, inner);
      if (keyValue !== undefined && value !== undefined) entries.push([String(keyValue), value]);
    }
    const value = Object.fromEntries(entries);
    this.#notes.begin(value, this.#place(path));
    for (const [name] of entries) {
      this.#notes.note(value, name, this.#place(`${path}[${echo(name)}]`));
    }
    return value;
  }

  #value(json: unknown, type: FieldType, path: string): unknown {
    switch (type.kind) {
      case 'message':
        return this.message(json, type, path);
      case 'opaque':
        return isObject(json) ? {} : this.#wrong(path, typeText(type), json);
      case 'enum':
        return enumJson(json, type.values) ?? this.#wrong(path, typeText(type), json);
      case 'scalar': {
        if (typeof json === 'number' && isInteger(type.scalar) && isInexact(json)) {
          const how = 'write an integer beyond 2^53 in quotes';
          return this.#notes.problem(this.#place(path), `expected an exact number; ${how}`);
        }
        return scalarJson(json, type.scalar) ?? this.#wrong(path, typeText(type), json);
      }
    }
  }
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function isInexact(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

function fieldName(written: string, schema: MessageSchema): string | undefined {
  if (Object.hasOwn(schema.fields, written)) return written;
  return Object.keys(schema.fields).find((name) => camelCase(name) === written);
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function enumJson(json: unknown, values: Readonly<Record<string, number>>): string | undefined {
  if (typeof json === 'number' && Number.isSafeInteger(json)) return enumName(values, BigInt(json));
  if (typeof json !== 'string') return undefined;
  const lower = json.toLowerCase();
  return Object.keys(values).find((name) => name.toLowerCase() === lower);
}

/** undefined if `json` is not such a value. */
function scalarJson(json: unknown, name: ScalarName): unknown {
  switch (name) {
    case 'string':
      return typeof json === 'string' ? json : undefined;
    case 'bool':
      return typeof json === 'boolean' ? json : undefined;
    case 'float':
    case 'double': {
      const value = floatJson(json);
      return value === undefined || name === 'double' ? value : Math.fround(value);
    }
    default:
      if (typeof json === 'number' && Number.isSafeInteger(json)) {
        return integerValue(name, BigInt(json));
      }
      if (typeof json !== 'string' || !INTEGER_TEXT.test(json)) return undefined;
      return integerValue(name, BigInt(json));
  }
}

function floatJson(json: unknown): number | undefined {
  if (typeof json === 'number') return json;
  if (typeof json !== 'string') return undefined;
  if (Object.hasOwn(SPECIAL_FLOATS, json)) return SPECIAL_FLOATS[json];
  return FLOAT_TEXT.test(json) ? Number(json) : undefined;
}

function jsonText(json: unknown): string {
  if (Array.isArray(json)) return 'an array';
  if (typeof json === 'object' && json !== null) return 'an object';
  return typeof json === 'string' ? `the string ${echo(json)}` : String(json);
}

/**
 * Adds every scalar, list and map that was not written; messages and members of a oneof only if
 * they were. Members are in the schema's order. Input and output are plain data; floats that JSON
 * cannot express become text.
 */
export function withDefaults(value: MessageValue, schema: MessageSchema): MessageValue {
  const full: [string, unknown][] = [];
  for (const [name, known] of Object.entries(schema.fields)) {
    const { type } = known;
    const written = value[name];
    if (written !== undefined) full.push([name, memberWithDefaults(written, known)]);
    else if (known.repeated) full.push([name, []]);
    else if (known.mapKey !== undefined) full.push([name, {}]);
    else if (known.oneof === undefined && (type.kind === 'scalar' || type.kind === 'enum')) {
      full.push([name, defaultValue(type)]);
    }
  }
  return Object.fromEntries(full);
}

function memberWithDefaults(written: unknown, known: FieldSchema): unknown {
  const { type } = known;
  const inner = (value: unknown): unknown => {
    if (type.kind === 'message') return withDefaults(value as MessageValue, type);
    return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  };
  if (known.repeated) return (written as readonly unknown[]).map(inner);
  if (known.mapKey === undefined) return inner(written);
  const entries = Object.entries(written as MessageValue);
  return Object.fromEntries(entries.map(([key, value]) => [key, inner(value)]));
}
