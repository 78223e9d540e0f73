// Batch sizes for which CUDA graphs are captured, from a model's configuration. Control plane;
// pure. Source: Triton's model_config.proto, ModelOptimizationPolicy.Cuda.
import { read, type MessageValue } from '../../protobuf/schema.js';

/** Upper bound on the number of powers of two among batch sizes. */
const POWERS_MAX = 20;

/**
 * Batch sizes in ascending order; [0]: the model has no batch dim; undefined: not mentioned; empty:
 * turned off.
 * Without graph_spec, uses the powers of two and the preferred sizes; always includes the largest
 * batch.
 */
export function graphRows(config: MessageValue): readonly number[] | undefined {
  const cuda = read.child(read.child(config, 'optimization'), 'cuda');
  if (cuda?.['graphs'] === undefined) return undefined;
  if (!read.bool(cuda, 'graphs')) return [];
  const max = read.int(config, 'max_batch_size');
  if (max <= 0) return [0];
  const specs = read.children(cuda, 'graph_spec').map((spec) => read.int(spec, 'batch_size'));
  const rows = specs.length > 0 ? specs : usualRows(config, max);
  return ascending([...rows, max]);
}

/**
 * Batch sizes for a model whose configuration does not mention graphs. `max`: its largest batch; 0
 * = no batch dim.
 */
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
