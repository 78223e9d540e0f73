// Loads the graph, signatures, assets and checkpoint of a model's version folder, or of one of its
// files. Importer's worker thread.
import { resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import { SAVED_MODEL_TAGS } from '../../../model/platforms.js';
import type { LoadedGraph } from '../types.js';
import { locate } from './detect.js';
import { loadLite } from '../lite/graph.js';
import { loadFrozenGraph } from './frozen-graph.js';
import type { FrozenOptions } from './frozen-graph.js';
import { located } from './model-file.js';
import { loadSavedModelFile } from './saved-model.js';
import { loadSessionBundle } from './session-bundle.js';

/** `inputs` and `outputs` are for frozen graphs, `tags` for SavedModels. */
export interface LoadOptions extends FrozenOptions {
  /** Default: serve. */
  readonly tags?: readonly string[];
}

/**
 * Errors: ModelInvalid: not a TensorFlow model, damaged, above a limit; Unimplemented: an
 * unsupported TensorFlow format.
 */
export function loadGraph(path: string, options: LoadOptions = {}): LoadedGraph {
  const place = locate(path);
  switch (place?.format) {
    case 'saved-model':
      return loadSavedModelFile(place.folder, place.file, options.tags ?? SAVED_MODEL_TAGS);
    case 'session-bundle':
      return loadSessionBundle(place.folder);
    case 'frozen-graph':
      return loadFrozenGraph(place.file, options);
    case 'tflite':
      return located(place.file, () => loadLite(resolve(place.file)));
    case undefined:
      throw modelInvalid(
        `${path}: expected saved_model.pb, saved_model.pbtxt, export.meta or one ` +
          'file *.pb, *.pbtxt, *.graphdef or *.tflite, got none of them',
      );
  }
}
