// Comparisons, logic, tests of single elements. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import { isFloating } from '../../lower/values.js';
import {
  abs,
  binaryLowering,
  equal,
  floatLowering,
  less,
  not,
  number,
  sub,
  unary,
} from '../arithmetic/algebra.js';

const notEqual: Lowering = (cx) => not(cx, equal(cx, cx.tensor(0), cx.tensor(1)));

const approximateEqual = floatLowering((cx, x, y) =>
  less(cx, abs(cx, sub(cx, x, y)), number(cx, x, cx.float('tolerance', 1e-5))),
);

const isWhat =
  (type: string): Lowering =>
  (cx) =>
    cx.op(type, [cx.tensor(0)], { dtype: 'bool' });

const isFinite: Lowering = (cx) => {
  const x = cx.tensor(0);
  if (!isFloating(x.dtype)) return equal(cx, x, x);
  const wide = x.dtype === 'double' ? x : cx.cast(x, 'float');
  return less(cx, abs(cx, wide), number(cx, wide, Infinity));
};

const compared = (type: string): Lowering => binaryLowering(type, 'bool');

const NOT_BROADCAST = 'shapes that do not broadcast fail the request';

export const COMPARE: Operators = {
  Equal: { lower: compared('Equal'), dtypes: 'any', note: NOT_BROADCAST },
  NotEqual: { lower: notEqual, dtypes: 'any', note: NOT_BROADCAST },
  Less: { lower: compared('Less') },
  LessEqual: { lower: compared('LessOrEqual') },
  Greater: { lower: compared('Greater') },
  GreaterEqual: { lower: compared('GreaterOrEqual') },
  ApproximateEqual: { lower: approximateEqual },
  LogicalAnd: { lower: compared('And'), dtypes: 'bool' },
  LogicalOr: { lower: compared('Or'), dtypes: 'bool' },
  LogicalNot: { lower: unary('Not'), dtypes: 'bool' },
  IsNan: { lower: isWhat('IsNaN'), dtypes: 'floating' },
  IsInf: { lower: isWhat('IsInf'), dtypes: 'floating' },
  IsFinite: { lower: isFinite, dtypes: 'floating' },
};
