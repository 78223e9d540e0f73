// PMML's built-in functions: how many arguments each takes and of which data type its result is.
// native/tabular/pmml/functions has one of the same name each. Importer's worker thread; pure.
// Source: tabular.md 3.3
import { commonDataType } from '../types.js';

export interface BuiltIn {
  readonly least: number;
  readonly most: number; // Infinity: any number
  /** The result's data type, of the arguments'. */
  readonly type: (types: readonly string[]) => string;
}

const common = (types: readonly string[]) =>
  types.reduce((left, right) => commonDataType(left, right), types[0] ?? 'double');
const averaged = (types: readonly string[]) => {
  const type = common(types);
  return type === 'integer' ? 'double' : type;
};
const fixed = (type: string) => () => type;
const define = (least: number, most: number, type: BuiltIn['type']): BuiltIn => ({
  least,
  most,
  type,
});

const any = Number.POSITIVE_INFINITY;
const math = define(1, 1, fixed('double'));
const whole = define(1, 1, fixed('integer'));
const same = define(1, 1, (types) => types[0] ?? 'double');
const test = define(1, 1, fixed('boolean'));
const compare = define(2, 2, fixed('boolean'));
const text = define(1, 1, fixed('string'));

/** By PMML's name. `x-` before the name of one that a later version has is the same function. */
export const BUILT_INS: Readonly<Record<string, BuiltIn>> = {
  '+': define(2, 2, common),
  '-': define(2, 2, common),
  '*': define(2, 2, common),
  '/': define(2, 2, common),
  modulo: define(2, 2, common),
  min: define(1, any, common),
  max: define(1, any, common),
  sum: define(1, any, common),
  avg: define(1, any, averaged),
  median: define(1, any, averaged),
  product: define(1, any, common),
  log10: math,
  ln: math,
  ln1p: math,
  sqrt: math,
  exp: math,
  expm1: math,
  abs: same,
  rint: same,
  pow: define(2, 2, common),
  threshold: define(2, 2, common),
  'x-atan2': define(2, 2, fixed('double')),
  hypot: define(2, 2, fixed('double')),
  floor: whole,
  ceil: whole,
  round: whole,
  sin: math,
  asin: math,
  sinh: math,
  cos: math,
  acos: math,
  cosh: math,
  tan: math,
  atan: math,
  tanh: math,
  erf: math,
  normalCDF: define(3, 3, fixed('double')),
  normalPDF: define(3, 3, fixed('double')),
  normalIDF: define(3, 3, fixed('double')),
  stdNormalCDF: math,
  stdNormalPDF: math,
  stdNormalIDF: math,
  isMissing: test,
  isNotMissing: test,
  isValid: test,
  isNotValid: test,
  equal: compare,
  notEqual: compare,
  lessThan: compare,
  lessOrEqual: compare,
  greaterThan: compare,
  greaterOrEqual: compare,
  and: define(2, any, fixed('boolean')),
  or: define(2, any, fixed('boolean')),
  not: test,
  isIn: define(2, any, fixed('boolean')),
  isNotIn: define(2, any, fixed('boolean')),
  if: define(2, 3, (types) => (types.length < 3 ? (types[1] ?? 'double') : common(types.slice(1)))),
  uppercase: text,
  lowercase: text,
  trimBlanks: text,
  stringLength: whole,
  substring: define(3, 3, fixed('string')),
  concat: define(2, any, fixed('string')),
  replace: define(3, 3, fixed('string')),
  matches: define(2, 2, fixed('boolean')),
  formatNumber: define(2, 2, fixed('string')),
  formatDatetime: define(2, 2, fixed('string')),
  dateDaysSinceYear: define(2, 2, fixed('integer')),
  dateSecondsSinceYear: define(2, 2, fixed('integer')),
  dateSecondsSinceMidnight: whole,
};

/** The function's name in BUILT_INS; undefined: it is not a built-in function. */
export function builtInName(name: string): string | undefined {
  if (Object.hasOwn(BUILT_INS, name)) return name;
  const plain = name.startsWith('x-') ? name.slice(2) : '';
  return Object.hasOwn(BUILT_INS, plain) ? plain : undefined;
}

/** Functions that order their two arguments. */
export const ORDERING: ReadonlySet<string> = new Set([
  'lessThan',
  'lessOrEqual',
  'greaterThan',
  'greaterOrEqual',
]);
