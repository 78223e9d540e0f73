// Decodes a text-format tree to a message by a schema. Control plane, any thread; pure. The form is
// that of schema.ts. Source: protobuf.dev, text format.
import { echo, meant } from '../base/text.js';
import { DecodeNotes, WrittenMembers, unknownField } from './decode-notes.js';
import type { Decoded } from './decode-notes.js';
import { ANY } from './generated/any.js';
import { defaultValue, enumName, integerValue, mapEntry, scalar, typeText } from './schema.js';
import type { FieldSchema, FieldType, MessageSchema, MessageValue, ScalarName } from './schema.js';
import type { TextField, TextMessage, TextPlace, TextValue } from './text-format.js';

const TRUE_WORDS = new Set(['true', 'True', 't']);
const FALSE_WORDS = new Set(['false', 'False', 'f']);

/** Full names of messages that an Any may contain. */
export type AnyTypes = Readonly<Record<string, MessageSchema>>;

/**
 * Every problem is reported with its location; `path` names the file. An Any that contains one of
 * `held` has that name as its `type_url` and the message as its `value`; others are {}.
 */
export function decodeText(
  text: TextMessage,
  schema: MessageSchema,
  path: string,
  held: AnyTypes = {},
): Decoded {
  const notes = new DecodeNotes();
  const value = new TextDecode(notes, path, held).message(text, schema);
  return { value, problems: notes.problems, places: notes };
}

class TextDecode {
  readonly #notes: DecodeNotes;
  readonly #path: string;
  readonly #held: AnyTypes;

  constructor(notes: DecodeNotes, path: string, held: AnyTypes) {
    this.#notes = notes;
    this.#path = path;
    this.#held = held;
  }

  message(text: TextMessage, schema: MessageSchema): MessageValue {
    const value: Record<string, unknown> = {};
    const before = this.#notes.problems.length;
    const members = new WrittenMembers();
    this.#notes.begin(value, this.#place(text.place));
    for (const written of text.fields) {
      if (written.kind === 'bracket' && schema === ANY) {
        this.#readAny(written, value);
        continue;
      }
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

  #readAny({ name, place, values }: TextField, into: Record<string, unknown>): void {
    const type = name.slice(name.lastIndexOf('/') + 1);
    const schema = Object.hasOwn(this.#held, type) ? this.#held[type] : undefined;
    this.#notes.note(into, 'type_url', this.#place(place));
    into['type_url'] = type;
    const [value] = values;
    if (schema !== undefined && value !== undefined)
      into['value'] = this.#value(name, value, schema);
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

  /** The last of equal keys wins, as in protobuf. */
  #entry(
    name: string,
    text: TextValue,
    known: FieldSchema,
    key: ScalarName,
    entries: Record<string, unknown>,
  ): void {
    const schema = mapEntry(`${name} entry`, known);
    const entry = this.#value(name, text, schema) as MessageValue | undefined;
    if (entry === undefined || this.#notes.isBroken(entry)) return;
    const keyText = String(entry['key'] ?? defaultValue(scalar(key)));
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
      if (type.kind === 'message') return this.message(text, type);
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
        ? meant(text.text, Object.keys(type.values))
        : '';
    return this.#notes.problem(
      this.#place(text.place),
      `${name}: ${expected}, got ${gotText(text)}${unknown}`,
    );
  }
}

function isList(known: FieldSchema): boolean {
  return known.repeated || known.mapKey !== undefined;
}

function isMessage(value: unknown): value is MessageValue {
  return typeof value === 'object' && value !== null;
}

function enumText(text: TextValue, values: Readonly<Record<string, number>>): string | undefined {
  if (text.kind === 'integer') return enumName(values, text.value);
  const known = text.kind === 'word' && !text.negative && Object.hasOwn(values, text.text);
  return known ? text.text : undefined;
}

/** undefined if the text is not such a value. */
function scalarText(text: TextValue, name: ScalarName): unknown {
  switch (name) {
    case 'string':
      return text.kind === 'string' ? utf8(text.bytes) : undefined;
    case 'bytes':
      return text.kind === 'string' ? text.bytes : undefined;
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

/** undefined if the text is not such a value. */
export function boolText(text: TextValue): boolean | undefined {
  if (text.kind === 'integer' && (text.value === 0n || text.value === 1n)) return text.value === 1n;
  if (text.kind !== 'word' || text.negative) return undefined;
  if (TRUE_WORDS.has(text.text)) return true;
  return FALSE_WORDS.has(text.text) ? false : undefined;
}

/** undefined if the text is not such a value. */
export function floatText(text: TextValue): number | undefined {
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
