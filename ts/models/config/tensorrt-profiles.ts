// Optimization profiles (shape ranges) for TensorRT, from the batch sizes and dims of a model's
// configuration. Control plane; pure. Source: ONNX Runtime's TensorRT provider,
// trt_profile_min_shapes and the like.
import { read } from '../../protobuf/schema.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { raggedSettings } from './ragged/settings.js';
import type { TritonConfig } from './types.js';

/**
 * Inputs whose shape is not determined by the batch size: those with dynamic dims after the batch
 * dim, ragged and computed ones. undefined if the configuration names no inputs.
 */
export function openInputs(config: TritonConfig): readonly string[] | undefined {
  const inputs = read.children(config, 'input');
  if (inputs.length === 0) return undefined;
  const open = inputs
    .filter((one) => read.bool(one, 'allow_ragged_batch') || dimsOf(one).some((dim) => dim < 0))
    .map((input) => read.text(input, 'name'));
  const { batchInputs = [] } = raggedSettings(config);
  return [...open, ...batchInputs.map(({ input }) => input)];
}

/**
 * Provider options for batches from one row to max_batch_size, optimized for the largest preferred
 * size (or the maximum). None if no input has a batch dim or one has dynamic dims: ONNX Runtime
 * accepts profiles for all inputs or for none.
 */
export function tensorrtProfiles(config: TritonConfig): Readonly<Record<string, string>> {
  const rows = read.int(config, 'max_batch_size');
  const inputs = read.children(config, 'input');
  if (rows === 0 || inputs.length === 0 || openInputs(config)?.length !== 0) return {};
  const preferred = read.ints(read.child(config, 'dynamic_batching'), 'preferred_batch_size');
  const best = preferred.length === 0 ? rows : Math.min(rows, Math.max(...preferred));
  const shapes = (batch: number): string =>
    inputs.map((input) => `${read.text(input, 'name')}:${shapeText(input, batch)}`).join(',');
  return {
    trt_profile_min_shapes: shapes(1),
    trt_profile_opt_shapes: shapes(best),
    trt_profile_max_shapes: shapes(rows),
  };
}

/** Dims of the model's own tensor, without the batch dim. */
function dimsOf(input: MessageValue): readonly number[] {
  const reshape = read.child(input, 'reshape');
  return reshape === undefined ? read.ints(input, 'dims') : read.ints(reshape, 'shape');
}

const shapeText = (input: MessageValue, batch: number): string =>
  [batch, ...dimsOf(input)].join('x');
