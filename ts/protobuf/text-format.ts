// Parses protobuf's text format into a tree of fields with their locations: models.config,
// config.pbtxt and the other .txt files. Control plane, any thread; pure except for readConfigText.
// ts/protobuf/schema.ts defines which fields exist. Source: protobuf.dev, text format language
// specification.
import { readFile, stat } from 'node:fs/promises';
import { ConfigFileError, TextTokens } from './text-tokens.js';
import type { TextPlace, Token } from './text-tokens.js';

export { ConfigFileError } from './text-tokens.js';
export type { TextPlace } from './text-tokens.js';

/** Maximum size of a configuration file. */
export const TEXT_BYTES_MAX = 16_777_216;
/** Maximum nesting of messages and lists. */
export const TEXT_NESTING_MAX = 100;
/** Maximum values of all fields of one file together. */
export const TEXT_VALUES_MAX = 1_000_000;

export type TextValue =
  | { readonly kind: 'message'; readonly place: TextPlace; readonly fields: readonly TextField[] }
  | { readonly kind: 'string'; readonly place: TextPlace; readonly bytes: Uint8Array }
  | { readonly kind: 'integer'; readonly place: TextPlace; readonly value: bigint }
  | {
      readonly kind: 'float';
      readonly place: TextPlace;
      readonly value: number;
      readonly text: string;
    }
  /** true, TYPE_FP32, inf: the field determines the meaning. */
  | {
      readonly kind: 'word';
      readonly place: TextPlace;
      readonly text: string;
      readonly negative: boolean;
    };

export type TextMessage = Extract<TextValue, { kind: 'message' }>;

export interface TextField {
  /** "bracket": written as [name]: an extension, or the content of an Any. */
  readonly kind: 'field' | 'bracket';
  readonly name: string;
  readonly place: TextPlace;
  /** Several values (or none) only if a list was written. */
  readonly values: readonly TextValue[];
  readonly isList: boolean;
}

/** A whole file as UTF-8. Errors: ConfigFileError (unreadable, too large, not UTF-8). */
export async function readConfigText(path: string): Promise<string> {
  const fail = (message: string): ConfigFileError => new ConfigFileError({ place: path, message });
  let bytes: Buffer;
  try {
    // Opening a pipe would block forever.
    const stats = await stat(path);
    if (!stats.isFile()) throw fail('expected a file');
    if (stats.size > TEXT_BYTES_MAX) throw fail(tooLarge(stats.size));
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof ConfigFileError) throw error;
    throw fail(`cannot read the file: ${(error as Error).message}`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw fail('expected UTF-8 text, got other bytes');
  }
}

function tooLarge(bytes: number): string {
  return `expected at most ${TEXT_BYTES_MAX} bytes of configuration, got ${bytes}`;
}

/** Errors: ConfigFileError with `path`, line and column. */
export function parseTextProto(text: string, path: string): TextMessage {
  const bytes = Buffer.byteLength(text);
  if (bytes > TEXT_BYTES_MAX) throw new ConfigFileError({ place: path, message: tooLarge(bytes) });
  return new TextParser(new TextTokens(text, path)).file();
}

class TextParser {
  readonly #tokens: TextTokens;
  #values = 0;

  constructor(tokens: TextTokens) {
    this.#tokens = tokens;
  }

  file(): TextMessage {
    const fields: TextField[] = [];
    while (this.#tokens.peek().kind !== 'end') fields.push(this.#field(0));
    return { kind: 'message', place: { line: 1, column: 1 }, fields };
  }

  #field(depth: number): TextField {
    const start = this.#tokens.next();
    const { place } = start;
    let kind: TextField['kind'] = 'field';
    let name = start.text;
    if (start.kind === 'symbol' && start.text === '[') {
      kind = 'bracket';
      name = this.#tokens.bracketName();
    } else if (start.kind !== 'name') {
      throw this.#tokens.expected('a field name', start);
    }
    const colon = this.#tokens.take(':');
    const isList = this.#tokens.take('[');
    const values = isList ? this.#list(name, colon, depth) : [this.#value(name, colon, depth)];
    if (!this.#tokens.take(',')) this.#tokens.take(';');
    return { kind, name, place, values, isList };
  }

  /** Parses after "[". */
  #list(name: string, colon: boolean, depth: number): readonly TextValue[] {
    const values: TextValue[] = [];
    if (this.#tokens.take(']')) return values;
    for (;;) {
      values.push(this.#value(name, colon, depth));
      if (this.#tokens.take(']')) return values;
      if (!this.#tokens.take(',')) {
        throw this.#tokens.expected(`"," or "]" in the list of ${name}`, this.#tokens.next());
      }
    }
  }

  #value(name: string, colon: boolean, depth: number): TextValue {
    const token = this.#tokens.next();
    this.#count(token.place);
    if (token.kind === 'symbol' && (token.text === '{' || token.text === '<')) {
      return this.#message(token, depth + 1);
    }
    if (!colon) throw this.#tokens.expected(`":" or "{" after the field name ${name}`, token);
    if (token.kind === 'string') return this.#string(token.bytes, token.place);
    if (token.kind === 'symbol' && token.text === '-') {
      return this.#number(name, this.#tokens.next(), token.place, true);
    }
    return this.#number(name, token, token.place, false);
  }

  #message(begin: Token, depth: number): TextMessage {
    if (depth > TEXT_NESTING_MAX) {
      const most = `expected messages at most ${TEXT_NESTING_MAX} deep`;
      throw this.#tokens.error(begin.place, `${most}, got a deeper one`);
    }
    const end = begin.text === '{' ? '}' : '>';
    const fields: TextField[] = [];
    while (!this.#tokens.take(end)) {
      const next = this.#tokens.peek();
      if (next.kind === 'end' || (next.kind === 'symbol' && next.text !== '[')) {
        const { line, column } = begin.place;
        const what = `a field name or the "${end}" for the "${begin.text}" at ${line}:${column}`;
        throw this.#tokens.expected(what, next);
      }
      fields.push(this.#field(depth));
    }
    return { kind: 'message', place: begin.place, fields };
  }

  /** Adjacent pieces form one string. */
  #string(first: Uint8Array, place: TextPlace): TextValue {
    const pieces = [first];
    for (let token = this.#tokens.peek(); token.kind === 'string'; token = this.#tokens.peek()) {
      this.#count(token.place);
      pieces.push(token.bytes);
      this.#tokens.next();
    }
    return { kind: 'string', place, bytes: pieces.length === 1 ? first : Buffer.concat(pieces) };
  }

  #count(place: TextPlace): void {
    this.#values += 1;
    if (this.#values <= TEXT_VALUES_MAX) return;
    throw this.#tokens.error(place, `expected at most ${TEXT_VALUES_MAX} values in a file`);
  }

  #number(name: string, token: Token, place: TextPlace, negative: boolean): TextValue {
    switch (token.kind) {
      case 'integer':
        return { kind: 'integer', place, value: negative ? -token.value : token.value };
      case 'float': {
        const value = negative ? -token.value : token.value;
        return { kind: 'float', place, value, text: negative ? `-${token.text}` : token.text };
      }
      case 'name':
        return { kind: 'word', place, text: token.text, negative };
      default:
        throw this.#tokens.expected(`a ${negative ? 'number' : 'value'} for ${name}`, token);
    }
  }
}
