// Decodes images to pixels and encodes them, by Serval's own operators. Importer's worker thread.
// Source: tensorflow/core/ops/image_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { Dtype, Shape } from '../../types.js';
import { emit, flag } from '../strings/elements.js';
import { typeNumber } from '../features/attributes.js';

/** Height, width, channels; 0 channels mean the file's own. */
function pixels(cx: OpContext): { readonly shape: Shape; readonly attributes: OnnxAttributes } {
  const channels = cx.int('channels', 0);
  const shape = [undefined, undefined, channels === 0 ? undefined : channels];
  return { shape, attributes: { channels: { int: channels } } };
}

const jpeg: Lowering = (cx) => {
  const { shape, attributes } = pixels(cx);
  return emit(cx, cx.tensors(), 'uint8', shape, {
    ...attributes,
    ratio: { int: cx.int('ratio', 1) },
    fancy_upscaling: flag(cx.bool('fancy_upscaling', true)),
    try_recover_truncated: flag(cx.bool('try_recover_truncated', false)),
    acceptable_fraction: { float: cx.float('acceptable_fraction', 1) },
    dct_method: { string: cx.text('dct_method', '') },
  });
};

const png: Lowering = (cx) => {
  const { shape, attributes } = pixels(cx);
  const dtype: Dtype = cx.type('dtype', 'uint8');
  return emit(cx, [cx.tensor(0)], dtype, shape, {
    ...attributes,
    dtype: { int: typeNumber(dtype) },
  });
};

const bmp: Lowering = (cx) => {
  const { shape, attributes } = pixels(cx);
  return emit(cx, [cx.tensor(0)], 'uint8', shape, attributes);
};

const gif: Lowering = (cx) =>
  emit(cx, [cx.tensor(0)], 'uint8', [undefined, undefined, undefined, 3]);

/** A GIF gives four dims, other formats three, unless only one image is requested. */
const image: Lowering = (cx) => {
  const { shape, attributes } = pixels(cx);
  const dtype: Dtype = cx.type('dtype', 'uint8');
  const expands = cx.bool('expand_animations', true);
  return emit(cx, [cx.tensor(0)], dtype, expands ? undefined : shape, {
    ...attributes,
    dtype: { int: typeNumber(dtype) },
    expand_animations: flag(expands),
  });
};

const jpegShape: Lowering = (cx) => {
  const dtype: Dtype = cx.type('output_type', 'int32');
  return emit(cx, [cx.tensor(0)], dtype, [3], { output_type: { int: typeNumber(dtype) } });
};

const encodePng: Lowering = (cx) =>
  emit(cx, [cx.tensor(0)], 'string', cx.tensor(0).shape?.slice(0, -3), {
    compression: { int: cx.int('compression', -1) },
  });

const encodeJpeg: Lowering = (cx) =>
  emit(cx, cx.tensors(), 'string', [], {
    format: { string: cx.text('format', '') },
    quality: { int: cx.int('quality', 95) },
    progressive: flag(cx.bool('progressive', false)),
    optimize_size: flag(cx.bool('optimize_size', false)),
    chroma_downsampling: flag(cx.bool('chroma_downsampling', true)),
    density_unit: { string: cx.text('density_unit', 'in') },
    x_density: { int: cx.int('x_density', 300) },
    y_density: { int: cx.int('y_density', 300) },
    xmp_metadata: { string: cx.bytes('xmp_metadata', new Uint8Array()) },
  });

export const IMAGE_BYTES: Operators = {
  DecodeJpeg: { lower: jpeg, dtypes: 'string' },
  DecodeAndCropJpeg: { lower: jpeg, dtypes: 'string' },
  DecodePng: { lower: png, dtypes: 'string' },
  DecodeBmp: { lower: bmp, dtypes: 'string' },
  DecodeGif: { lower: gif, dtypes: 'string' },
  DecodeImage: { lower: image, dtypes: 'string', note: 'no WebP, no JPEG XL' },
  EncodePng: { lower: encodePng, dtypes: 'uint8, uint16' },
  EncodeJpeg: { lower: encodeJpeg, dtypes: 'uint8' },
  EncodeJpegVariableQuality: { lower: encodeJpeg, dtypes: 'uint8' },
  ExtractJpegShape: { lower: jpegShape, dtypes: 'string' },
};
