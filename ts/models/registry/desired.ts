// Builds the registry's desired state from the models found and the settings. Pure; control plane.
import { createHash } from 'node:crypto';
import type { ModelSettings } from '../../config/config.js';
import { batchingSettings } from '../config/batching-parameters.js';
import {
  autoBatching,
  engineSettings,
  placementOf,
  tensorRtOf,
} from '../config/engine-settings.js';
import { ensembleSteps, isEnsemble, type EnsembleStep } from '../config/ensembles/steps.js';
import { libraryProblem, librarySettings } from '../config/files/operator-libraries.js';
import { isTrue } from '../config/parameters.js';
import { read } from '../../protobuf/schema.js';
import type { BatchingParameters } from '../../model/batching-parameters.js';
import type { TritonConfig } from '../config/types.js';
import type { ModelSpec } from '../../model/engine-api.js';
import type { Labels } from './labels.js';
import { GRAPH_DEF_PLATFORM, tabularFormat } from '../../importers/run/model-files.js';
import {
  parameterOf,
  tabularSettingsOf,
  wrongWith,
  type FoundModel,
  type FoundVersion,
} from './sources/scan.js';

export interface DesiredVersion {
  /** Decimal text, no leading zeros. */
  readonly version: string;
  readonly spec: ModelSpec;
  readonly format: string;
  /** V2 metadata's `platform`. */
  readonly platform: string;
  /** Changes if the files or the configuration change; the version is then reloaded. */
  readonly revision: string;
  /** The version's folder. */
  readonly folder: string;
  /** The model's folder: that of its configuration. */
  readonly modelFolder: string;
  readonly config?: TritonConfig | undefined;
  /** Why the version is not loaded at all. */
  readonly problem?: string | undefined;
  /** Set if the version loads with its first request. */
  readonly demand?: DemandRules | undefined;
  /** The steps of an ensemble; `spec` has them once they are bound to loaded versions. */
  readonly ensemble?: readonly EnsembleStep[] | undefined;
}

/** When a version that loads on demand may leave for another one. */
export interface DemandRules {
  /** Never. */
  readonly pin: boolean;
  /** Not before it had no request for this long. */
  readonly minIdleMs: number;
  /** Those with a lower one leave first. */
  readonly priority: number;
}

/** A desired model. Without versions it is known and never ready. */
export interface DesiredModel {
  readonly name: string;
  readonly versions: readonly DesiredVersion[];
  readonly labels: Labels;
  /** Why it has no version; "" if it has one. */
  readonly problem?: string;
  /** Whether the server's readiness depends on it. Default: true. */
  readonly required?: boolean;
}

/** Settings applied to every model before its own configuration. */
export interface SpecSettings {
  readonly model: ModelSettings;
  /** For models of base paths; undefined: no batching. */
  readonly batching: BatchingParameters | undefined;
  /** For repository models without a configuration; 0: no batching. */
  readonly defaultMaxBatchSize: number;
  /** --saved-model-tags. */
  readonly savedModelTags: readonly string[];
  /** --allow-random. Absent: yes. */
  readonly allowRandom?: boolean;
  /** --model-load-mode. Absent: eager. */
  readonly loadMode?: 'eager' | 'lazy';
  /** The registry's name of a model that an ensemble names. Absent: the same. */
  readonly stepName?: (name: string) => string;
}

export function desiredModel(
  model: FoundModel,
  settings: SpecSettings,
  labels: Labels,
  required: boolean,
): DesiredModel {
  const { config, problem } = model.config;
  const files = [model.config.schema, model.config.background];
  const fileRevisions = [...files.map((file) => file?.revision), model.config.libraries];
  const configRevision = [revisionOf(config), ...fileRevisions].join('');
  const { stepName = (name: string): string => name } = settings;
  const ensemble = isEnsemble(config)
    ? ensembleSteps(config).map((step) => ({ ...step, model: stepName(step.model) }))
    : undefined;
  // An ensemble is loaded with its steps.
  const demand = ensemble === undefined ? demandOf(config, settings.loadMode) : undefined;
  const versions = model.versions.map(
    (one): DesiredVersion => ({
      version: one.version,
      spec: specOf(model, one, settings),
      format: one.format,
      platform: one.platform,
      revision: `${one.revision}${configRevision}`,
      folder: one.folder,
      modelFolder: model.basePath,
      config,
      problem: problem || one.problem || libraryProblem(config, one.format),
      ...(demand && { demand }),
      ...(ensemble && { ensemble }),
    }),
  );
  // A configuration error explains more than the missing files that result from it.
  const missing = versions.length > 0 ? '' : problem || wrongWith(model).join('; ');
  return { name: model.name, versions, labels, required, problem: missing };
}

/** The rules of most models; shared, as there may be tens of thousands. */
const MAY_LEAVE: DemandRules = { pin: false, minIdleMs: 0, priority: 0 };

/** undefined: the model loads when it is found. */
function demandOf(
  config: TritonConfig | undefined,
  mode: SpecSettings['loadMode'],
): DemandRules | undefined {
  if ((parameterOf(config, 'load_mode') || mode) !== 'lazy') return undefined;
  const idleSeconds = Number(parameterOf(config, 'min_idle_seconds'));
  const pin = isTrue(parameterOf(config, 'pin'));
  const priority = Number(parameterOf(config, 'memory_priority'));
  const isPlain = !pin && idleSeconds === 0 && priority === 0;
  return isPlain ? MAY_LEAVE : { pin, minIdleMs: idleSeconds * 1000, priority };
}

/**
 * Settings of all models, overridden by the source's batching settings, overridden by the model's
 * own.
 */
function specOf(model: FoundModel, found: FoundVersion, settings: SpecSettings): ModelSpec {
  const { config, classLabels, initialStates } = model.config;
  const { version, path } = found;
  if (config !== undefined && isEnsemble(config)) {
    const { execMode, inlineUsMax, queueRequestsMax } = settings.model;
    const own = engineSettings(config, classLabels);
    const of = { name: model.name, version, path, backend: 'ensemble' } as const;
    return { ...of, execMode, inlineUsMax, queueRequestsMax, ...own };
  }
  return {
    name: model.name,
    version,
    backend: 'onnxruntime',
    path,
    ...importerOf(model, found, settings),
    ...settings.model,
    ...batchingOf(model, found, settings),
    ...(config && { placement: placementOf(config) }),
    ...librarySettings(config, [found.folder, model.basePath]),
    ...(config && engineSettings(config, classLabels, settings.defaultMaxBatchSize, initialStates)),
  };
}

/**
 * The importer that compiles the model to ONNX or to a plan, with its options from Triton's
 * configuration.
 */
function importerOf(
  model: FoundModel,
  found: FoundVersion,
  settings: SpecSettings,
): Partial<ModelSpec> {
  const { format, platform } = found;
  const { config } = model.config;
  if (tabularFormat(format) !== undefined) return tabularImporter(model, found);
  if (format === 'plan') return { tensorRt: tensorRtOf(config ?? {}) };
  if (format !== 'tensorflow') return {};
  const tag = parameterOf(config, 'TF_GRAPH_TAG');
  const signature = parameterOf(config, 'TF_SIGNATURE_DEF');
  const own = parameterOf(config, 'serval.allow_random');
  const allowRandom = own === '' ? settings.allowRandom !== false : isTrue(own);
  const names = (list: string): readonly string[] =>
    (platform === GRAPH_DEF_PLATFORM ? read.children(config ?? {}, list) : []).map((tensor) =>
      read.text(tensor, 'name'),
    );
  return {
    importer: {
      format,
      tags: tag === '' ? settings.savedModelTags : [tag],
      inputs: names('input'),
      outputs: names('output'),
      signature,
      ...(!allowRandom && { allowRandom }),
    },
  };
}

function tabularImporter(model: FoundModel, found: FoundVersion): Partial<ModelSpec> {
  const format = tabularFormat(found.format);
  if (format === undefined) return {};
  return { backend: 'tabular', importer: { format, ...tabularSettingsOf(model, found) } };
}

function batchingOf(
  model: FoundModel,
  found: FoundVersion,
  settings: SpecSettings,
): Partial<ModelSpec> {
  switch (model.source) {
    case 'file':
      return {};
    case 'base-path': {
      const parameters = found.batching ?? settings.batching;
      return parameters === undefined ? {} : batchingSettings(parameters);
    }
    case 'model-folder':
    case 'repository': {
      const rows = settings.defaultMaxBatchSize;
      return model.config.config === undefined && rows > 0 ? autoBatching(rows) : {};
    }
  }
}

/** The version policy selects versions but does not change them. */
function revisionOf(config: TritonConfig | undefined): string {
  if (config === undefined) return '';
  const { version_policy: _, ...rest } = config;
  return `:${createHash('sha1').update(JSON.stringify(rest)).digest('base64url')}`;
}
