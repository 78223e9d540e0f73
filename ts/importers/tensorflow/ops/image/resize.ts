// Resizing. Importer's worker thread. Source: tensorflow/core/kernels/image/resize_*_op.cc;
// tensorflow-import.md 4.3.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import { dimOf, dimVector, elementDim, knownDims } from '../conv/dims.js';
import { ofRank, toChannelsFirst, toChannelsLast } from '../conv/layout.js';

type Coordinates = 'align_corners' | 'half_pixel' | 'asymmetric';

function coordinates(cx: OpContext): Coordinates {
  if (cx.bool('align_corners', false)) return 'align_corners';
  return cx.bool('half_pixel_centers', false) ? 'half_pixel' : 'asymmetric';
}

function resize(cx: OpContext, images: TensorValue, attributes: OnnxAttributes): TensorValue {
  const x = toChannelsFirst(cx, ofRank(cx, images, 4));
  const size = cx.tensor(1);
  if (size.ints?.some((one) => one !== undefined && one < 1)) {
    cx.fail(`size [${size.ints.join(',')}]: expected 1 or more`);
  }
  // Named axes would be shorter, but the runtime's transpose optimizer loses them.
  const dims = [dimOf(cx, x, 0), dimOf(cx, x, 1), elementDim(cx, size, 0), elementDim(cx, size, 1)];
  // The runtime's shape inference refuses sizes of unknown length.
  const target = cx.reshape(dimVector(cx, dims), [4]);
  const y = cx.op('Resize', [x, undefined, undefined, target], {
    shape: knownDims(dims),
    attributes: {
      ...attributes,
      coordinate_transformation_mode: { string: coordinates(cx) },
    },
  });
  return toChannelsLast(cx, y);
}

const bilinear: Lowering = (cx) =>
  resize(cx, cx.cast(cx.tensor(0), 'float'), { mode: { string: 'linear' } });

const nearest: Lowering = (cx) => {
  const rounding = coordinates(cx) === 'asymmetric' ? 'floor' : 'round_prefer_ceil';
  return resize(cx, cx.tensor(0), {
    mode: { string: 'nearest' },
    nearest_mode: { string: rounding },
  });
};

const FREE = 'numeric';

export const RESIZE: Operators = {
  ResizeBilinear: { lower: bilinear, dtypes: FREE },
  ResizeNearestNeighbor: { lower: nearest, dtypes: FREE },
};
