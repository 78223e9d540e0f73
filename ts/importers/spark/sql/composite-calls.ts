// Calls of functions that are other calls in disguise: conditions, structures, parts of dates.
// Importer's worker thread; pure.
// Source: Spark's FunctionRegistry and its RuntimeReplaceable expressions.
import { call, type Sql } from './ast.js';
import { textLiteral, typed } from './literal.js';

type Call = Extract<Sql, { kind: 'call' }>;

const NULL_SQL: Sql = { kind: 'literal', literal: { type: undefined, text: '' }, at: 1 };
const ZERO = typed('0', 'int', 1);

/** The call that Spark makes of `sql`; undefined where it stays as it is. */
export function rewriteComposite(sql: Call): Sql | undefined {
  const { args, at } = sql;
  const [a, b, c] = args;
  const count = args.length;
  switch (sql.name) {
    case 'decode':
      return count > 2 ? decodeCase(sql) : undefined;
    case 'when':
      return count > 1 ? call('case', at, ...args) : undefined;
    case 'arrays_zip':
      return call('zip_arrays', at, ...named(args, (_, i) => String(i)));
    case 'negative':
      return a?.kind === 'call' && a.name === 'interval_literal' ? negated(a) : undefined;
    case 'between':
      if (a === undefined || b === undefined || c === undefined || count > 3) return undefined;
      return call('and', at, call('greater_equal', at, a, b), call('less_equal', at, a, c));
    case 'equal_null':
      return call('null_safe_equal', at, ...args);
    case 'nullifzero':
      if (a === undefined || count > 1) return undefined;
      return call('case', at, call('equal', at, a, ZERO), NULL_SQL, a);
    case 'zeroifnull':
      return a === undefined || count > 1 ? undefined : call('coalesce', at, a, ZERO);
    case 'struct':
      return count > 0 ? structure(sql) : undefined;
    case 'make_timestamp':
      return count === 7 ? call('make_timestamp_in', at, ...args) : undefined;
    case 'levenshtein':
      return count === 3 ? levenshteinWithin(sql) : undefined;
    default:
      return undefined;
  }
}

/** decode(value, search, result, ..., default): NULL is equal to NULL. */
function decodeCase({ args, at }: Call): Sql {
  const [value = NULL_SQL, ...rest] = args;
  const parts: Sql[] = [];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const [search = NULL_SQL, result = NULL_SQL] = [rest[i], rest[i + 1]];
    parts.push(call('null_safe_equal', at, value, search), result);
  }
  const last = rest.at(-1);
  if (rest.length % 2 === 1 && last !== undefined) parts.push(last);
  return call('case', at, ...parts);
}

/** Names of fields before their values: columns' own, and others by their place. */
const named = (values: readonly Sql[], other: (value: Sql, i: number) => string): readonly Sql[] =>
  values.flatMap((value, i) => [
    textLiteral(value.kind === 'column' ? value.name : other(value, i), value.at),
    value,
  ]);

const structure = ({ args, at }: Call): Sql =>
  call('named_struct', at, ...named(args, (_, i) => `col${i + 1}`));

/** -INTERVAL 2 DAYS */
function negated(interval: Call): Sql {
  const args = interval.args.map((part) =>
    part.kind === 'literal' && part.literal.type?.name !== 'string'
      ? { ...part, literal: { ...part.literal, text: String(-BigInt(part.literal.text)) } }
      : part,
  );
  return { ...interval, args };
}

/** levenshtein(a, b, most): -1 where it is more. */
function levenshteinWithin({ args, at }: Call): Sql {
  const [a = NULL_SQL, b = NULL_SQL, most = NULL_SQL] = args;
  const distance = call('levenshtein', at, a, b);
  const within = call('less_equal', at, distance, most);
  const none = call('isnull', at, call('concat', at, a, b, call('concat', at, most)));
  return call('case', at, none, NULL_SQL, within, distance, typed('-1', 'int', at));
}
