// JSON parser that keeps numbers as text: 64-bit integers and doubles pass through frames
// unchanged. NaN and the infinities are read as bare words, as in V2. Control plane of the frame
// endpoints; the listener's thread; pure.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { FRAME_DEPTH_MAX } from '../../base/limits.js';

/** A number's own text: "1", "1.50", "NaN". */
export class ExactNumber {
  constructor(readonly text: string) {}
}

export type ExactValue =
  | null
  | boolean
  | string
  | ExactNumber
  | readonly ExactValue[]
  | ExactObject;

export type ExactObject = ReadonlyMap<string, ExactValue>;

/** Matches a number at the position, regardless of what follows. */
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity)|NaN/y;
const CONTROL = /[\u0000-\u001f]/;
const SPACE = /[ \t\r\n]*/y;
const WORDS: ReadonlyMap<string, ExactValue> = new Map<string, ExactValue>([
  ['null', null],
  ['true', true],
  ['false', false],
]);
const WORD = /null|true|false/y;

/** Errors: MalformedBody with the character's index. */
export function parseExact(text: string): ExactValue {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): ExactValue {
    if (depth > FRAME_DEPTH_MAX) throw this.#bad(`at most ${FRAME_DEPTH_MAX} levels of lists`);
    this.#take(SPACE);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#list(depth);
      case '"':
        return this.#string();
    }
    const word = this.#take(WORD);
    if (word !== '') return WORDS.get(word) ?? null;
    const number = this.#take(NUMBER);
    if (number === '') throw this.#bad('a value');
    return new ExactNumber(number);
  }

  end(): void {
    this.#take(SPACE);
    if (this.#at < this.#text.length) throw this.#bad('the end');
  }

  #list(depth: number): readonly ExactValue[] {
    this.#at += 1;
    const values: ExactValue[] = [];
    if (this.#is(']')) return values;
    for (;;) {
      values.push(this.value(depth + 1));
      if (this.#is(']')) return values;
      this.#expect(',');
    }
  }

  #object(depth: number): ExactObject {
    this.#at += 1;
    const members = new Map<string, ExactValue>();
    if (this.#is('}')) return members;
    for (;;) {
      this.#take(SPACE);
      const name = this.#string();
      this.#expect(':');
      if (members.has(name)) throw this.#bad(`one member ${JSON.stringify(name)}`);
      members.set(name, this.value(depth + 1));
      if (this.#is('}')) return members;
      this.#expect(',');
    }
  }

  #string(): string {
    const text = this.#text.slice(this.#at, this.#stringEnd());
    if (text === '' || CONTROL.test(text)) throw this.#bad('a string');
    this.#at += text.length;
    if (!text.includes('\\')) return text.slice(1, -1);
    try {
      return JSON.parse(text) as string;
    } catch {
      throw this.#bad('a string before it with valid escapes');
    }
  }

  /**
   * Position after the quote that closes the string; the current position if there is none. Not a
   * regular expression: its engine uses stack for each escape.
   */
  #stringEnd(): number {
    const text = this.#text;
    if (text[this.#at] !== '"') return this.#at;
    for (let end = this.#at + 1; ; end += 1) {
      end = text.indexOf('"', end);
      if (end < 0) return this.#at;
      let escapes = 0;
      while (text[end - 1 - escapes] === '\\') escapes += 1;
      if (escapes % 2 === 0) return end + 1;
    }
  }

  /** Consumes the character if it is the next one. */
  #is(character: string): boolean {
    this.#take(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #expect(character: string): void {
    if (!this.#is(character)) throw this.#bad(`"${character}"`);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #bad(expected: string): ServalError {
    const got = this.#text.slice(this.#at, this.#at + 20);
    return new ServalError(
      ErrorCode.MalformedBody,
      `JSON: expected ${expected} at character ${this.#at}, got ${JSON.stringify(got)}`,
    );
  }
}

/**
 * Serializes a value to JSON, or, with `isStrict` false, with NaN and the infinities as V2's bare
 * words. In strict form NaN is null (as MLeap writes it) and infinities are strings.
 */
export function exactText(value: ExactValue, isStrict: boolean): string {
  if (value instanceof ExactNumber) {
    if (!isStrict || !/[NI]/.test(value.text)) return value.text;
    return value.text === 'NaN' ? 'null' : `"${value.text}"`;
  }
  if (Array.isArray(value)) {
    return `[${value.map((one: ExactValue) => exactText(one, isStrict)).join(',')}]`;
  }
  if (value instanceof Map) {
    const members = [...(value as ExactObject)].map(
      ([name, one]) => `${JSON.stringify(name)}:${exactText(one, isStrict)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}
