// Loads one model of a path into this process's engine, as `serval serve` would: with its
// configuration file, importer and settings. Control plane; the caller's thread.
import { resolve } from 'node:path';
import { configOf, engineSettings, type Config } from '../config/config.js';
import { configError, type Written } from '../config/values/values.js';
import { ErrorCode, ServalError } from '../base/errors.js';
import { importInThread } from '../importers/run/import-thread.js';
import { checkCacheFolder } from '../importers/run/cache-folder.js';
import { importingEngine } from '../importers/run/importing-engine.js';
import { INFLATED_BYTES_MAX } from '../base/limits.js';
import { createLogger, type Logger } from '../base/logger.js';
import { checkAgainstModel } from '../models/config/triton-model.js';
import type { EngineControl, LoadedModel, ModelSpec } from '../model/engine-api.js';
import { placingEngine } from '../models/placement/placing-engine.js';
import { loadBinding, onnxruntimeLibrary } from '../engine/binding.js';
import { createEngine, type Engine, type EngineOptions } from '../engine/engine.js';
import { desiredModel, type DesiredVersion } from '../models/registry/desired.js';
import { scanSources } from '../models/registry/sources/paths/scan-path.js';
import type { FoundModel } from '../models/registry/sources/repository.js';
import { wrongWith } from '../models/registry/sources/scan.js';
import { echo } from '../base/text.js';
import { servalVersion } from '../base/version.js';

/** Selects a model of the path, and its version and signature. */
export interface ModelChoice {
  /** Needed if the path holds several models. */
  readonly name?: string | undefined;
  /** Default: the highest. */
  readonly version?: string | undefined;
  /** For a TensorFlow model: the signature that infer() calls. Default: serving_default. */
  readonly signature?: string | undefined;
}

export interface OpenModel {
  readonly engine: Engine;
  readonly name: string;
  readonly version: string;
  readonly format: string;
  readonly platform: string;
  readonly spec: ModelSpec;
  readonly loaded: LoadedModel;
}

/**
 * Errors: InvalidArgument: no such path, several models in it, a setting; ModelNotFound: no such
 * name or version; ModelInvalid, RuntimeUnavailable. `change`: modifies what is requested. `wrap`:
 * what the importers and the placement call instead of the engine itself.
 */
export async function openModel(
  path: string,
  choice: ModelChoice,
  settings: ReadonlyMap<string, Written>,
  change: (spec: ModelSpec) => ModelSpec = (spec) => spec,
  wrap: (control: EngineControl) => EngineControl = (control) => control,
): Promise<OpenModel> {
  const cwd = process.cwd();
  const given = new Map(settings);
  given.set('paths', { where: 'path', texts: [path], folder: cwd });
  const config = await configOf(given, cwd);
  const { logLevel: level, logFormat: format } = config;
  const logger = createLogger({ level, format });
  const { found, version } = await findModel(resolve(cwd, path), choice, config);
  const spec = change(withSignature(version.spec, choice.signature));
  checkCacheFolder(config.modelCache ?? '');
  const engine = await createEngine(engineOptions(config));
  const alive = keptAlive();
  try {
    const loaded = await importingControl({ control: wrap(engine.control) }, config, logger).load(
      spec,
    );
    checkConfig(version, loaded);
    return {
      engine,
      name: found.name,
      version: version.version,
      format: loaded.found?.format ?? version.format,
      platform: loaded.found?.platform ?? version.platform,
      spec,
      loaded,
    };
  } catch (error) {
    engine.close();
    throw error;
  } finally {
    clearInterval(alive);
  }
}

/** Keeps the process alive while an engine answer is pending: the link does not. */
export const keptAlive = (): NodeJS.Timeout => setInterval(() => undefined, 0x7fffffff);

/** The engine's control calls, with the importers and the placement on devices before them. */
export function importingControl(
  engine: { readonly control: EngineControl },
  config: Config,
  logger: Logger,
): EngineControl {
  const placing = {
    runtime: onnxruntimeLibrary(config.onnxruntimeLibrary),
    cacheFolder: config.modelCache ?? '',
    binding: loadBinding(),
  };
  return importingEngine(placingEngine(engine.control, placing), {
    importModel: (request) => importInThread(request, { programVersion: servalVersion() }),
    cacheFolder: config.modelCache ?? '',
    logger,
  });
}

export function engineOptions(config: Config): EngineOptions {
  const { bodyBytesMax, memoryLimitBytes, operatorLibraries } = config;
  return {
    ...engineSettings(config),
    inflatedBytesMax: Math.min(bodyBytesMax, INFLATED_BYTES_MAX),
    restTimeoutUs: 0,
    keepsProcess: false,
    operatorLibraries,
    ...(memoryLimitBytes > 0 && { memoryLimitBytes }),
  };
}

async function findModel(
  path: string,
  { name, version: wanted }: ModelChoice,
  config: Config,
): Promise<{ readonly found: FoundModel; readonly version: DesiredVersion }> {
  const { models, problems } = await scanSources({ ...config.sources, modelRepositories: [] });
  const found = name === undefined ? models[0] : models.find((one) => one.name === name);
  if (found === undefined && name !== undefined && models.length > 0) {
    const got = namesOf(models);
    throw new ServalError(ErrorCode.ModelNotFound, `${path}: no model '${name}', there is ${got}`);
  }
  if (found === undefined) {
    throw configError(path, `expected a model, got ${problems.join('; ') || 'none'}`);
  }
  if (name === undefined && models.length > 1) {
    const one = `expected one model or the name of one of its ${models.length}`;
    throw configError(path, `${one}: ${namesOf(models)}`);
  }
  const desired = desiredModel(
    found,
    {
      model: { ...config.model, intraOpThreads: 0 },
      batching: undefined,
      defaultMaxBatchSize: 0,
      savedModelTags: config.savedModelTags,
      allowRandom: config.allowRandom,
    },
    {},
    true,
  );
  const version =
    wanted === undefined
      ? desired.versions[0]
      : desired.versions.find((one) => one.version === wanted);
  if (version === undefined && wanted !== undefined && desired.versions.length > 0) {
    const got = desired.versions.map((one) => one.version).join(', ');
    const text = `${path}: no version ${echo(wanted)}, there is ${got}`;
    throw new ServalError(ErrorCode.ModelNotFound, text);
  }
  const problem = version?.problem ?? (version === undefined ? desired.problem : undefined);
  if (version === undefined || problem !== undefined) {
    const why = problem || wrongWith(found).join('; ') || 'no version can be served';
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${why}`);
  }
  if (version.ensemble !== undefined) {
    const text = `model '${found.name}' is an ensemble of other models: serve its repository`;
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${text}`);
  }
  return { found, version };
}

const namesOf = (models: readonly FoundModel[]): string => {
  const shown = models.slice(0, 10).map((one) => one.name);
  return shown.join(', ') + (models.length > shown.length ? ', ...' : '');
};

function withSignature(spec: ModelSpec, signature: string | undefined): ModelSpec {
  if (signature === undefined) return spec;
  const { importer } = spec;
  if (importer?.format !== 'tensorflow') {
    throw configError('signature', 'only TensorFlow models have more than one');
  }
  return { ...spec, importer: { ...importer, signature } };
}

/** Errors: ModelInvalid: config.pbtxt does not fit the model. */
function checkConfig({ config }: DesiredVersion, loaded: LoadedModel): void {
  const problems = config === undefined ? [] : checkAgainstModel(config, loaded);
  if (problems.length === 0) return;
  const text = problems.map((one) => `${one.place}: ${one.message}`).join('; ');
  throw new ServalError(ErrorCode.ModelInvalid, text);
}
