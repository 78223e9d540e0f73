// The engine's control calls for models of any format: non-ONNX models are first compiled to ONNX,
// or to a tabular plan, in a worker thread. Control plane, main thread.
import { rm } from 'node:fs/promises';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { isTabularImport, type ImportAnswer, type ImportRequest } from './importer.js';
import type { Logger } from '../../base/logger.js';
import type { EngineControl, LoadedModel, ModelSpec } from '../../model/engine-api.js';
import { FIL_INPUT } from '../../model/booster-answer.js';
import { withLoad } from '../../model/with-load.js';
import {
  SAVED_MODEL_TAGS,
  TABULAR_PLATFORMS,
  type VerificationMode,
} from '../../model/platforms.js';
import type { ImportedTabular } from '../plan/imported.js';
import type { ImportedModel } from '../tensorflow/imported.js';
import { verify } from './verify.js';
import { blockedText, importedSpec, signatureDefs, tabularSpec } from './imported-spec.js';

export interface ImportingOptions {
  readonly importModel: (request: ImportRequest) => Promise<ImportAnswer>;
  /** --model-cache; "" = none. */
  readonly cacheFolder: string;
  readonly logger: Logger;
}

/** `engine` with a load() that imports if the spec names an importer. */
export function importingEngine(engine: EngineControl, options: ImportingOptions): EngineControl {
  const load = async (spec: ModelSpec): Promise<LoadedModel> => {
    try {
      if (spec.importer === undefined) return await engine.load(spec);
      return await loadImported(engine, spec, options);
    } catch (error) {
      throw await explained(error, spec);
    }
  };
  return withLoad(engine, load);
}

/** Adds the file's actual format, by content, if its name is misleading. */
async function explained(error: unknown, { path = '', importer }: ModelSpec): Promise<unknown> {
  if (!(error instanceof ServalError) || path === '') return error;
  // The importer recognises its files by their content, and says what others are.
  if (importer?.format === 'booster') return error;
  const { code } = error;
  if (code !== ErrorCode.ModelInvalid && code !== ErrorCode.Unimplemented) return error;
  const { boosterAt, foreignFile } = await import('./foreign-files.js');
  if (importer !== undefined && (await boosterAt(path)) === importer.format) return error;
  const what = await foreignFile(path);
  if (what === undefined) return error;
  return new ServalError(ErrorCode.ModelInvalid, `model file ${path}: ${what}`);
}

function requestOf(spec: ModelSpec, cacheFolder: string): ImportRequest {
  const { importer, path } = spec;
  if (importer === undefined || path === undefined) {
    throw new ServalError(ErrorCode.Internal, 'an import without an importer or path');
  }
  if (importer.format !== 'tensorflow') {
    const { verification: _, ...asked } = importer;
    return { ...asked, path, cacheFolder };
  }
  const {
    format,
    tags = SAVED_MODEL_TAGS,
    inputs = [],
    outputs = [],
    signature: first = '',
  } = importer;
  const { allowRandom = true } = importer;
  return { format, path, tags, inputs, outputs, first, allowRandom, signatures: [], cacheFolder };
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
  const times = { ...fields, format: model.format, importMs, fromCache };
  try {
    const loaded = isTabularImport(model)
      ? await loadTabular(engine, spec, model, logger, () => logger.info('model imported', times))
      : await loadGraphs(engine, spec, model, (signatures) =>
          logger.info('model imported', { ...times, signatures }),
        );
    for (const warning of model.warnings) logger.warn('import', { ...fields, warning });
    const blocked = isTabularImport(model) ? [] : model.blocked;
    for (const one of blocked) {
      logger.warn('signature is not served', { ...fields, reason: blockedText(one) });
    }
    return loaded;
  } finally {
    if (temporaryFolder !== '') await rm(temporaryFolder, { recursive: true, force: true });
  }
}

async function loadGraphs(
  engine: EngineControl,
  spec: ModelSpec,
  model: ImportedModel,
  done: (signatures: number) => void,
): Promise<LoadedModel> {
  const loaded = await engine.load(importedSpec(spec, model));
  done(model.graphs.length);
  return {
    ...loaded,
    producer: 'tensorflow',
    metadata: { tensorflow_version: model.tensorflowVersion },
    signatureDefs: signatureDefs(model),
  };
}

async function loadTabular(
  engine: EngineControl,
  spec: ModelSpec,
  model: ImportedTabular,
  logger: Logger,
  done: () => void,
): Promise<LoadedModel> {
  const loaded = await engine.load(tabularSpec(spec, model));
  done();
  await verifyTabular(engine, spec, loaded.handle, model, logger);
  return {
    ...loaded,
    ...filSignatures(loaded, spec),
    producer: model.producer,
    found: { format: model.format, platform: TABULAR_PLATFORMS[model.format] },
    table: {
      extra: model.outputs.filter(({ optional }) => optional).map(({ name }) => name),
      open: model.fields.filter(({ open }) => open).map(({ name }) => name),
      untyped: model.fields.filter(({ type }) => type === 'any').map(({ name }) => name),
      examples: Object.fromEntries(
        model.fields.flatMap(({ name, example }) =>
          example === undefined ? [] : [[name, example]],
        ),
      ),
      ...(model.features === undefined ? {} : { features: model.features }),
      ...(model.explained === undefined ? {} : { explained: model.explained }),
    },
  };
}

/** FIL's clients send all features as one matrix. */
function filSignatures(
  { signatures }: LoadedModel,
  { importer }: ModelSpec,
): Pick<LoadedModel, 'signatures'> {
  if (importer?.format === 'tensorflow' || importer?.answer?.server !== 'fil') {
    return { signatures };
  }
  return {
    signatures: signatures.map((one) => {
      const shape = [-1, one.inputs.length];
      const symbols = shape.map(() => '');
      const input = {
        name: FIL_INPUT,
        datatype: 'FP32',
        shape,
        symbols,
        unknownRank: false,
      } as const;
      return { ...one, inputs: [input] };
    }),
  };
}

function verificationMode({ importer }: ModelSpec): VerificationMode {
  return importer === undefined || importer.format === 'tensorflow' ? 'off' : importer.verification;
}

/**
 * Runs the verification records of the model's file. Errors: those of verify(); the model is
 * unloaded then.
 */
async function verifyTabular(
  engine: EngineControl,
  spec: ModelSpec,
  handle: number,
  { verification }: ImportedTabular,
  logger: Logger,
): Promise<void> {
  const mode = verificationMode(spec);
  if (verification === undefined || mode === 'off') return;
  const fields = { model: spec.name, version: spec.version };
  const began = performance.now();
  try {
    await verify(engine, handle, verification);
    const verifyMs = Math.round(performance.now() - began);
    logger.info('model verified', { ...fields, records: verification.records.length, verifyMs });
  } catch (error) {
    if (mode === 'warn' && error instanceof ServalError) {
      logger.warn('verification', { ...fields, warning: error.message });
      return;
    }
    await engine.unload(handle);
    throw error;
  }
}
