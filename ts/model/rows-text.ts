// What the engine found of the rows of a batch, for people. Control plane; pure.
import type { RowsFinding } from './engine-api.js';

/** "independent (proved)", or the first node that stands against it. */
export function rowsText({ verdict, text }: RowsFinding): string {
  if (verdict === 'proved') return 'independent (proved)';
  if (verdict === 'coupled') return `coupled: ${text}`;
  return `not proved to be independent: ${text}`;
}

/** What stands against running the rows of several callers together; "" = nothing. */
export function againstRows(rows: readonly RowsFinding[]): string {
  const against = rows.filter(({ verdict }) => verdict !== 'proved');
  const [first] = against;
  if (first === undefined) return '';
  const text = rowsText(first);
  return rows.length === 1 ? text : `signature '${first.signature}': ${text}`;
}
