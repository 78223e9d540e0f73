// What an importer is asked and answers: formats that the engine does not read become ONNX graphs,
// or a plan of columns, at load time. Plain data, posted to and from the importer's worker thread.
// Knows neither engine nor registry.
import type { ImportedTable, TableSettings } from '../plan/imported.js';
import type { ImportedModel } from '../tensorflow/imported.js';
import type { TabularFormat } from './model-files.js';

interface AnyRequest {
  /** The version's folder, or a file; absolute. */
  readonly path: string;
  /** "" = nothing is kept. */
  readonly cacheFolder: string;
}

/** To ONNX. */
export interface TensorFlowRequest extends AnyRequest {
  readonly format: 'tensorflow';
  /** SavedModel: the meta graph's tags; [] is a set too. */
  readonly tags: readonly string[];
  /** GraphDef: tensor names; empty = found. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The signature that comes first; "" = serving_default. */
  readonly first: string;
  /** Whether outputs may depend on random numbers. Absent: no. */
  readonly allowRandom?: boolean;
  /** Only these signatures; empty = all. */
  readonly signatures: readonly string[];
}

/** To a plan. */
export interface TableRequest extends AnyRequest, TableSettings {
  readonly format: TabularFormat;
  /** A file that says what fields and outputs are; absolute; "" = the model does. */
  readonly schema: string;
}

export type ImportRequest = TensorFlowRequest | TableRequest;

/** What a request of one kind comes to. */
export type ImportedBy<Request extends ImportRequest> = Request extends TableRequest
  ? ImportedTable
  : ImportedModel;

export interface ImportAnswer<Model = ImportedModel | ImportedTable> {
  readonly model: Model;
  /** Made for this import: to be removed when what is in it is loaded. "" = none. */
  readonly temporaryFolder: string;
  readonly fromCache: boolean;
}

export function isTable(model: ImportedModel | ImportedTable): model is ImportedTable {
  return 'plan' in model;
}
