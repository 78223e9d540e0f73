// Imports what TensorFlow wrote (SavedModel, session bundle, frozen graph) as ONNX graphs: read,
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
  /** An existing folder: gets `weights.bin` where constants need one. */
  readonly workFolder: string;
  /** The file in workFolder that gets all constants, for graphs that others load. */
  readonly dataFile?: string;
  /** Only these signatures; absent = all. */
  readonly signatures?: readonly string[];
  /** The signature that comes first; absent = serving_default. */
  readonly first?: string;
  /** false: signatures whose outputs depend on random numbers are blocked. Absent: they are not. */
  readonly allowRandom?: boolean;
}

/**
 * Imports a version folder (or a GraphDef file).
 * Errors: ModelInvalid (damaged, contradictory, above a limit), Unimplemented (a format of
 * TensorFlow's that is not read). Operators that are not supported block their signatures: see
 * ImportedModel.blocked.
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
