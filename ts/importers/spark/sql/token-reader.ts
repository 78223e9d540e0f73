// Reads the tokens of a statement in order. Importer's worker thread; pure.
import { SqlFault, tokens, type Token } from './lexer.js';

export class TokenReader {
  readonly #tokens: readonly Token[];
  #at = 0;
  /** Half of the next symbol, `>>`, was read. */
  #half = false;

  /** `major`: of the Spark that saved it. Errors: SqlFault, of what is no word. */
  constructor(statement: string, major: number) {
    this.#tokens = tokens(statement, major);
  }

  peek(ahead = 0): Token {
    const last = this.#tokens.length - 1;
    return this.#tokens[Math.min(this.#at + ahead, last)] as Token;
  }

  next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }

  isWord(word: string): boolean {
    return this.peek().word === word;
  }

  takeWord(word: string): boolean {
    const is = this.isWord(word);
    if (is) this.next();
    return is;
  }

  take(symbol: string): boolean {
    const token = this.peek();
    const is = token.kind === 'symbol' && token.text === symbol;
    if (is) this.next();
    return is;
  }

  expect(symbol: string): void {
    const token = this.peek();
    if (!this.take(symbol)) {
      throw new SqlFault(token.column, `expected '${symbol}', got ${shown(token)}`);
    }
  }

  /** The end of a type's parts; `>>` ends two. */
  closeAngle(): void {
    if (this.#half) {
      this.#half = false;
      this.next();
    } else if (this.peek().kind === 'symbol' && this.peek().text === '>>') {
      this.#half = true;
    } else {
      this.expect('>');
    }
  }

  expectWord(word: string): void {
    const token = this.peek();
    if (!this.takeWord(word)) {
      throw new SqlFault(token.column, `expected ${word}, got ${shown(token)}`);
    }
  }

  unsupported(what: string): never {
    throw new SqlFault(this.peek().column, `${what} is not supported`);
  }
}

export const isName = (token: Token): boolean => token.kind === 'word' || token.kind === 'name';

/** For error texts. */
export function shown(token: Token): string {
  return token.kind === 'end' ? 'the end of the statement' : `'${token.text}'`;
}
