// The functions of SQL statements that there are, in one table: the lowering and docs/tabular.md
// have it from here. What they answer is native/tabular/sql. Importer's worker thread; constants.
// Source: tabular.md 5.3 and 10.

/** What a call's values are: a type of the plan, or what follows from its arguments at run time. */
export type ResultType =
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'string'
  | 'date'
  | 'timestamp'
  | 'any';

export interface SqlFunction {
  /** Number of arguments; max -1: any number. */
  readonly min: number;
  readonly max: number;
  readonly result: ResultType;
  /** For the documentation's table. */
  readonly group: string;
  /** Arguments that must be constants, by position. */
  readonly constants?: readonly number[];
}

const rows = (
  group: string,
  result: ResultType,
  table: Readonly<
    Record<string, readonly [min: number, max: number, constants?: readonly number[]]>
  >,
): [string, SqlFunction][] =>
  Object.entries(table).map(([name, [min, max, constants]]) => [
    name,
    { min, max, result, group, ...(constants === undefined ? {} : { constants }) },
  ]);

/** By name in lower case; operators have names here too. */
export const SQL_FUNCTIONS: ReadonlyMap<string, SqlFunction> = new Map([
  ...rows('arithmetic', 'any', {
    add: [2, 2],
    subtract: [2, 2],
    multiply: [2, 2],
    divide: [2, 2],
    mod: [2, 2],
    pmod: [2, 2],
    negative: [1, 1],
    positive: [1, 1],
    abs: [1, 1],
    bit_and: [2, 2],
    bit_or: [2, 2],
    bit_xor: [2, 2],
    bit_not: [1, 1],
    shiftleft: [2, 2],
    shiftright: [2, 2],
    shiftrightunsigned: [2, 2],
    greatest: [2, -1],
    least: [2, -1],
    round: [1, 2, [1]],
    bround: [1, 2, [1]],
    ceil: [1, 1],
    floor: [1, 1],
  }),
  ...rows('arithmetic', 'int64', { div: [2, 2], factorial: [1, 1] }),
  ...rows('mathematics', 'double', {
    sqrt: [1, 1],
    cbrt: [1, 1],
    exp: [1, 1],
    expm1: [1, 1],
    ln: [1, 1],
    log: [1, 2],
    log10: [1, 1],
    log2: [1, 1],
    log1p: [1, 1],
    pow: [2, 2],
    sign: [1, 1],
    rint: [1, 1],
    sin: [1, 1],
    cos: [1, 1],
    tan: [1, 1],
    cot: [1, 1],
    asin: [1, 1],
    acos: [1, 1],
    atan: [1, 1],
    atan2: [2, 2],
    sinh: [1, 1],
    cosh: [1, 1],
    tanh: [1, 1],
    asinh: [1, 1],
    acosh: [1, 1],
    atanh: [1, 1],
    hypot: [2, 2],
    degrees: [1, 1],
    radians: [1, 1],
    pi: [0, 0],
    e: [0, 0],
  }),
  ...rows('comparison', 'bool', {
    equal: [2, 2],
    null_safe_equal: [2, 2],
    not_equal: [2, 2],
    less: [2, 2],
    less_equal: [2, 2],
    greater: [2, 2],
    greater_equal: [2, 2],
    in: [2, -1],
    and: [2, 2],
    or: [2, 2],
    not: [1, 1],
  }),
  ...rows('nulls', 'bool', { isnull: [1, 1], isnotnull: [1, 1], isnan: [1, 1] }),
  ...rows('nulls', 'any', { case: [2, -1], coalesce: [1, -1], nanvl: [2, 2] }),
  ...rows('text', 'string', {
    concat: [0, -1],
    concat_ws: [1, -1],
    upper: [1, 1],
    lower: [1, 1],
    initcap: [1, 1],
    btrim: [1, 2],
    ltrim: [1, 2],
    rtrim: [1, 2],
    substring: [2, 3],
    substring_index: [3, 3],
    left: [2, 2],
    right: [2, 2],
    lpad: [2, 3],
    rpad: [2, 3],
    repeat: [2, 2],
    reverse: [1, 1],
    replace: [2, 3],
    translate: [3, 3],
    chr: [1, 1],
    split_part: [3, 3],
    regexp_replace: [3, 3, [1, 2]],
    regexp_extract: [2, 3, [1, 2]],
    split_item: [4, 4, [1, 3]],
  }),
  ...rows('text', 'bool', {
    like: [2, 3, [1, 2]],
    ilike: [2, 3, [1, 2]],
    rlike: [2, 2, [1]],
    startswith: [2, 2],
    endswith: [2, 2],
    contains: [2, 2],
  }),
  ...rows('text', 'int32', {
    length: [1, 1],
    octet_length: [1, 1],
    bit_length: [1, 1],
    ascii: [1, 1],
    instr: [2, 2],
    locate: [2, 3],
    levenshtein: [2, 2],
    split_size: [2, 2, [1]],
  }),
  ...rows('dates', 'date', {
    to_date: [1, 2, [1]],
    date_add: [2, 2],
    date_sub: [2, 2],
    add_months: [2, 2],
    last_day: [1, 1],
    next_day: [2, 2],
    trunc: [2, 2],
    make_date: [3, 3],
  }),
  ...rows('dates', 'timestamp', {
    to_timestamp: [1, 2, [1]],
    date_trunc: [2, 2],
    from_utc_timestamp: [2, 2, [1]],
    to_utc_timestamp: [2, 2, [1]],
    timestamp_seconds: [1, 1],
    timestamp_millis: [1, 1],
    timestamp_micros: [1, 1],
  }),
  ...rows('dates', 'int32', {
    year: [1, 1],
    quarter: [1, 1],
    month: [1, 1],
    day: [1, 1],
    dayofweek: [1, 1],
    weekday: [1, 1],
    dayofyear: [1, 1],
    weekofyear: [1, 1],
    hour: [1, 1],
    minute: [1, 1],
    second: [1, 1],
    datediff: [2, 2],
  }),
  ...rows('dates', 'double', { months_between: [2, 3] }),
  ...rows('dates', 'int64', { unix_timestamp: [1, 2, [1]] }),
  ...rows('dates', 'string', { date_format: [2, 2, [1]], from_unixtime: [1, 2, [1]] }),
]);

/** Other names of the same functions. */
export const SQL_ALIASES: Readonly<Record<string, string>> = {
  ceiling: 'ceil',
  char: 'chr',
  char_length: 'length',
  character_length: 'length',
  date_diff: 'datediff',
  dateadd: 'date_add',
  dayofmonth: 'day',
  ifnull: 'coalesce',
  lcase: 'lower',
  len: 'length',
  nvl: 'coalesce',
  position: 'locate',
  power: 'pow',
  regexp: 'rlike',
  regexp_like: 'rlike',
  signum: 'sign',
  substr: 'substring',
  to_unix_timestamp: 'unix_timestamp',
  trim: 'btrim',
  ucase: 'upper',
};

/** Functions that are NULL where those that they try raise in ANSI mode. */
export const SQL_TRIES: Readonly<Record<string, string>> = {
  try_add: 'add',
  try_subtract: 'subtract',
  try_multiply: 'multiply',
  try_divide: 'divide',
  try_mod: 'mod',
  try_element_at: 'element_at',
  try_to_date: 'to_date',
  try_to_timestamp: 'to_timestamp',
};

/** Parts of a date or time that date_part and EXTRACT name, by the function that gives them. */
export const DATE_PARTS: Readonly<Record<string, string>> = {
  year: 'year',
  years: 'year',
  y: 'year',
  yr: 'year',
  quarter: 'quarter',
  qtr: 'quarter',
  month: 'month',
  months: 'month',
  mon: 'month',
  week: 'weekofyear',
  weeks: 'weekofyear',
  w: 'weekofyear',
  day: 'day',
  days: 'day',
  d: 'day',
  dayofweek: 'dayofweek',
  dow: 'dayofweek',
  doy: 'dayofyear',
  hour: 'hour',
  hours: 'hour',
  h: 'hour',
  minute: 'minute',
  minutes: 'minute',
  m: 'minute',
  min: 'minute',
};
