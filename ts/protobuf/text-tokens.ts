// Tokens of protobuf's text format: names, numbers, strings, symbols, each with its location. Pure;
// control plane, any thread. Knows no message and no field. Source: protobuf.dev, text format
// language specification.
import { echo } from '../base/text.js';
import { ErrorCode, ServalError } from '../base/errors.js';
import type { ConfigProblem } from './problem.js';

/** Maximum characters of one number: BigInt() of a long one would take seconds. */
const NUMBER_CHARS_MAX = 400;

/** 1-based; columns count UTF-16 units. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

export type Token =
  | { readonly kind: 'name' | 'symbol'; readonly text: string; readonly place: TextPlace }
  | {
      readonly kind: 'integer';
      readonly text: string;
      readonly place: TextPlace;
      readonly value: bigint;
    }
  | {
      readonly kind: 'float';
      readonly text: string;
      readonly place: TextPlace;
      readonly value: number;
    }
  | {
      readonly kind: 'string';
      readonly text: string;
      readonly place: TextPlace;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'end'; readonly text: string; readonly place: TextPlace };

/** A configuration file that cannot be read; `problem` has the same text in two parts. */
export class ConfigFileError extends ServalError {
  readonly problem: ConfigProblem;

  constructor(problem: ConfigProblem) {
    super(ErrorCode.InvalidArgument, `${problem.place}: ${problem.message}`);
    this.problem = problem;
  }
}

/** Longer names are invalid. */
const NAME = /[A-Za-z_]\w{0,254}/y;
const NUMBER = /\.?\d(?:[eE][+-]|[\w.]){0,400}/y;
const URL_NAME = /[\w./%-]{0,255}/y;
const DECIMAL = /^(?:0|[1-9]\d*)$/;
const HEX = /^0[xX][0-9a-fA-F]+$/;
const OCTAL = /^0[0-7]+$/;
const FLOAT = /^(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?$|^\d+[eE][+-]?\d+[fF]?$/;
const WHOLE_FLOAT = /^(?:0|[1-9]\d*)[fF]$/;
const OCTAL_ESCAPE = /\\[0-7]{1,3}/y;
const HEX_ESCAPE = /\\[xX][0-9a-fA-F]{1,2}/y;
const UNICODE_ESCAPE = /\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}/y;
const LOW_SURROGATE_ESCAPE = /\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;
const PLAIN_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '?': 63,
  '\\': 92,
  "'": 39,
  '"': 34,
};
const BYTE_ORDER_MARK = '\uFEFF';

export class TextTokens {
  readonly #text: string;
  readonly #path: string;
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #peeked: Token | undefined;

  /** `path` names the file in errors. */
  constructor(text: string, path: string) {
    this.#text = text;
    this.#path = path;
    if (text.startsWith(BYTE_ORDER_MARK)) this.#at = this.#lineStart = 1;
  }

  peek(): Token {
    this.#peeked ??= this.#read();
    return this.#peeked;
  }

  next(): Token {
    const token = this.peek();
    this.#peeked = undefined;
    return token;
  }

  /** Consumes the symbol if it is next. */
  take(symbol: string): boolean {
    const token = this.peek();
    if (token.kind !== 'symbol' || token.text !== symbol) return false;
    this.#peeked = undefined;
    return true;
  }

  /** The text between "[" (already consumed) and "]": an extension's name or a type URL. */
  bracketName(): string {
    this.#skipBlank();
    const name = this.#match(URL_NAME);
    if (name === '') throw this.expected('a type or extension name', this.peek());
    const close = this.next();
    if (close.kind !== 'symbol' || close.text !== ']') throw this.expected('"]"', close);
    return name;
  }

  placeText(place: TextPlace): string {
    return `${this.#path}:${place.line}:${place.column}`;
  }

  error(place: TextPlace, message: string): ConfigFileError {
    return new ConfigFileError({ place: this.placeText(place), message });
  }

  expected(what: string, got: Token): ConfigFileError {
    const gotText = got.kind === 'end' ? 'the end of the file' : echo(got.text);
    return this.error(got.place, `expected ${what}, got ${gotText}`);
  }

  #read(): Token {
    this.#skipBlank();
    const place = this.#here();
    const char = this.#text[this.#at];
    if (char === undefined) return { kind: 'end', text: '', place };
    if (char === '"' || char === "'") return this.#string(char, place);
    const name = this.#match(NAME);
    if (name !== '') return { kind: 'name', text: name, place };
    const number = this.#match(NUMBER);
    if (number !== '') return this.#number(number, place);
    const symbol = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += symbol.length;
    return { kind: 'symbol', text: symbol, place };
  }

  #here(): TextPlace {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += text.length;
    return text;
  }

  /** Skips blanks and comments. */
  #skipBlank(): void {
    for (;;) {
      const char = this.#text[this.#at];
      if (char === '\n') {
        this.#at += 1;
        this.#line += 1;
        this.#lineStart = this.#at;
      } else if (char === '#') {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end < 0 ? this.#text.length : end;
      } else if (char === ' ' || char === '\t' || char === '\r' || char === '\v' || char === '\f') {
        this.#at += 1;
      } else {
        return;
      }
    }
  }

  #number(text: string, place: TextPlace): Token {
    if (text.length > NUMBER_CHARS_MAX) {
      throw this.error(place, `expected a number of at most ${NUMBER_CHARS_MAX} characters`);
    }
    if (DECIMAL.test(text) || HEX.test(text)) {
      return { kind: 'integer', text, place, value: BigInt(text) };
    }
    if (OCTAL.test(text)) {
      return { kind: 'integer', text, place, value: BigInt(`0o${text.slice(1)}`) };
    }
    if (FLOAT.test(text) || WHOLE_FLOAT.test(text)) {
      return { kind: 'float', text, place, value: Number(text.replace(/[fF]$/, '')) };
    }
    throw this.error(place, `expected a number, got ${echo(text)}`);
  }

  /** One quoted piece. An escape is never shorter than the bytes that it encodes. */
  #string(quote: string, place: TextPlace): Token {
    const begin = this.#at;
    const end = this.#closingQuote(quote, place);
    const text = this.#text.slice(begin, end + 1);
    this.#at = begin + 1;
    const bytes = Buffer.alloc(Buffer.byteLength(text));
    let used = 0;
    while (this.#at < end) {
      if (this.#text[this.#at] === '\\') {
        used = this.#escape(bytes, used);
        continue;
      }
      const next = this.#text.indexOf('\\', this.#at);
      const until = next < 0 || next > end ? end : next;
      used += bytes.write(this.#text.slice(this.#at, until), used, 'utf8');
      this.#at = until;
    }
    this.#at = end + 1;
    return { kind: 'string', text, place, bytes: bytes.subarray(0, used) };
  }

  #closingQuote(quote: string, place: TextPlace): number {
    for (let at = this.#at + 1; ; at += 1) {
      let char = this.#text[at];
      if (char === quote) return at;
      if (char === '\\') char = this.#text[(at += 1)];
      if (char !== undefined && char !== '\n') continue;
      const got = char === undefined ? 'the end of the file' : 'the end of the line';
      throw this.error(place, `expected the string's closing ${quote}, got ${got}`);
    }
  }

  /** Writes the bytes of the escape at `used` and returns their end. */
  #escape(bytes: Buffer, used: number): number {
    const place = this.#here();
    const letter = this.#text[this.#at + 1] ?? '';
    const plain = Object.hasOwn(PLAIN_ESCAPES, letter) ? PLAIN_ESCAPES[letter] : undefined;
    if (plain !== undefined) {
      this.#at += 2;
      return bytes.writeUInt8(plain, used);
    }
    const octal = this.#match(OCTAL_ESCAPE);
    const byte = octal === '' ? this.#match(HEX_ESCAPE) : octal;
    if (byte !== '') {
      const hex = octal === '';
      const value = Number.parseInt(byte.slice(hex ? 2 : 1), hex ? 16 : 8);
      if (value <= 255) return bytes.writeUInt8(value, used);
      throw this.error(place, `expected an escape from \\0 to \\377, got ${byte}`);
    }
    const unicode = this.#match(UNICODE_ESCAPE);
    if (unicode === '') {
      const got = echo(this.#text.slice(this.#at, this.#at + 2));
      throw this.error(place, `expected an escape such as \\n, \\x41 or \\u00e9, got ${got}`);
    }
    return used + bytes.write(this.#unicode(unicode, place), used, 'utf8');
  }

  /** The character of \uXXXX, of a surrogate pair of two, or of \UXXXXXXXX. */
  #unicode(escape: string, place: TextPlace): string {
    let code = Number.parseInt(escape.slice(2), 16);
    if (code >= 0xd800 && code < 0xdc00) {
      const low = this.#match(LOW_SURROGATE_ESCAPE);
      if (low !== '') {
        const lowCode = Number.parseInt(low.slice(2), 16);
        code = 0x10000 + ((code - 0xd800) << 10) + (lowCode - 0xdc00);
      }
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      throw this.error(place, `expected the escape of a Unicode character, got ${escape}`);
    }
    return String.fromCodePoint(code);
  }
}
