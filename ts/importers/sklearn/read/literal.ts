// Reads the Python literal in the header of NumPy's files: dictionaries, lists, tuples, texts,
// integers, True, False, None. Importer's worker thread; pure. Source: NumPy's NEP 1.

/** Lists and tuples are arrays. */
export type Literal =
  | (number | string | boolean | null)
  | readonly Literal[]
  | ReadonlyMap<string, Literal>;

const DEPTH_MAX = 16;
const NAMES: ReadonlyMap<string, boolean | null> = new Map([
  ['True', true],
  ['False', false],
  ['None', null],
]);
const TOKEN = /\s*(?:([()[\]{},:])|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d+)|([A-Za-z]+))/y;

/** Errors: RangeError: not a literal. */
export function parseLiteral(text: string): Literal {
  const reader = new LiteralReader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class LiteralReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Literal {
    if (depth > DEPTH_MAX) throw new RangeError(`expected at most ${DEPTH_MAX} nested values`);
    const [, mark, single, double, digits, name] = this.#next();
    if (mark === '(') return this.#items(')', depth);
    if (mark === '[') return this.#items(']', depth);
    if (mark === '{') return this.#pairs(depth);
    const text = single ?? double;
    if (text !== undefined) return text.replace(/\\(.)/g, '$1');
    if (digits !== undefined) return Number(digits);
    const constant = name === undefined ? undefined : NAMES.get(name);
    if (constant !== undefined) return constant;
    throw new RangeError(`expected a value at character ${this.#at}`);
  }

  end(): void {
    if (this.#text.slice(this.#at).trim() === '') return;
    throw new RangeError(`expected the end at character ${this.#at}`);
  }

  #next(): readonly (string | undefined)[] {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text);
    if (found === null) throw new RangeError(`expected a value at character ${this.#at}`);
    this.#at = TOKEN.lastIndex;
    return found;
  }

  /** Consumes the mark if it is next. */
  #take(wanted: string): boolean {
    const before = this.#at;
    if (this.#next()[1] === wanted) return true;
    this.#at = before;
    return false;
  }

  #items(end: string, depth: number): readonly Literal[] {
    const items: Literal[] = [];
    while (!this.#take(end)) {
      items.push(this.value(depth + 1));
      if (this.#take(',')) continue;
      if (this.#take(end)) break;
      throw new RangeError(`expected ',' or '${end}' at character ${this.#at}`);
    }
    return items;
  }

  #pairs(depth: number): ReadonlyMap<string, Literal> {
    const pairs = new Map<string, Literal>();
    while (!this.#take('}')) {
      const key = this.value(depth + 1);
      if (typeof key !== 'string' || !this.#take(':')) {
        throw new RangeError(`expected a text and ':' at character ${this.#at}`);
      }
      if (pairs.has(key)) throw new RangeError(`'${key}' occurs twice`);
      pairs.set(key, this.value(depth + 1));
      if (this.#take(',')) continue;
      if (this.#take('}')) break;
      throw new RangeError(`expected ',' or '}' at character ${this.#at}`);
    }
    return pairs;
  }
}
