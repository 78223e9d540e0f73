// SQL expressions as expressions of a plan. What a value's type is, and so what a call answers, is
// found when it runs, from the columns' types there: Spark's models do not say what they were
// trained on. Importer's worker thread; pure.
// Source: tabular.md 5.3.
import {
  call,
  columnRef,
  constant,
  type Column,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import type { Type, Value } from '../../plan/generated/plan.js';
import { zoneOf } from '../../plan/zones.js';
import {
  call as sqlCall,
  type Sql,
  type SqlLiteral,
  type SqlType,
  type SqlTypeName,
} from './ast.js';
import { rewriteComposite } from './composite-calls.js';
import { DATE_PARTS, SQL_ALIASES, SQL_FUNCTIONS, SQL_TRIES } from './functions.js';
import { typeOfName } from './literal.js';
import { typeText } from './print.js';
import { unsupportedText } from './tables/refused.js';

/** The context of lowering one statement. */
export interface LowerContext {
  readonly builder: PlanBuilder;
  /** undefined where there is none; it has told its problem. */
  column(name: string, at: number): Column | undefined;
  problem(at: number, reason: string): void;
}

export interface Lowered {
  readonly expression: Expression;
  /** 'any' where it follows from the request. */
  readonly type: Type;
  /** The items' type, in a list. */
  readonly element?: Type;
}

const PLAN_TYPES: Readonly<Record<SqlTypeName, Type>> = {
  boolean: 'bool',
  tinyint: 'int8',
  smallint: 'int16',
  int: 'int32',
  bigint: 'int64',
  float: 'float',
  double: 'double',
  decimal: 'decimal',
  string: 'string',
  binary: 'binary',
  date: 'date',
  timestamp: 'timestamp',
  array: 'any',
  map: 'any',
};

const NULL_OF_ANY: Expression = constant({ type: 'any', missing: true });
const LOW_64 = (1n << 64n) - 1n;

/** After a problem the result is a NULL, so that the rest is looked at too. */
export function lowerExpression(sql: Sql, context: LowerContext): Lowered {
  switch (sql.kind) {
    case 'literal':
      return lowerLiteral(sql.literal, context);
    case 'column': {
      const column = context.column(sql.name, sql.at);
      if (column === undefined) return { expression: NULL_OF_ANY, type: 'any' };
      return { expression: columnRef(column), type: context.builder.typeOf(column) };
    }
    case 'cast':
      return castTo(lowerExpression(sql.of, context), sql.to);
    default:
      return lowerCall(sql, context);
  }
}

function castTo(of: Lowered, to: SqlType): Lowered {
  return {
    expression: call(
      'sql.cast',
      of.expression,
      constant(typeText(to).toLowerCase().replaceAll(' ', '')),
    ),
    type: PLAN_TYPES[to.name],
  };
}

function lowerLiteral(literal: SqlLiteral, _context: LowerContext): Lowered {
  const { type, text } = literal;
  if (type === undefined) return { expression: NULL_OF_ANY, type: 'any' };
  if (type.name === 'date' || type.name === 'timestamp') {
    return castTo({ expression: constant(text), type: 'string' }, type);
  }
  return { expression: constant(valueOf(type, text)), type: PLAN_TYPES[type.name] };
}

function valueOf(type: SqlType, text: string): Value {
  const of = PLAN_TYPES[type.name];
  switch (type.name) {
    case 'boolean':
      return { type: of, integer: text === 'true' ? 1 : 0 };
    case 'string':
      return { type: of, text };
    case 'double':
      return { type: of, real: Number(text) };
    case 'float':
      return { type: of, real: Math.fround(Number(text)) };
    case 'decimal': {
      const unscaled = BigInt(text.replace('.', ''));
      return {
        type: of,
        integer: BigInt.asIntN(64, unscaled & LOW_64),
        high: unscaled >> 64n,
        precision: type.precision,
        scale: type.scale,
      };
    }
    default:
      return { type: of, integer: BigInt(text) };
  }
}

type Call = Extract<Sql, { kind: 'call' }>;

function lowerCall(sql: Call, context: LowerContext): Lowered {
  if (sql.name === 'and' || sql.name === 'or') return lowerChain(sql, context);
  const tried = triedOf(sql);
  if (tried !== undefined) return lowerTry(tried, context);
  const rewritten = rewrite(sql, context);
  if (rewritten === undefined) return { expression: NULL_OF_ANY, type: 'any' };
  if (rewritten !== sql) return lowerExpression(rewritten, context);
  const known = SQL_FUNCTIONS.get(sql.name);
  if (known === undefined) {
    for (const argument of sql.args) lowerExpression(argument, context);
    context.problem(sql.at, unsupportedText(sql.name));
    return { expression: NULL_OF_ANY, type: 'any' };
  }
  const count = sql.args.length;
  if (count < known.min || (known.max >= 0 && count > known.max)) {
    const most = known.max < 0 ? ' or more' : known.max > known.min ? ` to ${known.max}` : '';
    context.problem(sql.at, `${sql.name}() takes ${known.min}${most} arguments, got ${count}`);
  }
  for (const at of known.constants ?? []) {
    const argument = sql.args[at];
    if (argument !== undefined && argument.kind !== 'literal') {
      context.problem(sql.at, `${sql.name}(): argument ${at + 1} must be a constant`);
    }
  }
  for (const at of ZONE_ARGUMENTS[sql.name] ?? []) useZone(sql, at, context);
  const args = sql.args.map((argument) => lowerExpression(argument, context));
  const expression = call(known.call, ...args.map((each) => each.expression));
  if (known.result === 'strings') return { expression, type: 'list', element: 'string' };
  return {
    expression,
    type: known.result === 'any' ? resultOf(sql.name, args) : known.result,
  };
}

/** The call that try_add(a, b), TRY_CAST and the like try. */
function triedOf(sql: Call): Sql | undefined {
  if (sql.name === 'try_cast') return sql.args[0];
  const name = SQL_TRIES[sql.name];
  return name === undefined ? undefined : { ...sql, name };
}

function lowerTry(tried: Sql, context: LowerContext): Lowered {
  const { expression, type } = lowerExpression(tried, context);
  return { expression: call('sql.try', expression), type };
}

const ZONE_ARGUMENTS: Readonly<Record<string, readonly number[]>> = {
  from_utc_timestamp: [1],
  to_utc_timestamp: [1],
  make_timestamp_in: [6],
  convert_timezone: [0, 1],
};

/** The zone that an argument names goes into the plan; the last argument is a time, or is none. */
function useZone(sql: Call, index: number, { builder, problem }: LowerContext): void {
  const { args, at } = sql;
  const isTime = sql.name === 'convert_timezone' && index === args.length - 1;
  const zone = isTime ? undefined : args[index];
  if (zone?.kind !== 'literal' || zone.literal.type === undefined) return;
  try {
    builder.useZone(zoneOf(zone.literal.text));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problem(at, error.message);
  }
}

/** The result type that holds for every request. */
function resultOf(name: string, args: readonly Lowered[]): Type {
  const isValue = (index: number) =>
    name !== 'case' || index % 2 === 1 || index === args.length - 1;
  const types = new Set(args.filter((_, index) => isValue(index)).map(({ type }) => type));
  const [only = 'any'] = types;
  if (name === 'case' || name === 'coalesce' || name === 'greatest' || name === 'least') {
    return types.size === 1 && only !== 'decimal' && only !== 'list' ? only : 'any';
  }
  const isReal = types.has('double') && ![...types].some((type) => type === 'any');
  const isArithmetic = /^(add|subtract|multiply|divide|mod|pmod|negative|abs|nanvl)$/.test(name);
  return isReal && isArithmetic ? 'double' : 'any';
}

/** a AND b AND c as a tree that is as flat as it can be: expressions nest only so deep. */
function lowerChain(sql: Call, context: LowerContext): Lowered {
  const parts: Expression[] = [];
  const collect = (part: Sql): void => {
    if (part.kind === 'call' && part.name === sql.name) part.args.forEach(collect);
    else parts.push(lowerExpression(part, context).expression);
  };
  collect(sql);
  const name = sql.name === 'and' ? 'sql.and' : 'sql.or';
  const join = (from: number, to: number): Expression => {
    if (to - from === 1) return parts[from] ?? NULL_OF_ANY;
    const middle = Math.floor((from + to) / 2);
    return call(name, join(from, middle), join(middle, to));
  };
  return { expression: join(0, parts.length), type: 'bool' };
}

/** Calls that are others in disguise; `sql` itself where it is none, undefined after a problem. */
function rewrite(sql: Call, context: LowerContext): Sql | undefined {
  const { args, at } = sql;
  const [a, b, c] = args;
  const alias = SQL_ALIASES[sql.name];
  if (alias !== undefined) return sqlCall(alias, at, ...args);
  switch (sql.name) {
    case 'if':
    case 'iff':
      return args.length === 3 ? sqlCall('case', at, ...args) : sql;
    case 'between':
      if (a === undefined || b === undefined || c === undefined) return sql;
      return sqlCall(
        'and',
        at,
        sqlCall('greater_equal', at, a, b),
        sqlCall('less_equal', at, a, c),
      );
    case 'nvl2':
      if (a === undefined || b === undefined || c === undefined) return sql;
      return sqlCall('case', at, sqlCall('isnotnull', at, a), b, c);
    case 'nullif':
      if (a === undefined || b === undefined || args.length > 2) return sql;
      return sqlCall('case', at, sqlCall('equal', at, a, b), NULL_SQL, a);
    case 'extract':
    case 'date_part':
    case 'datepart':
      return datePart(sql, context);
    default:
      return rewriteComposite(sql) ?? castCall(sql);
  }
}

const NULL_SQL: Sql = { kind: 'literal', literal: { type: undefined, text: '' }, at: 1 };

/** int(x), double(x), ... */
function castCall(sql: Call): Sql {
  const [of] = sql.args;
  if (of === undefined || sql.args.length !== 1 || SQL_FUNCTIONS.has(sql.name)) return sql;
  const to = typeOfName(sql.name.toUpperCase(), []);
  return to === undefined ? sql : { kind: 'cast', of, to, at: sql.at };
}

function datePart(sql: Call, context: LowerContext): Sql | undefined {
  const [part, of] = sql.args;
  if (part?.kind !== 'literal' || of === undefined) return sql;
  const name = DATE_PARTS[part.literal.text.toLowerCase()];
  if (name !== undefined) return sqlCall(name, sql.at, of);
  context.problem(sql.at, `the part '${part.literal.text}' of a date is not supported`);
  return undefined;
}
