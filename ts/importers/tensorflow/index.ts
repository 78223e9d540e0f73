// Imports TensorFlow models (SavedModel, session bundle, frozen graph) as ONNX graphs: read,
// initialise, lower. Importer's worker thread; reads files, writes one (the weights' blob).
import { join } from 'node:path';
import { openCheckpoint } from './checkpoint/index.js';
import type { ImportedModel } from './imported.js';
import { loadGraph, type LoadOptions } from './load/index.js';
import { lowerModel } from './lower/lower-model.js';
import { OPERATORS } from './ops/index.js';
import { prepareModel } from './prepare/index.js';
import { OpTable } from './proto/op-defs.js';

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
  return lowerModel(prepared, {
    operators: OPERATORS,
    allowRandom,
    weightsPath: join(options.workFolder, dataFile ?? 'weights.bin'),
    ...(dataFile === undefined ? {} : { portableAs: dataFile }),
    dtypeOf: (node, output) => ops.outputDtype(node, output),
    ...(signatures === undefined ? {} : { signatures }),
    ...(first === undefined ? {} : { first }),
  });
}
