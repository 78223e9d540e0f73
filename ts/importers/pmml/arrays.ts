// PMML's Array, Matrix and sparse arrays, as texts and numbers. Importer's worker thread; pure.
import { type XmlElement, children } from './xml/reader.js';

const SPACE = new Set([' ', '\t', '\r', '\n']);

/** The words of an Array's text: split at white space, quoted with ", \" inside for a quote. */
export function arrayTexts(element: XmlElement): string[] {
  const { text } = element;
  if (!text.includes('"')) {
    const trimmed = text.trim();
    return trimmed === '' ? [] : trimmed.split(/[ \t\r\n]+/);
  }
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (SPACE.has(text[at] as string)) {
      at += 1;
      continue;
    }
    let word = '';
    if (text[at] === '"') {
      at += 1;
      while (at < text.length && text[at] !== '"') {
        if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at += 1;
        word += text[at];
        at += 1;
      }
      if (at >= text.length) throw new RangeError('a quoted value of an Array is not terminated');
      at += 1;
    } else {
      while (at < text.length && !SPACE.has(text[at] as string)) {
        word += text[at];
        at += 1;
      }
    }
    words.push(word);
  }
  return words;
}

/** A number as XML Schema writes doubles. Errors: RangeError. */
export function toNumber(text: string | undefined, what: string): number {
  const trimmed = (text ?? '').trim();
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^[+-]?inf(inity)?$/i.test(trimmed)) {
    return trimmed.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (/^nan$/i.test(trimmed)) return Number.NaN;
  throw new RangeError(`${what}: ${JSON.stringify(text ?? '')} is not a number`);
}

function indices(element: XmlElement): number[] {
  const holder = children(element, 'Indices')[0];
  return holder === undefined ? [] : arrayTexts(holder).map((each) => toNumber(each, 'Indices'));
}

/**
 * An Array, REAL-SparseArray or INT-SparseArray as numbers; sparse ones filled up to n.
 * Errors: RangeError naming what is wrong.
 */
export function arrayNumbers(element: XmlElement): Float64Array {
  const n = element.attributes['n'];
  if (element.name === 'Array') {
    const texts = arrayTexts(element);
    if (n !== undefined && Number(n) !== texts.length) {
      throw new RangeError(`an Array: expected n="${n}" values, got ${texts.length}`);
    }
    return Float64Array.from(texts, (each) => toNumber(each, 'Array'));
  }
  const at = indices(element);
  const entries = element.children.find((each) => each.name.endsWith('-Entries'));
  const values = entries === undefined ? [] : arrayTexts(entries);
  const size = n === undefined ? at.reduce((most, each) => Math.max(most, each), 0) : Number(n);
  if (!Number.isSafeInteger(size) || size < 0 || size > 1 << 28) {
    throw new RangeError(`a sparse array: n="${n ?? size}" is out of range`);
  }
  if (at.length !== values.length) {
    throw new RangeError(
      `a sparse array: expected equal counts, got ${at.length} indices and ${values.length} entries`,
    );
  }
  const fallback = element.attributes['defaultValue'];
  const numbers = new Float64Array(size);
  if (fallback !== undefined) numbers.fill(toNumber(fallback, 'defaultValue'));
  for (const [i, index] of at.entries()) {
    if (!Number.isInteger(index) || index < 1 || index > size) {
      throw new RangeError(`a sparse array of n=${size}: index ${index} is out of range`);
    }
    numbers[index - 1] = toNumber(values[i], element.name);
  }
  return numbers;
}

/**
 * A Matrix as rows of numbers: of Arrays, of MatCells, diagonal and symmetric kinds filled up.
 * Errors: RangeError naming what is wrong.
 */
export function matrixRows(element: XmlElement): Float64Array[] {
  const kind = element.attributes['kind'] ?? 'any';
  const rows = element.children.filter((each) => each.name.endsWith('Array')).map(arrayNumbers);
  const cells = children(element, 'MatCell');
  const rowCount = Number(
    element.attributes['nbRows'] ?? (kind === 'diagonal' ? rows[0]?.length : rows.length),
  );
  const columnCount = Number(
    element.attributes['nbCols'] ?? (kind === 'any' ? rows[0]?.length : rowCount),
  );
  if (!(rowCount >= 0 && columnCount >= 0 && rowCount * columnCount <= 1 << 26)) {
    throw new RangeError(`a Matrix of ${rowCount} rows and ${columnCount} columns`);
  }
  const fill = (fallback: string | undefined) =>
    fallback === undefined ? 0 : toNumber(fallback, 'Matrix');
  const made = Array.from({ length: rowCount }, (_, r) =>
    Float64Array.from({ length: columnCount }, (_unused, c) =>
      fill(element.attributes[r === c ? 'diagDefault' : 'offDiagDefault']),
    ),
  );
  const put = (r: number, c: number, value: number) => {
    const row = made[r];
    if (row === undefined || !(c >= 0 && c < columnCount)) {
      throw new RangeError(
        `a Matrix of ${rowCount} x ${columnCount}: ${r + 1}, ${c + 1} is out of range`,
      );
    }
    row[c] = value;
    if (kind === 'symmetric' && made[c] !== undefined) (made[c] as Float64Array)[r] = value;
  };
  for (const cell of cells) {
    const r = toNumber(cell.attributes['row'], 'MatCell row') - 1;
    put(r, toNumber(cell.attributes['col'], 'MatCell col') - 1, toNumber(cell.text, 'MatCell'));
  }
  if (kind === 'diagonal' && rows.length === 1) {
    (rows[0] as Float64Array).forEach((value, i) => put(i, i, value));
  } else {
    for (const [r, row] of rows.entries()) row.forEach((value, c) => put(r, c, value));
  }
  return made;
}
