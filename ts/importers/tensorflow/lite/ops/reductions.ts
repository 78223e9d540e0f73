// Reductions, positions and other operators along axes of TensorFlow Lite. Importer's worker
// thread; pure. Source: tensorflow/lite/kernels/{reduce,arg_min_max,topk_v2,cumsum,segment_sum}.cc.
import { bool, floats, type } from '../attributes.js';
import { OPTIONS } from '../generated/schema.js';
import type { LiteOperator, LiteOperators, Translate } from '../op.js';

const reduced = (op: string): LiteOperator => ({
  translate: (of) => {
    const { keepDims } = of.options(OPTIONS.ReducerOptions);
    of.give(of.add(op, [of.real(0), of.raw(1)], { keep_dims: bool(keepDims) }));
  },
});

/** Stored numbers have the order of the real ones. */
const position = (op: string): LiteOperator => ({
  translate: (of) => {
    const attributes = { output_type: type(of.outDtype()), T: type(of.dtype()) };
    of.giveRaw(of.add(op, [of.raw(0), of.raw(1)], attributes));
  },
});

const topK: Translate = (of) => {
  const isSame = of.scope.isSame(of.in(0), of.out());
  const x = isSame ? of.raw(0) : of.real(0);
  const { node } = of.add('TopKV2', [x, of.raw(1)], { T: type(of.dtype()) });
  if (isSame) of.giveRaw({ node, output: 0 });
  else of.give({ node, output: 0 });
  of.giveRaw({ node, output: 1 }, 1);
};

const cumsum: Translate = (of) => {
  const { exclusive, reverse } = of.options(OPTIONS.CumsumOptions);
  const attributes = { exclusive: bool(exclusive), reverse: bool(reverse) };
  of.give(of.add('Cumsum', [of.real(0), of.raw(1)], attributes));
};

const unique: Translate = (of) => {
  const attributes = { T: type(of.dtype()), out_idx: type(of.outDtype(1)) };
  const { node } = of.add('Unique', [of.raw(0)], attributes);
  of.giveRaw({ node, output: 0 });
  of.giveRaw({ node, output: 1 }, 1);
};

const bucketize: Translate = (of) => {
  const { boundaries } = of.options(OPTIONS.BucketizeOptions);
  of.giveRaw(of.add('Bucketize', [of.real(0)], { boundaries: floats(Array.from(boundaries)) }));
};

/** Segments: the numbers, their segments, and for unsorted ones their count. */
const segments = (op: string): LiteOperator => ({
  translate: (of) => {
    const others = Array.from({ length: of.count - 1 }, (_, i) => of.raw(i + 1));
    of.give(of.add(op, [of.real(0), ...others]));
  },
});

const plain = (op: string, count: number, padded = {}): LiteOperator => ({
  translate: (of) => {
    const inputs = Array.from({ length: of.count }, (_, i) => of.raw(i));
    const { node } = of.add(op, inputs, padded);
    for (let i = 0; i < count; i += 1) of.giveRaw({ node, output: i }, i);
  },
});

const PADDED = { pad_to_max_output_size: bool(true) };

export const REDUCTIONS: LiteOperators = {
  ARG_MAX: position('ArgMax'),
  ARG_MIN: position('ArgMin'),
  BUCKETIZE: { translate: bucketize },
  CUMSUM: { translate: cumsum },
  DYNAMIC_UPDATE_SLICE: plain('XlaDynamicUpdateSlice', 1),
  MATRIX_DIAG: plain('MatrixDiag', 1),
  MATRIX_SET_DIAG: plain('MatrixSetDiag', 1),
  MEAN: reduced('Mean'),
  NON_MAX_SUPPRESSION_V4: plain('NonMaxSuppressionV4', 2, PADDED),
  NON_MAX_SUPPRESSION_V5: plain('NonMaxSuppressionV5', 3, PADDED),
  REDUCE_ALL: reduced('All'),
  REDUCE_ANY: reduced('Any'),
  REDUCE_MAX: reduced('Max'),
  REDUCE_MIN: reduced('Min'),
  REDUCE_PROD: reduced('Prod'),
  RFFT2D: plain('RFFT2D', 1),
  SEGMENT_SUM: segments('SegmentSum'),
  SUM: reduced('Sum'),
  TOPK_V2: { translate: topK },
  UNIQUE: { translate: unique },
  UNSORTED_SEGMENT_MAX: segments('UnsortedSegmentMax'),
  UNSORTED_SEGMENT_MIN: segments('UnsortedSegmentMin'),
  UNSORTED_SEGMENT_PROD: segments('UnsortedSegmentProd'),
  UNSORTED_SEGMENT_SUM: segments('UnsortedSegmentSum'),
  WHERE: plain('Where', 1),
};
