// What an importer is asked and answers: formats other than ONNX become ONNX graphs at load time.
// Plain data, posted to and from the importer's worker thread. Knows neither engine nor registry.
import type { ImportedModel } from '../tensorflow/imported.js';

/** Formats that are compiled to ONNX. */
export type ImportFormat = 'tensorflow';

export interface ImportRequest {
  readonly format: ImportFormat;
  /** The version's folder, or a GraphDef file; absolute. */
  readonly path: string;
  /** SavedModel: the meta graph's tags; empty = serve. */
  readonly tags: readonly string[];
  /** GraphDef: tensor names; empty = found. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The signature that comes first; "" = serving_default. */
  readonly first: string;
  /** Only these signatures; empty = all. */
  readonly signatures: readonly string[];
  /** "" = nothing is kept. */
  readonly cacheFolder: string;
}

export interface ImportAnswer {
  readonly model: ImportedModel;
  /** Made for this import: to be removed when the weights are loaded. "" = none. */
  readonly temporaryFolder: string;
  readonly fromCache: boolean;
}
