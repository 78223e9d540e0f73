// ReverseSequence: the first elements of each row, backwards. Tier T2. Importer's worker thread.
// Source: tensorflow/core/kernels/reverse_sequence_op.
import type { Lowering, Operators } from '../../lower/context.js';

/** ONNX knows the batch and the sequence as the first two axes only. */
const reverseSequence: Lowering = (cx) => {
  const value = cx.tensor(0);
  const lengths = cx.cast(cx.tensor(1), 'int64');
  const rank = cx.rank(value);
  const time = cx.axis(cx.int('seq_dim'), rank);
  const batch = cx.axis(cx.int('batch_dim', 0), rank);
  if (time === batch) return cx.fail(`seq_dim and batch_dim are both ${time}`);
  const others = Array.from({ length: rank }, (_, axis) => axis).filter(
    (axis) => axis !== time && axis !== batch,
  );
  const there = [batch, time, ...others];
  const reversed = cx.op('ReverseSequence', [cx.transpose(value, there), lengths], {
    attributes: { batch_axis: { int: 0 }, time_axis: { int: 1 } },
  });
  return cx.transpose(
    reversed,
    there.map((_, axis) => there.indexOf(axis)),
  );
};

export const REVERSE_SEQUENCE: Operators = {
  ReverseSequence: { lower: reverseSequence, dtypes: 'any' },
};
