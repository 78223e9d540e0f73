// Imports TensorFlow models (SavedModel, session bundle, frozen graph) as ONNX graphs: read,
// initialise, lower. Importer's worker thread; reads files, writes one (the weights' blob).
import { join } from 'node:path';
import { modelInvalid } from '../../base/errors.js';
import { openCheckpoint } from './checkpoint/index.js';
import type { ImportedModel } from './imported.js';
import { loadGraph, type LoadOptions } from './load/index.js';
import { lowerModel } from './lower/lower-model.js';
import type { OpContext, Operators } from './lower/context.js';
import { REFUSAL } from './lite/graph.js';
import { OPERATORS } from './ops/index.js';
import { LITE } from './ops/lite/index.js';
import { prepareModel } from './prepare/index.js';
import { OpTable } from './proto/op-defs.js';
import type { LoadedGraph } from './types.js';

const VARIABLES: ReadonlySet<string> = new Set(['VarHandleOp', 'VariableV2']);

export interface ImportOptions extends LoadOptions {
  /** An existing folder: receives `weights.bin` if constants need one. */
  readonly workFolder: string;
  /** The file in workFolder for all constants, if the graphs are for other runtimes. */
  readonly dataFile?: string;
  /** Only these signatures; absent = all. */
  readonly signatures?: readonly string[];
  /** The signature that comes first; absent = serving_default. */
  readonly first?: string;
  /** false: signatures whose outputs depend on random numbers are blocked. Absent: true. */
  readonly allowRandom?: boolean;
}

/**
 * Imports a version folder (or a GraphDef file). Errors: ModelInvalid (damaged, contradictory,
 * above a limit), Unimplemented (an unsupported TensorFlow format). Unsupported operators block
 * their signatures: see ImportedModel.blocked.
 */
export function importTensorFlow(path: string, options: ImportOptions): ImportedModel {
  const source = loadGraph(path, options);
  const ops = new OpTable(source.opDefs, source.graph.functions);
  const checkpoint = source.checkpoint && openCheckpoint(source.checkpoint);
  const prepared = prepareModel(source, checkpoint, ops);
  const { signatures, first, dataFile, allowRandom = true } = options;
  const model = lowerModel(prepared, {
    operators: operatorsOf(source),
    allowRandom,
    weightsPath: join(options.workFolder, dataFile ?? 'weights.bin'),
    ...(dataFile === undefined ? {} : { portableAs: dataFile }),
    dtypeOf: (node, output) => ops.outputDtype(node, output),
    ...(signatures === undefined ? {} : { signatures }),
    ...(first === undefined ? {} : { first }),
  });
  if (model.graphs.length === 0) requireVariables(path, source);
  return model;
}

/** TensorFlow's; for TensorFlow Lite also its own, and those that say why one is not lowered. */
function operatorsOf({ format, graph }: LoadedGraph): Operators {
  if (format !== 'tflite') return OPERATORS;
  const nodes = [graph, ...graph.functions.values()].flatMap((one) => one.nodes);
  const refused = nodes
    .filter(({ attributes }) => attributes.has(REFUSAL))
    .map(({ op }) => [op, { lower: (cx: OpContext) => cx.fail(cx.text(REFUSAL)) }] as const);
  return { ...OPERATORS, ...LITE, ...Object.fromEntries(refused) };
}

/** Errors: ModelInvalid: a SavedModel that was copied without the folder of its variables. */
function requireVariables(path: string, { format, checkpoint, graph }: LoadedGraph): void {
  if (format !== 'saved-model' || checkpoint !== undefined) return;
  const count = graph.nodes.filter(({ op }) => VARIABLES.has(op)).length;
  if (count === 0) return;
  throw modelInvalid(
    `${join(path, 'variables', 'variables.index')} is missing and the graph has ${count} ` +
      'variables: copy the whole folder of the SavedModel',
  );
}
