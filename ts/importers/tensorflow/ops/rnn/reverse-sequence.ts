// ReverseSequence: reverses the first elements of each row. Importer's worker thread. Source:
// tensorflow/core/kernels/reverse_sequence_op.
import type { Lowering, Operators } from '../../lower/context.js';
import { add } from '../arithmetic/algebra.js';
import { checkedIndices, sizeOfAxis } from '../arithmetic/checks.js';

/** ONNX supports the batch and the sequence only as the first two axes. */
const reverseSequence: Lowering = (cx) => {
  const value = cx.tensor(0);
  const rank = cx.rank(value);
  const time = cx.axis(cx.int('seq_dim'), rank);
  const batch = cx.axis(cx.int('batch_dim', 0), rank);
  const [size, one] = [sizeOfAxis(cx, value, time), cx.int64s([1])];
  const bound = size.ints?.[0] === undefined ? add(cx, size, one) : cx.int64s([size.ints[0] + 1]);
  const lengths = cx.cast(
    checkedIndices(cx, cx.tensor(1), bound, {
      below: 'seq_lens({at}) < 0',
      beyond: `seq_lens({at}) > input.dims(${time})`,
    }),
    'int64',
  );
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
