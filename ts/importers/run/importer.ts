// Requests to an importer and its results: formats that the engine does not read become ONNX
// graphs, or a tabular plan, at load time. Plain data, posted to and from the importer's worker
// thread. Knows neither engine nor registry.
import type { ImportedTabular, TabularSettings } from '../plan/imported.js';
import type { ImportedModel } from '../tensorflow/imported.js';
import type { TabularFormat } from './model-files.js';

interface AnyRequest {
  /** The version's folder, or a file; absolute. */
  readonly path: string;
  /** "" = no cache. */
  readonly cacheFolder: string;
}

/** Import to ONNX. */
export interface TensorFlowRequest extends AnyRequest {
  readonly format: 'tensorflow';
  /** SavedModel: the meta graph's tags; [] is a set too. */
  readonly tags: readonly string[];
  /** GraphDef: tensor names; empty = detected. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The signature that comes first; "" = serving_default. */
  readonly first: string;
  /** Whether outputs may depend on random numbers. Absent: no. */
  readonly allowRandom?: boolean;
  /** Only these signatures; empty = all. */
  readonly signatures: readonly string[];
}

/** Import to a plan. */
export interface TabularRequest extends AnyRequest, TabularSettings {
  readonly format: TabularFormat;
  /** The schema file of its fields and outputs; absolute; "" = the model's own. */
  readonly schema: string;
  /** The CSV file of the explanations' background rows; absolute. Absent: none. */
  readonly background?: string;
}

export type ImportRequest = TensorFlowRequest | TabularRequest;

/** The result of one kind of request. */
export type ImportedBy<Request extends ImportRequest> = Request extends TabularRequest
  ? ImportedTabular
  : ImportedModel;

export interface ImportAnswer<Model = ImportedModel | ImportedTabular> {
  readonly model: Model;
  /** Created for this import: to be removed once its contents are loaded. "" = none. */
  readonly temporaryFolder: string;
  readonly fromCache: boolean;
}

export function isTabularImport(model: ImportedModel | ImportedTabular): model is ImportedTabular {
  return 'plan' in model;
}
