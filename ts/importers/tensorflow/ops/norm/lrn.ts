// Local response normalisation. Importer's worker thread. Source:
// tensorflow/core/kernels/lrn_op.cc.
import type { Lowering, Operators } from '../../lower/context.js';
import { ofRank, toChannelsFirst, toChannelsLast } from '../conv/layout.js';

/** ONNX divides alpha by the number of summed channels. */
const lrn: Lowering = (cx) => {
  const size = 2 * cx.int('depth_radius', 5) + 1;
  const x = toChannelsFirst(cx, ofRank(cx, cx.tensor(0), 4));
  const y = cx.op('LRN', [x], {
    attributes: {
      size: { int: size },
      bias: { float: cx.float('bias', 1) },
      alpha: { float: cx.float('alpha', 1) * size },
      beta: { float: cx.float('beta', 0.5) },
    },
  });
  return toChannelsLast(cx, y);
};

export const LOCAL_NORM: Operators = {
  LRN: { lower: lrn, dtypes: 'floating' },
};
