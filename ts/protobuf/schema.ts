// Protobuf messages described as data, and what reads a text-format tree by such a description.
// Control plane, any thread; pure. A decoded message is a plain object as protobuf's JSON form has
// it, with proto field names: enums by name, maps as objects, 64-bit integers as numbers where they
// are exact and as decimal text elsewhere. Only members that were written are present.
// Source: protobuf.dev (text format, JSON mapping).
import { echo } from '../text.js';
import { nearestWord } from '../text.js';
import type { TextField, TextMessage, TextPlace, TextValue } from './text-format.js';
import type { ConfigProblem } from './problem.js';

export type ScalarName =
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'float'
  | 'double'
  | 'bool'
  | 'string';

export type FieldType =
  | { readonly kind: 'scalar'; readonly scalar: ScalarName }
  | { readonly kind: 'enum'; readonly values: Readonly<Record<string, number>> }
  | { readonly kind: 'message'; readonly message: MessageSchema }
  /** A message whose inside is nobody's business here: read as {}. */
  | { readonly kind: 'opaque' };

export interface FieldSchema {
  readonly number: number;
  readonly type: FieldType;
  readonly repeated: boolean;
  /** Set on maps: the key's type; `type` is the value's. */
  readonly mapKey: ScalarName | undefined;
  readonly oneof: string | undefined;
}

export interface MessageSchema {
  readonly name: string;
  readonly fields: Readonly<Record<string, FieldSchema>>;
}

export type MessageValue = Readonly<Record<string, unknown>>;

/** Where the members of decoded messages were written. */
export interface Places {
  /** Of the message itself, of a member, of one element of a member. */
  at(message: MessageValue, field?: string, index?: number): string;
  /** Whether something in the message, however deep, was a problem. */
  isBroken(message: MessageValue): boolean;
}

export interface Decoded {
  /** Without the members that were a problem. */
  readonly value: MessageValue;
  readonly problems: readonly ConfigProblem[];
  readonly places: Places;
}

const field = (number: number, type: FieldType, extra: Partial<FieldSchema> = {}): FieldSchema => ({
  number,
  type,
  repeated: false,
  mapKey: undefined,
  oneof: undefined,
  ...extra,
});

export const scalar = (name: ScalarName): FieldType => ({ kind: 'scalar', scalar: name });
export const choice = (values: Readonly<Record<string, number>>): FieldType => ({
  kind: 'enum',
  values,
});
export const message = (schema: MessageSchema): FieldType => ({ kind: 'message', message: schema });
export const OPAQUE: FieldType = { kind: 'opaque' };
export const one = (number: number, type: FieldType): FieldSchema => field(number, type);
export const many = (number: number, type: FieldType): FieldSchema =>
  field(number, type, { repeated: true });
export const map = (number: number, key: ScalarName, type: FieldType): FieldSchema =>
  field(number, type, { mapKey: key });
/** A member of the oneof `group`. */
export const oneOf = (group: string, number: number, type: FieldType): FieldSchema =>
  field(number, type, { oneof: group });

const INTEGER_RANGE: Readonly<Partial<Record<ScalarName, readonly [bigint, bigint]>>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};
const TRUE_WORDS = new Set(['true', 'True', 't']);
const FALSE_WORDS = new Set(['false', 'False', 'f']);
const DEFAULTS: Readonly<Record<ScalarName, unknown>> = {
  int32: 0,
  int64: 0,
  uint32: 0,
  uint64: 0,
  float: 0,
  double: 0,
  bool: false,
  string: '',
};

/** What a scalar, an enum or a message is when nothing was written. */
export function defaultValue(type: FieldType): unknown {
  if (type.kind === 'scalar') return DEFAULTS[type.scalar];
  if (type.kind === 'enum') return enumName(type.values, 0n) ?? '';
  return {};
}

export function enumName(
  values: Readonly<Record<string, number>>,
  number: bigint,
): string | undefined {
  return Object.keys(values).find((name) => BigInt(values[name] ?? 0) === number);
}

export function isInteger(name: ScalarName): boolean {
  return INTEGER_RANGE[name] !== undefined;
}

/** The integer as JSON has it, or undefined when the type cannot hold it. */
export function integerValue(name: ScalarName, value: bigint): number | string | undefined {
  const range = INTEGER_RANGE[name];
  if (range === undefined || value < range[0] || value > range[1]) return undefined;
  const exact = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
  return exact ? Number(value) : value.toString();
}

/** "int32 (-2147483648 to 2147483647)" and the like, for errors. */
export function typeText(type: FieldType): string {
  switch (type.kind) {
    case 'scalar': {
      const range = INTEGER_RANGE[type.scalar];
      return range === undefined ? type.scalar : `${type.scalar} (${range[0]} to ${range[1]})`;
    }
    case 'enum':
      return `one of ${Object.keys(type.values).join(', ')}`;
    case 'message':
      return `a message in braces (${type.message.name})`;
    case 'opaque':
      return 'a message in braces';
  }
}

/** Errors of a name that a schema does not have. */
export function unknownField(name: string, schema: MessageSchema): string {
  const nearest = nearestWord(name, Object.keys(schema.fields));
  const hint = nearest === '' ? '' : `; did you mean "${nearest}"?`;
  return `unknown field ${echo(name)} of ${schema.name}${hint}`;
}

/** Which members of one message were written so far. */
export class WrittenMembers {
  readonly #names = new Set<string>();
  readonly #oneofs = new Map<string, string>();

  /** Why `name` may not be written now; undefined when it may. */
  refusal(name: string, known: FieldSchema, mayRepeat: boolean): string | undefined {
    const again = this.#names.has(name);
    this.#names.add(name);
    if (again && !mayRepeat) return `${name}: expected one value, got a second one`;
    if (known.oneof === undefined) return undefined;
    const first = this.#oneofs.get(known.oneof) ?? name;
    this.#oneofs.set(known.oneof, first);
    return first === name ? undefined : `${name}: expected it or ${first}, got both`;
  }
}

function isList(known: FieldSchema): boolean {
  return known.repeated || known.mapKey !== undefined;
}

/** Collects problems and places while a message is decoded from whatever form. */
export class DecodeNotes implements Places {
  readonly problems: ConfigProblem[] = [];
  readonly #places = new WeakMap<object, { own: string; fields: Map<string, string[]> }>();
  readonly #broken = new WeakSet<object>();

  problem(place: string, text: string): undefined {
    this.problems.push({ place, message: text });
  }

  begin(value: MessageValue, own: string): void {
    this.#places.set(value, { own, fields: new Map() });
  }

  note(value: MessageValue, name: string, place: string): void {
    const fields = this.#places.get(value)?.fields;
    const known = fields?.get(name);
    if (known === undefined) fields?.set(name, [place]);
    else known.push(place);
  }

  /** `problemsBefore`: how many there were when the message began. */
  end(value: MessageValue, problemsBefore: number): void {
    if (this.problems.length > problemsBefore) this.#broken.add(value);
  }

  at(value: MessageValue, name?: string, index = 0): string {
    const places = this.#places.get(value);
    const found = name === undefined ? undefined : places?.fields.get(name);
    return found?.[index] ?? found?.[0] ?? places?.own ?? '';
  }

  isBroken(value: MessageValue): boolean {
    return this.#broken.has(value);
  }
}

/** Every problem is reported, each with its place; `path` names the file. */
export function decodeText(text: TextMessage, schema: MessageSchema, path: string): Decoded {
  const notes = new DecodeNotes();
  const value = new TextDecode(notes, path).message(text, schema);
  return { value, problems: notes.problems, places: notes };
}

class TextDecode {
  readonly #notes: DecodeNotes;
  readonly #path: string;

  constructor(notes: DecodeNotes, path: string) {
    this.#notes = notes;
    this.#path = path;
  }

  message(text: TextMessage, schema: MessageSchema): MessageValue {
    const value: Record<string, unknown> = {};
    const before = this.#notes.problems.length;
    const members = new WrittenMembers();
    this.#notes.begin(value, this.#place(text.place));
    for (const written of text.fields) {
      const known = this.#fieldOf(written, schema);
      if (known === undefined) continue;
      const listed = written.isList && !isList(known);
      const refusal = listed
        ? `${written.name}: expected one value, got a list`
        : members.refusal(written.name, known, isList(known));
      if (refusal === undefined) this.#read(written, known, value);
      else this.#notes.problem(this.#place(written.place), refusal);
    }
    this.#notes.end(value, before);
    return value;
  }

  #place(place: TextPlace): string {
    return `${this.#path}:${place.line}:${place.column}`;
  }

  #fieldOf(written: TextField, schema: MessageSchema): FieldSchema | undefined {
    const place = this.#place(written.place);
    if (written.kind === 'bracket') {
      const what = `[${written.name}]: extensions and google.protobuf.Any`;
      return this.#notes.problem(place, `${what} are not used in ${schema.name}`);
    }
    const { name } = written;
    const known = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined;
    return known ?? this.#notes.problem(place, unknownField(name, schema));
  }

  #read(written: TextField, known: FieldSchema, into: Record<string, unknown>): void {
    const { name, values } = written;
    for (const text of values) this.#notes.note(into, name, this.#place(text.place));
    if (known.mapKey !== undefined) {
      if (into[name] === undefined)
        this.#notes.begin((into[name] = {}), this.#place(written.place));
      const entries = into[name] as Record<string, unknown>;
      for (const text of values) this.#entry(name, text, known, known.mapKey, entries);
      return;
    }
    const read = values.map((text) => this.#value(name, text, known.type));
    const good = read.filter((value) => value !== undefined);
    if (known.repeated) into[name] = [...((into[name] as unknown[] | undefined) ?? []), ...good];
    else if (good.length > 0) into[name] = good[0];
  }

  /** Of equal keys the last counts, as protobuf has it. */
  #entry(
    name: string,
    text: TextValue,
    known: FieldSchema,
    key: ScalarName,
    entries: Record<string, unknown>,
  ): void {
    const schema: MessageSchema = {
      name: `${name} entry`,
      fields: { key: one(1, scalar(key)), value: one(2, known.type) },
    };
    const entry = this.#value(name, text, message(schema)) as MessageValue | undefined;
    if (entry === undefined || this.#notes.isBroken(entry)) return;
    const keyText = String(entry['key'] ?? DEFAULTS[key]);
    const place = this.#place(text.place);
    const value = entry['value'] ?? defaultValue(known.type);
    if (entry['value'] === undefined && isMessage(value)) this.#notes.begin(value, place);
    this.#notes.note(entries, keyText, place);
    Object.defineProperty(entries, keyText, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }

  #value(name: string, text: TextValue, type: FieldType): unknown {
    if (text.kind === 'message') {
      if (type.kind === 'opaque') return {};
      if (type.kind === 'message') return this.message(text, type.message);
    } else if (type.kind === 'enum') {
      const found = enumText(text, type.values);
      if (found !== undefined) return found;
    } else if (type.kind === 'scalar') {
      const found = scalarText(text, type.scalar);
      if (found !== undefined) return found;
    }
    const expected = `expected ${typeText(type)}`;
    const unknown =
      type.kind === 'enum' && text.kind === 'word'
        ? `; did you mean "${nearestWord(text.text, Object.keys(type.values))}"?`
        : '';
    return this.#notes.problem(
      this.#place(text.place),
      `${name}: ${expected}, got ${gotText(text)}${unknown}`,
    );
  }
}

function isMessage(value: unknown): value is MessageValue {
  return typeof value === 'object' && value !== null;
}

function enumText(text: TextValue, values: Readonly<Record<string, number>>): string | undefined {
  if (text.kind === 'integer') return enumName(values, text.value);
  const known = text.kind === 'word' && !text.negative && Object.hasOwn(values, text.text);
  return known ? text.text : undefined;
}

/** undefined when the text is no such value. */
function scalarText(text: TextValue, name: ScalarName): unknown {
  switch (name) {
    case 'string':
      return text.kind === 'string' ? utf8(text.bytes) : undefined;
    case 'bool':
      return boolText(text);
    case 'float':
    case 'double': {
      const value = floatText(text);
      return value === undefined || name === 'double' ? value : Math.fround(value);
    }
    default:
      return text.kind === 'integer' ? integerValue(name, text.value) : undefined;
  }
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function boolText(text: TextValue): boolean | undefined {
  if (text.kind === 'integer' && (text.value === 0n || text.value === 1n)) return text.value === 1n;
  if (text.kind !== 'word' || text.negative) return undefined;
  if (TRUE_WORDS.has(text.text)) return true;
  return FALSE_WORDS.has(text.text) ? false : undefined;
}

function floatText(text: TextValue): number | undefined {
  if (text.kind === 'integer') return Number(text.value);
  if (text.kind === 'float') return text.value;
  if (text.kind !== 'word') return undefined;
  const word = text.text.toLowerCase();
  if (word === 'nan') return Number.NaN;
  if (word !== 'inf' && word !== 'infinity') return undefined;
  return text.negative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function gotText(text: TextValue): string {
  switch (text.kind) {
    case 'message':
      return 'a message';
    case 'string':
      return utf8(text.bytes) === undefined
        ? 'a string that is not UTF-8'
        : `the string ${echo(utf8(text.bytes) ?? '')}`;
    case 'integer':
      return text.value.toString();
    case 'float':
      return text.text;
    case 'word':
      return `${text.negative ? '-' : ''}${text.text.slice(0, 100)}`;
  }
}

/** Members of a decoded message, by what the schema says that they are. */
export const read = {
  text(value: MessageValue | undefined, name: string): string {
    const found = value?.[name];
    return typeof found === 'string' ? found : '';
  },
  /** 64-bit values beyond 2^53 are rounded. */
  int(value: MessageValue | undefined, name: string): number {
    return Number(value?.[name] ?? 0);
  },
  bool(value: MessageValue | undefined, name: string): boolean {
    return value?.[name] === true;
  },
  ints(value: MessageValue | undefined, name: string): readonly number[] {
    return ((value?.[name] ?? []) as readonly unknown[]).map(Number);
  },
  texts(value: MessageValue | undefined, name: string): readonly string[] {
    return (value?.[name] ?? []) as readonly string[];
  },
  child(value: MessageValue | undefined, name: string): MessageValue | undefined {
    return value?.[name] as MessageValue | undefined;
  },
  children(value: MessageValue | undefined, name: string): readonly MessageValue[] {
    return (value?.[name] ?? []) as readonly MessageValue[];
  },
  /** Of a map. */
  entries<T = MessageValue>(
    value: MessageValue | undefined,
    name: string,
  ): readonly (readonly [string, T])[] {
    return Object.entries((value?.[name] ?? {}) as Readonly<Record<string, T>>);
  },
};
