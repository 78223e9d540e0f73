// Numbers the rows of a matrix: equal rows get the same number. Importer's worker thread.
import type { OpContext } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import { typeNumber } from './attributes.js';

export interface NumberedRows {
  /** The distinct rows, in order of first occurrence. */
  readonly distinct: TensorValue;
  /** The number of each row among them; int64. */
  readonly numbers: TensorValue;
  /** Their count; int64 scalar. */
  readonly count: TensorValue;
}

export function numberedRows(cx: OpContext, rows: TensorValue): NumberedRows {
  const [distinct, numbers] = cx.custom(
    'Unique',
    [rows],
    [
      { dtype: rows.dtype, shape: [undefined, rows.shape?.[1]] },
      { dtype: 'int64', shape: [rows.shape?.[0]] },
    ],
    { index_type: { int: typeNumber('int64') }, has_axis: { int: 1 }, axis: { int: 0 } },
  );
  if (distinct === undefined || numbers === undefined) return cx.fail('has no output');
  const count = cx.op('Gather', [cx.shapeOf(distinct), cx.scalar('int64', 0)], { shape: [] });
  return { distinct, numbers, count };
}
