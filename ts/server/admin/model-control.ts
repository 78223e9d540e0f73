// Implements the control calls that protocols make on the server as a whole, on the registry's
// thread. Control plane, main thread; other threads reach it through
// ts/server/admin/control-proxy.ts.
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ModelControlMode } from '../../config/config.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { isInside, realFolderAbove } from '../../base/own-file.js';
import { readModelServerConfig } from '../../models/config/models-config.js';
import type { ModelEntry } from '../../models/config/types.js';
import type { LogLevels, LogSwitches } from '../../base/logger.js';
import type { ModelSource } from '../../models/registry/sources/model-source.js';
import type { Registry } from '../../models/registry/registry.js';
import {
  findModel,
  limitedSnapshot,
  notReadyReason,
} from '../../models/registry/snapshot-build.js';
import type {
  DemandState,
  ModelSnapshot,
  VersionSnapshot,
  VersionState,
} from '../../model/snapshot.js';
import { compareVersions } from '../../model/version-policy.js';
import { servalVersion } from '../../base/version.js';
import type {
  LoadModelRequest,
  LogSettings,
  ModelControl,
  RepositoryIndexEntry,
  RepositoryState,
  SharedMemoryControl,
  TraceControl,
} from '../../protocols/control.js';

export interface ModelControlParts {
  readonly source: Pick<
    ModelSource,
    'list' | 'load' | 'unload' | 'reload' | 'replaceModels' | 'entries'
  >;
  readonly registry: Pick<Registry, 'snapshot' | 'demand'>;
  readonly mode: ModelControlMode;
  readonly levels: LogLevels;
  /** The log file; "" = stderr. */
  readonly logFile?: string;
  readonly traces: TraceControl;
  /** --request-log-dir: the folder below which a control call may enable request logs. */
  readonly requestLogFolder?: string | undefined;
  readonly sharedMemory: SharedMemoryControl;
  /** Called after every change of the levels, to notify other threads. */
  readonly levelsChanged?: (switches: LogSwitches) => void;
}

const REPOSITORY_STATES: Readonly<Record<VersionState, RepositoryState>> = {
  START: 'LOADING',
  LOADING: 'LOADING',
  AVAILABLE: 'READY',
  UNLOADING: 'UNLOADING',
  END: 'UNAVAILABLE',
};
const DEMAND_TEXTS: Readonly<Record<DemandState, string>> = {
  unseen: 'on demand',
  waiting: 'on demand',
  loading: 'loading on demand',
  loaded: '',
};
const UNLOADED = 'unloaded';
const LOG_FORMATS = ['default', 'ISO8601'] as const;
/** uint32 on the wire. */
const VERBOSE_LEVEL_MAX = 4_294_967_295;

export function createModelControl(parts: ModelControlParts): ModelControl {
  const { source, registry, mode, traces } = parts;
  const logs = new Logs(parts);
  /** Source: v2-protocol.md 11 (load and unload without explicit mode). */
  const requireExplicit = (): void => {
    if (mode === 'explicit') return;
    throw new ServalError(
      ErrorCode.ModelNotReady,
      'explicit model load / unload is not allowed if polling is enabled: ' +
        `expected --model-control-mode=explicit, got ${mode}`,
    );
  };
  /** Source: server/src/http_server.cc, HandleTrace. */
  const requireKnown = (model: string): void => {
    if (model === '') return;
    const found = findModel(registry.snapshot, model);
    if (found?.defaultVersion !== undefined) return;
    throw new ServalError(ErrorCode.InvalidArgument, `Request for unknown model : ${model}`);
  };
  return {
    ...parts.sharedMemory,
    async index(repository, readyOnly) {
      const listed = await source.list(repository);
      const { snapshot } = registry;
      const entries = listed.flatMap(({ name, unloaded, problems }) => {
        const model = findModel(snapshot, name);
        return model === undefined
          ? unservedEntries(name, unloaded, problems)
          : modelEntries(model, problems);
      });
      return entries.filter((entry) => !readyOnly || entry.state === 'READY');
    },
    async load({ model, config, files }: LoadModelRequest) {
      requireExplicit();
      if (config === undefined && files.size > 0) {
        throw new ServalError(
          ErrorCode.InvalidArgument,
          `model '${model}': files: expected the parameter "config" with them, got none`,
        );
      }
      await source.load(model, config === undefined ? undefined : { config, files });
    },
    // Loaded on demand: few servers get this request.
    async openApi(model, allowed) {
      const { openApiText } = await import('../openapi/document.js');
      const seen = allowed && limitedSnapshot(registry.snapshot, allowed);
      return openApiText(servalVersion(), seen ?? registry.snapshot, model);
    },
    async unload(model, unloadDependents) {
      requireExplicit();
      await source.unload(model, unloadDependents);
    },
    async reloadModels(config) {
      const { models, problems } = readModelServerConfig(config);
      if (problems.length > 0) {
        throw new ServalError(
          ErrorCode.InvalidArgument,
          problems.map((one) => `${one.place}: ${one.message}`).join('; '),
        );
      }
      await refuseForeignLogs(models, source.entries, parts.requestLogFolder);
      await source.replaceModels(models);
    },
    demand: (model, version) => registry.demand(model, version),
    reload: () => source.reload(),
    logSettings: () => Promise.resolve(logs.settings()),
    async updateLogSettings(change) {
      return logs.update(change);
    },
    async traceSettings(model) {
      requireKnown(model);
      return traces.settings(model);
    },
    async updateTraceSettings(model, change) {
      requireKnown(model);
      return traces.update(model, change);
    },
  };
}

/** Whether files with the prefix are in the folder, both as written and with links resolved. */
async function isBelow(prefix: string, folder: string): Promise<boolean> {
  if (!resolve(prefix).startsWith(`${folder}/`)) return false;
  try {
    const root = await realpath(folder).catch(() => realFolderAbove(`${folder}/x`));
    return isInside(await realFolderAbove(prefix), root);
  } catch {
    return false;
  }
}

/**
 * Refuses log paths outside the folder: permission to change models is not permission to write
 * files anywhere. Paths already in models.config are allowed. Errors: InvalidArgument.
 */
async function refuseForeignLogs(
  models: readonly ModelEntry[],
  known: readonly ModelEntry[],
  folder: string | undefined,
): Promise<void> {
  const prefixes = new Set(known.map((one) => one.logging?.filenamePrefix));
  for (const { name, place, logging } of models) {
    if (logging === undefined || prefixes.has(logging.filenamePrefix)) continue;
    if (folder !== undefined && (await isBelow(logging.filenamePrefix, folder))) continue;
    const where = folder === undefined ? 'is not given' : `is ${folder}`;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${place}: filename_prefix: model '${name}': a control call may log requests only below ` +
        `--request-log-dir, which ${where}, or to a path of --model-config-file`,
    );
  }
}

function modelEntries(
  model: ModelSnapshot,
  problems: readonly string[],
): readonly RepositoryIndexEntry[] {
  const { name, versions } = model;
  if (versions.length === 0) {
    const reason = model.problem || problems.join('; ');
    return [{ name, version: '', state: 'UNAVAILABLE', reason }];
  }
  return [...versions]
    .sort((a, b) => compareVersions(a.version, b.version))
    .map((one) => {
      // Current problem of a serving version's place, such as a folder that vanished.
      const serves = one.state === 'AVAILABLE';
      const reason = reasonOf(one) || (serves ? problems.join('; ') : '');
      return { name, version: one.version, state: REPOSITORY_STATES[one.state], reason };
    });
}

/** Why newer content of a serving version does not serve, or that it is not loaded yet. */
function reasonOf(version: VersionSnapshot): string {
  const { state, errorMessage, demand } = version;
  if (demand !== undefined && errorMessage === '') return DEMAND_TEXTS[demand];
  if (state === 'START' || state === 'LOADING' || state === 'UNLOADING') return '';
  return errorMessage || notReadyReason(version);
}

function unservedEntries(
  name: string,
  unloaded: readonly string[],
  problems: readonly string[],
): readonly RepositoryIndexEntry[] {
  if (unloaded.length === 0) {
    return [{ name, version: '', state: 'UNAVAILABLE', reason: problems.join('; ') }];
  }
  return [...unloaded]
    .sort(compareVersions)
    .map((version) => ({ name, version, state: 'UNAVAILABLE', reason: UNLOADED }));
}

/** Log settings under Triton's names. Source: v2-protocol.md 2 (logging). */
class Logs {
  readonly #levels: LogLevels;
  readonly #changed: (switches: LogSwitches) => void;
  readonly #file: string;
  #verboseLevel: number;
  /** Log lines always have ISO 8601 times, whatever this is set to. */
  #format: LogSettings['log_format'] = 'ISO8601';

  constructor({
    levels,
    logFile = '',
    levelsChanged,
  }: Pick<ModelControlParts, 'levels' | 'logFile' | 'levelsChanged'>) {
    this.#levels = levels;
    this.#file = logFile;
    this.#changed = levelsChanged ?? ((): void => undefined);
    this.#verboseLevel = levels.switches.debug ? 1 : 0;
  }

  settings(): LogSettings {
    const { info, warn, error } = this.#levels.switches;
    return {
      log_file: this.#file,
      log_info: info,
      log_warning: warn,
      log_error: error,
      log_verbose_level: this.#verboseLevel,
      log_format: this.#format,
    };
  }

  /** Applies the whole change or nothing. Errors: InvalidArgument. */
  update(change: Readonly<Record<string, unknown>>): LogSettings {
    let after = this.settings();
    for (const [name, value] of Object.entries(change)) {
      after = { ...after, ...checkedSetting(name, value, this.#file) };
    }
    this.#verboseLevel = after.log_verbose_level;
    this.#format = after.log_format;
    this.#levels.switches = {
      debug: after.log_verbose_level > 0,
      info: after.log_info,
      warn: after.log_warning,
      error: after.log_error,
    };
    this.#changed(this.#levels.switches);
    return after;
  }
}

function checkedSetting(name: string, value: unknown, file: string): Partial<LogSettings> {
  const expect = (what: string): ServalError => {
    const got = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'nothing');
    return new ServalError(
      ErrorCode.InvalidArgument,
      `log setting ${JSON.stringify(name)}: expected ${what}, got ${got.slice(0, 100)}`,
    );
  };
  switch (name) {
    case 'log_file':
      if (value !== file) {
        const where = file === '' ? 'stderr' : 'that file';
        throw expect(`${JSON.stringify(file)}: the log goes to ${where}, which cannot be changed`);
      }
      return {};
    case 'log_info':
    case 'log_warning':
    case 'log_error':
      if (typeof value !== 'boolean') throw expect('true or false');
      return { [name]: value };
    case 'log_verbose_level': {
      const level = typeof value === 'number' && Number.isInteger(value) ? value : -1;
      if (level < 0 || level > VERBOSE_LEVEL_MAX) throw expect('a whole number of 0 or more');
      return { log_verbose_level: level };
    }
    case 'log_format': {
      const format = LOG_FORMATS.find((known) => known === value);
      if (format === undefined) throw expect(LOG_FORMATS.join(' or '));
      return { log_format: format };
    }
    default: {
      const known = 'log_file, log_info, log_warning, log_error, log_verbose_level, log_format';
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `log setting ${JSON.stringify(name.slice(0, 100))}: expected one of ${known}`,
      );
    }
  }
}
