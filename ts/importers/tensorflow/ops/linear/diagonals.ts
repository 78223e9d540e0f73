// Diagonals and bands of matrices. Source:
// tensorflow/core/kernels/linalg/{matrix_band_part,matrix_diag,matrix_set_diag}_op.cc. Importer's
// worker thread.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { TensorValue } from '../../lower/values.js';
import {
  add,
  and,
  binary,
  equal,
  less,
  max,
  min,
  mul,
  number,
  onlyNumber,
  sub,
  where,
} from '../arithmetic/algebra.js';
import { checkedIndices, sizeOfAxis } from '../arithmetic/checks.js';
import { type Band, bandOf, diagonalLength, dimOf, indices, int64, offsetOf } from './band.js';

/** Number of diagonals kept on one side of the main one (input 1 below, 2 above). */
function checkedCount(cx: OpContext, input: number, x: TensorValue): TensorValue {
  const axis = cx.rank(x) - 3 + input;
  const size = sizeOfAxis(cx, x, axis);
  const known = size.ints?.[0];
  const bound = known === undefined ? add(cx, size, cx.int64s([1])) : cx.int64s([known + 1]);
  const [side, what] = input === 1 ? ['num_lower', 'rows'] : ['num_upper', 'columns'];
  const rule = `must be negative or less or equal to number of ${what} ({last})`;
  const text = `${side} ${rule} got: {index}`;
  const count = cx.cast(cx.tensor(input), 'int64');
  return checkedIndices(cx, count, bound, { beyond: text, isNegativeOk: true });
}

const bandPart: Lowering = (cx) => {
  const x = cx.tensor(0);
  const rank = cx.rank(x);
  const row = cx.unsqueeze(indices(cx, dimOf(cx, x, rank - 2)), [1]);
  const below = sub(cx, row, indices(cx, dimOf(cx, x, rank - 1)));
  const inside = (input: number, distance: TensorValue): TensorValue | undefined => {
    const known = onlyNumber(cx, input);
    if (known !== undefined && known < 0) return undefined;
    const count = checkedCount(cx, input, x);
    const isNear = binary(cx, 'LessOrEqual', distance, count, 'bool');
    const isAll = less(cx, count, int64(cx, 0));
    return known === undefined ? binary(cx, 'Or', isNear, isAll, 'bool') : isNear;
  };
  const sides = [inside(1, below), inside(2, sub(cx, int64(cx, 0), below))].flatMap(
    (one) => one ?? [],
  );
  const [first, second] = sides;
  if (first === undefined) return x;
  const keeps = second === undefined ? first : and(cx, first, second);
  return { ...where(cx, keeps, x, number(cx, x, 0)), shape: x.shape };
};

/** `base` with the diagonals of `diagonal` written into it. */
function written(cx: OpContext, base: TensorValue, diagonal: TensorValue, band: Band): TensorValue {
  const rank = cx.rank(diagonal, 'its diagonal');
  const row = cx.unsqueeze(indices(cx, band.rows), [1]);
  const column = indices(cx, band.columns);
  const longest = dimOf(cx, diagonal, rank - 1);
  let out = base;
  for (let d = band.low; d <= band.high; d++) {
    const isHere = equal(cx, sub(cx, column, row), int64(cx, d));
    const along = indices(cx, d >= 0 ? band.rows : band.columns);
    const moved = binary(cx, 'Add', along, offsetOf(cx, band, d, longest));
    const at = max(cx, min(cx, moved, sub(cx, longest, int64(cx, 1))), int64(cx, 0));
    const one = band.isSingle
      ? diagonal
      : cx.op('Gather', [diagonal, cx.scalar('int64', band.high - d)], {
          shape: diagonal.shape?.filter((_, axis) => axis !== rank - 2),
          attributes: { axis: { int: rank - 2 } },
        });
    const axis = cx.rank(one) - 1;
    const elements = cx.op('Gather', [one, at], {
      shape: one.shape?.map((dim, each) => (each === axis ? undefined : dim)),
      attributes: { axis: { int: axis } },
    });
    out = where(cx, isHere, cx.unsqueeze(elements, [d >= 0 ? axis + 1 : axis]), out);
  }
  return out;
}

/** MatrixDiag (1 input) and V2, V3 (diagonal, k, num_rows, num_cols, padding_value). */
const matrixDiag: Lowering = (cx) => {
  const diagonal = cx.tensor(0);
  const { low, high, isSingle, align } = bandOf(cx, 1);
  const longest = dimOf(cx, diagonal, cx.rank(diagonal) - 1);
  const leastRows = sub(cx, longest, int64(cx, Math.min(high, 0)));
  const leastColumns = binary(cx, 'Add', longest, int64(cx, Math.max(low, 0)));
  const given = (input: number): TensorValue | undefined => {
    if (cx.inputs.length <= input) return undefined;
    const known = onlyNumber(cx, input) ?? cx.fail('num_rows and num_cols must be constants');
    return known === -1 ? undefined : int64(cx, known);
  };
  const [rows, columns] = [given(2), given(3)];
  const square = max(cx, leastRows, leastColumns);
  const isSquare = rows === undefined && columns === undefined;
  const band: Band = {
    low,
    high,
    isSingle,
    align,
    rows: rows ?? (isSquare ? square : leastRows),
    columns: columns ?? (isSquare ? square : leastColumns),
  };
  const padding = cx.inputs.length > 4 ? cx.tensor(4) : number(cx, diagonal, 0);
  return written(cx, padding, diagonal, band);
};

/** MatrixSetDiag (x, diagonal) and V2, V3 (x, diagonal, k). */
const matrixSetDiag: Lowering = (cx) => {
  const x = cx.tensor(0);
  const rank = cx.rank(x);
  const band = { ...bandOf(cx, 2), rows: dimOf(cx, x, rank - 2), columns: dimOf(cx, x, rank - 1) };
  return { ...written(cx, x, cx.tensor(1), band), shape: x.shape };
};

/** MatrixDiagPart (x) and V2, V3 (x, k, padding_value). */
const matrixDiagPart: Lowering = (cx) => {
  const x = cx.tensor(0);
  const rank = cx.rank(x);
  const band: Band = {
    ...bandOf(cx, 1),
    rows: dimOf(cx, x, rank - 2),
    columns: dimOf(cx, x, rank - 1),
  };
  const padding = cx.inputs.length > 2 ? cx.tensor(2) : number(cx, x, 0);
  const flat = flattened(cx, x, rank);
  if (band.isSingle) return taken(cx, flat, band, band.low, undefined, padding);
  const lengths = Array.from({ length: band.high - band.low + 1 }, (_, i) =>
    diagonalLength(cx, band, band.low + i),
  );
  const longest = lengths.reduce((most, one) => max(cx, most, one));
  const parts = lengths.map((_, i) =>
    cx.unsqueeze(taken(cx, flat, band, band.high - i, longest, padding), [rank - 2]),
  );
  return cx.concat(parts, rank - 2);
};

/** Flattens the last two axes into one. */
function flattened(cx: OpContext, x: TensorValue, rank: number): TensorValue {
  const outer = cx.op(
    'Slice',
    [cx.shapeOf(x), cx.int64s([0]), cx.int64s([rank - 2]), cx.int64s([0])],
    { shape: [rank - 2] },
  );
  const shape = [...(x.shape?.slice(0, -2) ?? []), undefined];
  return cx.reshape(x, cx.concat([outer, cx.int64s([-1])], 0), shape);
}

/** Diagonal d; with `longest`, aligned and padded as one of a band. */
function taken(
  cx: OpContext,
  flat: TensorValue,
  band: Band,
  d: number,
  longest: TensorValue | undefined,
  padding: TensorValue,
): TensorValue {
  const length = diagonalLength(cx, band, d);
  const place = indices(cx, longest ?? length);
  const along = longest === undefined ? place : sub(cx, place, offsetOf(cx, band, d, longest));
  const isInside = and(
    cx,
    less(cx, along, length),
    binary(cx, 'GreaterOrEqual', along, int64(cx, 0), 'bool'),
  );
  const safe = longest === undefined ? along : where(cx, isInside, along, int64(cx, 0));
  const row = binary(cx, 'Add', safe, int64(cx, Math.max(-d, 0)));
  const column = binary(cx, 'Add', safe, int64(cx, Math.max(d, 0)));
  const at = binary(cx, 'Add', mul(cx, row, band.columns), column);
  const axis = cx.rank(flat) - 1;
  const elements = cx.op('Gather', [flat, at], { attributes: { axis: { int: axis } } });
  return longest === undefined ? elements : where(cx, isInside, elements, padding);
}

/** For a tensor of rank r: its elements on the diagonal of a tensor of rank 2r. */
const diag: Lowering = (cx) => {
  const x = cx.tensor(0);
  const flat = cx.reshape(x, [-1]);
  const size = dimOf(cx, flat, 0);
  const band: Band = {
    low: 0,
    high: 0,
    isSingle: true,
    align: 'LEFT_LEFT',
    rows: size,
    columns: size,
  };
  const square = written(cx, number(cx, x, 0), flat, band);
  const shape = cx.shapeOf(x);
  const known = x.shape === undefined ? undefined : [...x.shape, ...x.shape];
  return cx.reshape(square, cx.concat([shape, shape], 0), known);
};

const diagPart: Lowering = (cx) => {
  const x = cx.tensor(0);
  const half = cx.rank(x) / 2;
  const known = x.shape?.slice(0, half) ?? [];
  const shape = cx.op('Slice', [cx.shapeOf(x), cx.int64s([0]), cx.int64s([half]), cx.int64s([0])], {
    shape: [half],
  });
  const size = cx.op('ReduceProd', [shape], { shape: [], attributes: { keepdims: { int: 0 } } });
  const place = indices(cx, size);
  const at = mul(cx, place, binary(cx, 'Add', size, int64(cx, 1)));
  const elements = cx.op('Gather', [cx.reshape(x, [-1]), at], { shape: [undefined] });
  return cx.reshape(elements, shape, known);
};

const NOTE = 'k, num_rows and num_cols must be constants';

export const DIAGONALS: Operators = {
  MatrixBandPart: { lower: bandPart },
  BatchMatrixBandPart: { lower: bandPart },
  MatrixDiag: { lower: matrixDiag },
  MatrixDiagV2: { lower: matrixDiag, note: NOTE },
  MatrixDiagV3: { lower: matrixDiag, note: NOTE },
  MatrixDiagPart: { lower: matrixDiagPart },
  MatrixDiagPartV2: { lower: matrixDiagPart, note: NOTE },
  MatrixDiagPartV3: { lower: matrixDiagPart, note: NOTE },
  MatrixSetDiag: { lower: matrixSetDiag },
  MatrixSetDiagV2: { lower: matrixSetDiag, note: NOTE },
  MatrixSetDiagV3: { lower: matrixSetDiag, note: NOTE },
  Diag: { lower: diag },
  DiagPart: { lower: diagPart },
};
