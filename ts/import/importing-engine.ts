// The engine's control calls for models of any format: what is not ONNX is compiled to ONNX first,
// in a worker thread. Control plane, main thread.
import { rm } from 'node:fs/promises';
import { ErrorCode, ServalError } from '../errors.js';
import type { ImportAnswer, ImportRequest } from './importer.js';
import type { Logger } from '../logger.js';
import type { EngineControl, LoadedModel, ModelSpec } from '../model/engine-api.js';
import { blockedText, importedSpec, signatureDefs } from './imported-spec.js';

export interface ImportingOptions {
  readonly importModel: (request: ImportRequest) => Promise<ImportAnswer>;
  /** --model-cache; "" = none. */
  readonly cacheFolder: string;
  readonly logger: Logger;
}

/** `engine` with a load() that imports where the spec names an importer. */
export function importingEngine(engine: EngineControl, options: ImportingOptions): EngineControl {
  const load = async (spec: ModelSpec): Promise<LoadedModel> => {
    if (spec.importer === undefined) return engine.load(spec);
    return loadImported(engine, spec, options);
  };
  return {
    load,
    unload: (handle) => engine.unload(handle),
    publishRoutes: (epoch, models, removed) => {
      engine.publishRoutes(epoch, models, removed);
    },
    warmUp: (handle, protocol, message, signal) => engine.warmUp(handle, protocol, message, signal),
    stats: (handles) => engine.stats(handles),
  };
}

function requestOf(spec: ModelSpec, cacheFolder: string): ImportRequest {
  const { importer, path } = spec;
  if (importer === undefined || path === undefined) {
    throw new ServalError(ErrorCode.Internal, 'an import without importer or path');
  }
  const { format, tags = [], inputs = [], outputs = [], signature: first = '' } = importer;
  return { format, path, tags, inputs, outputs, first, signatures: [], cacheFolder };
}

async function loadImported(
  engine: EngineControl,
  spec: ModelSpec,
  options: ImportingOptions,
): Promise<LoadedModel> {
  const { logger } = options;
  const began = performance.now();
  const answer = await options.importModel(requestOf(spec, options.cacheFolder));
  const { model, temporaryFolder, fromCache } = answer;
  const importMs = Math.round(performance.now() - began);
  const fields = { model: spec.name, version: spec.version };
  try {
    const loaded = await engine.load(importedSpec(spec, model));
    logger.info('model imported', {
      ...fields,
      format: model.format,
      signatures: model.graphs.length,
      importMs,
      fromCache,
    });
    for (const warning of model.warnings) logger.warn('import', { ...fields, warning });
    for (const one of model.blocked) {
      logger.warn('signature is not served', { ...fields, reason: blockedText(one) });
    }
    return {
      ...loaded,
      producer: 'tensorflow',
      metadata: { tensorflow_version: model.tensorflowVersion },
      signatureDefs: signatureDefs(model),
    };
  } finally {
    if (temporaryFolder !== '') await rm(temporaryFolder, { recursive: true, force: true });
  }
}
