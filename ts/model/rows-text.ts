// The engine's finding on the independence of batch rows, as text for people. Control plane; pure.
import type { RowsFinding } from './engine-api.js';

/** "independent (proved)", or the first node that disproves it. */
export function rowsText({ verdict, text }: RowsFinding): string {
  if (verdict === 'proved') return 'independent (proved)';
  if (verdict === 'coupled') return `coupled: ${text}`;
  return `not proved to be independent: ${text}`;
}

/** Why rows of different callers must not run together; "" = no reason. */
export function againstRows(rows: readonly RowsFinding[]): string {
  const against = rows.filter(({ verdict }) => verdict !== 'proved');
  const [first] = against;
  if (first === undefined) return '';
  const text = rowsText(first);
  return rows.length === 1 ? text : `signature '${first.signature}': ${text}`;
}
