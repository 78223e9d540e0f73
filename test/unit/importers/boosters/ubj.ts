// Writes a document as Universal Binary JSON in XGBoost's form, for tests. Test time only.

/** Numbers in lists are doubles, others too; keys have no marker. */
export function ubjOf(value: unknown): Buffer {
  if (typeof value === 'number') return Buffer.concat([Buffer.from('D'), doubleOf(value)]);
  if (typeof value === 'string') return Buffer.concat([Buffer.from('S'), textOf(value)]);
  if (typeof value === 'boolean') return Buffer.from(value ? 'T' : 'F');
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    if (items.length > 0 && items.every((item) => typeof item === 'number')) {
      const head = Buffer.concat([Buffer.from('[$D#'), countOf(items.length)]);
      return Buffer.concat([head, ...items.map((item) => doubleOf(Number(item)))]);
    }
    return Buffer.concat([Buffer.from('['), ...items.map(ubjOf), Buffer.from(']')]);
  }
  if (value === null || typeof value !== 'object') return Buffer.from('Z');
  const members = Object.entries(value).flatMap(([key, member]) => [textOf(key), ubjOf(member)]);
  return Buffer.concat([Buffer.from('{'), ...members, Buffer.from('}')]);
}

function countOf(count: number): Buffer {
  const made = Buffer.alloc(9);
  made.write('L');
  made.writeBigInt64BE(BigInt(count), 1);
  return made;
}

const textOf = (text: string): Buffer =>
  Buffer.concat([countOf(Buffer.byteLength(text)), Buffer.from(text)]);

function doubleOf(value: number): Buffer {
  const made = Buffer.alloc(8);
  made.writeDoubleBE(value);
  return made;
}
