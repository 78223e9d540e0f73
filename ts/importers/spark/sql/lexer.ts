// The words of a SQL statement as Spark reads them. Importer's worker thread; pure.
// Source: tabular.md 5.3; Spark's SqlBaseLexer for what a number, a text and a name may be.
import { ErrorCode, ServalError } from '../../../base/errors.js';

export type TokenKind = 'word' | 'name' | 'text' | 'number' | 'symbol' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** A word and a number as written, a name and a text without quotes and escapes. */
  readonly text: string;
  /** Upper case, of words. */
  readonly word: string;
  /** From 1. */
  readonly column: number;
}

/** A statement outside the supported subset; the caller adds the place. */
export class SqlFault extends ServalError {
  constructor(column: number, what: string) {
    super(ErrorCode.ModelInvalid, `statement, column ${column}: ${what}`);
  }
}

const SPACE = /\s/;
const WORD = /[\p{L}\p{Nd}_]/u;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[DdFfLlSsYy])?/y;
const SYMBOLS = [
  '<=>',
  '<>',
  '<=',
  '>=',
  '!=',
  '==',
  '||',
  '::',
  '->',
  '=>',
  '<<',
  '>>>',
  '>>',
  ...'+-*/%&|^~!=<>(),.;[]:?{}@',
];

/** `major`: of the Spark that reads it so. Errors: SqlFault. */
export function tokens(statement: string, major: number): readonly Token[] {
  const found: Token[] = [];
  const lexer = new Lexer(statement, major >= 4);
  for (;;) {
    const token = lexer.next();
    found.push(token);
    if (token.kind === 'end') return found;
  }
}

class Lexer {
  readonly #doublesQuotes: boolean;
  readonly #text: string;
  #at = 0;

  constructor(text: string, doublesQuotes: boolean) {
    this.#text = text;
    this.#doublesQuotes = doublesQuotes;
  }

  next(): Token {
    this.#skip();
    const start = this.#at;
    const char = this.#text[start];
    if (char === undefined) return this.#token('end', '', start);
    if (char === "'" || char === '"') return this.#quoted(start);
    if (char === '`') return this.#name(start);
    if ((char === 'r' || char === 'R') && /["']/.test(this.#text[start + 1] ?? '')) {
      return this.#raw(start);
    }
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number !== undefined && !WORD.test(this.#text[start + number.length] ?? '')) {
      this.#at += number.length;
      return this.#token('number', number, start);
    }
    if (WORD.test(char)) {
      while (WORD.test(this.#text[this.#at] ?? '')) this.#at += 1;
      return this.#token('word', this.#text.slice(start, this.#at), start);
    }
    const symbol = SYMBOLS.find((each) => this.#text.startsWith(each, start));
    if (symbol === undefined) throw new SqlFault(start + 1, `unexpected '${char}'`);
    this.#at += symbol.length;
    return this.#token('symbol', symbol, start);
  }

  #token(kind: TokenKind, text: string, start: number): Token {
    return { kind, text, word: kind === 'word' ? text.toUpperCase() : '', column: start + 1 };
  }

  /** Blanks and comments. */
  #skip(): void {
    for (;;) {
      while (SPACE.test(this.#text[this.#at] ?? '')) this.#at += 1;
      if (this.#text.startsWith('--', this.#at)) {
        const end = this.#text.indexOf('\n', this.#at);
        this.#at = end < 0 ? this.#text.length : end;
      } else if (this.#text.startsWith('/*', this.#at)) {
        const end = this.#text.indexOf('*/', this.#at + 2);
        if (end < 0) throw new SqlFault(this.#at + 1, 'unterminated comment');
        this.#at = end + 2;
      } else {
        return;
      }
    }
  }

  #name(start: number): Token {
    let text = '';
    this.#at += 1;
    for (;;) {
      const end = this.#text.indexOf('`', this.#at);
      if (end < 0) throw new SqlFault(start + 1, 'unterminated name in backquotes');
      text += this.#text.slice(this.#at, end);
      this.#at = end + 1;
      if (this.#text[this.#at] !== '`') return this.#token('name', text, start);
      text += '`';
      this.#at += 1;
    }
  }

  #raw(start: number): Token {
    const quote = this.#text[start + 1] ?? '';
    const end = this.#text.indexOf(quote, start + 2);
    if (end < 0) throw new SqlFault(start + 1, 'unterminated string');
    this.#at = end + 1;
    return this.#token('text', this.#text.slice(start + 2, end), start);
  }

  #quoted(start: number): Token {
    const quote = this.#text[start] ?? '';
    let text = '';
    this.#at += 1;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new SqlFault(start + 1, 'unterminated string');
      this.#at += 1;
      // Two quotes inside of a text are one, and in Spark 3 the end of it and the next one's begin.
      const isDoubled = this.#doublesQuotes && char === quote && this.#text[this.#at] === quote;
      if (char === quote && !isDoubled) break;
      if (isDoubled) this.#at += 1;
      text += char === '\\' ? this.#escape(start) : char;
    }
    return this.#token('text', text, start);
  }

  #escape(start: number): string {
    const hex = /u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})/y;
    hex.lastIndex = this.#at;
    const code = hex.exec(this.#text);
    if (code !== null) {
      this.#at += code[0].length;
      const point = code[3] === undefined ? parseInt(code[1] ?? code[2] ?? '', 16) : 0;
      if (point > 0x10ffff) throw new SqlFault(start + 1, `\\${code[0]} is not a character`);
      return String.fromCodePoint(code[3] === undefined ? point : parseInt(code[3], 8));
    }
    const char = this.#text[this.#at];
    if (char === undefined) throw new SqlFault(start + 1, 'unterminated string');
    this.#at += 1;
    const known: Readonly<Record<string, string>> = {
      '0': '\0',
      b: '\b',
      n: '\n',
      r: '\r',
      t: '\t',
      Z: '\x1a',
      '%': '\\%',
      _: '\\_',
    };
    return known[char] ?? char;
  }
}
