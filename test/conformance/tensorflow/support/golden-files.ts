// Golden folders: one graph per operator with many cases, and TensorFlow's result for each. Format:
// DIR/ops/<operator>/{graph.pb,cases.json}, made by test/fixtures/tensorflow.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readGraphDef } from '../../../../ts/importers/tensorflow/proto/graph-def.js';
import { dtypeOfCode } from './dtype-codes.js';
import { ReadContext } from '../../../../ts/importers/tensorflow/proto/read-context.js';
import type { GraphDef, Tensor } from '../../../../ts/importers/tensorflow/types.js';
import { WireReader } from '../../../../ts/protobuf/reader.js';

/** A tensor in cases.json: little-endian elements as base64, strings each as base64. */
export interface GoldenTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: string | readonly string[];
}

export interface GoldenCase {
  readonly name: string;
  readonly op: string;
  /** A description of the case, for people. */
  readonly attributes: string;
  /**
   * "static", "batch", "dynamic", "unknown": what the graph declares about its placeholders'
   * shapes.
   */
  readonly dims: string;
  readonly feeds: Readonly<Record<string, GoldenTensor>>;
  /** null if TensorFlow reports an error. */
  readonly fetches: Readonly<Record<string, GoldenTensor | null>>;
  /** The relative tolerance of floating-point outputs. */
  readonly tolerance?: number;
  readonly expectError?: string;
}

export interface GoldenGroup {
  readonly name: string;
  readonly graph: GraphDef;
  readonly cases: readonly GoldenCase[];
}

export const NO_GOLDENS = 'no goldens: no TensorFlow to make them with, no SERVAL_TF_GOLDENS';

/** Names of the operators that have goldens, sorted. */
export function goldenNames(folder: string): string[] {
  const ops = join(folder, 'ops');
  return readdirSync(ops)
    .filter((name) => existsSync(join(ops, name, 'cases.json')))
    .sort();
}

export function readGoldens(folder: string, name: string): GoldenGroup {
  const path = join(folder, 'ops', name);
  const cases = JSON.parse(readFileSync(join(path, 'cases.json'), 'utf8')) as GoldenCase[];
  const reader = new WireReader(readFileSync(join(path, 'graph.pb')), 'GraphDef');
  // Without a file in the context all constants stay in memory: their weights have one blob.
  return { name, graph: readGraphDef(reader, new ReadContext()), cases };
}

/** Decodes the tensor of a golden. */
export function goldenTensor({ dtype: code, shape, data }: GoldenTensor): Tensor {
  const dtype = dtypeOfCode(code);
  if (typeof data !== 'string') {
    const values = data.map((one) => new Uint8Array(Buffer.from(one, 'base64')));
    return { dtype, shape, data: { kind: 'strings', values } };
  }
  // A copy, because buffers of base64 text may be at odd offsets in Node's pool.
  const bytes = new Uint8Array(Buffer.from(data, 'base64'));
  return { dtype, shape, data: { kind: 'bytes', bytes } };
}
