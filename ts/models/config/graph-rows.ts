// Which batches CUDA graphs are made of, by a model's configuration. Control plane; pure.
// Source: Triton's model_config.proto, ModelOptimizationPolicy.Cuda.
import { read, type MessageValue } from '../../protobuf/schema.js';

/** More sizes than a batch can have powers of two. */
const POWERS_MAX = 20;

/** Ascending; [0]: the model has no batch dim; empty: none is asked for. Where no graph_spec names
 * any, the powers of two and the preferred sizes; the largest batch always. */
export function graphRows(config: MessageValue): readonly number[] {
  const cuda = read.child(read.child(config, 'optimization'), 'cuda');
  if (cuda === undefined || !read.bool(cuda, 'graphs')) return [];
  const max = read.int(config, 'max_batch_size');
  if (max <= 0) return [0];
  const specs = read.children(cuda, 'graph_spec').map((spec) => read.int(spec, 'batch_size'));
  const rows = specs.length > 0 ? specs : usualRows(config, max);
  return ascending([...rows, max]);
}

/** Of a model without a word on it: --cuda-graphs. `max`: its largest batch; 0 = it has none. */
export function usualGraphRows(max: number): readonly number[] {
  return max > 0 ? ascending([...powersBelow(max), max]) : [0];
}

const ascending = (rows: readonly number[]): readonly number[] =>
  [...new Set(rows)].filter((one) => one > 0).sort((a, b) => a - b);

function usualRows(config: MessageValue, max: number): readonly number[] {
  const preferred = read.ints(read.child(config, 'dynamic_batching'), 'preferred_batch_size');
  return [...powersBelow(max), ...preferred];
}

function powersBelow(max: number): readonly number[] {
  const powers: number[] = [];
  for (let rows = 1; rows < max && powers.length < POWERS_MAX; rows *= 2) powers.push(rows);
  return powers;
}
