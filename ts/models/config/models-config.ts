// Parses TensorFlow Serving's models.config (ModelServerConfig) into its list of models. One bad
// entry does not affect the others. Control plane; pure. Source: tfserving.md 3.2, 9.
import { isAbsolute } from 'node:path';
import { MODELS_CONFIG_FIELDS } from '../../config/peers/serving-fields.js';
import { echo, meant, visible } from '../../base/text.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { MODEL_NAME_BYTES_MAX } from '../../base/limits.js';
import { LATEST_ONE, parseVersion } from '../../model/version-policy.js';
import type { VersionPolicy } from '../../model/version-policy.js';
import { MODEL_SERVER_CONFIG } from '../../protobuf/generated/tensorflow-serving.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read } from '../../protobuf/schema.js';
import type { Places } from '../../protobuf/decode-notes.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { decodeWire } from '../../protobuf/schema-read.js';
import { ConfigFileError, parseTextProto } from '../../protobuf/text-format.js';
import { fieldNotes } from './field-notes.js';
import type { LoggingConfig, ModelEntry, ModelServerConfig } from './types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

/** Allowed values of `model_platform`; the files decide the format. */
export const MODEL_PLATFORMS = [
  'tensorflow',
  'onnx',
  'onnxruntime_onnx',
  'onnx_onnxv1',
  'tensorrt_plan',
  'pmml',
  'mleap',
  'spark',
  'xgboost',
  'lightgbm',
  'catboost',
  'ydf',
  'sklearn',
];

/**
 * Allowed values of `log_collector_config.type`; TensorFlow Serving's own binary registers none.
 */
const LOG_COLLECTORS = ['file', ''];

export interface ParsedModelServerConfig extends ModelServerConfig {
  /** Whether model_config_list is present, even if empty. */
  readonly isSet: boolean;
  /** Settings that are read but have no effect. */
  readonly warnings: readonly ConfigProblem[];
}

/** `path` names the file in problem locations. */
export function parseModelServerConfig(text: string, path: string): ParsedModelServerConfig {
  try {
    const decoded = decodeText(parseTextProto(text, path), MODEL_SERVER_CONFIG, path);
    return new ModelList(decoded.places, decoded.problems).read(decoded.value);
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    return { models: [], isSet: false, problems: [error.problem], warnings: [] };
  }
}

/**
 * Same as parseModelServerConfig(), from the ModelServerConfig message of a ReloadConfigRequest.
 * Errors: MalformedBody; InvalidArgument with TensorFlow Serving's text if it has no
 * model_config_list.
 */
export function readModelServerConfig(bytes: Uint8Array): ParsedModelServerConfig {
  const { value, problems, places } = decodeWire(bytes, MODEL_SERVER_CONFIG, 'config');
  if (value['model_config_list'] === undefined) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      'ServerModelConfig type not supported by ' +
        'HandleReloadConfigRequest. Only ModelConfigList is currently supported',
    );
  }
  return new ModelList(places, problems).read(value);
}

const isFilePrefix = (path: string): boolean =>
  isAbsolute(path) && !path.endsWith('/') && visible(path) === path;

class ModelList {
  readonly #places: Places;
  readonly #problems: ConfigProblem[];
  readonly #models: ModelEntry[] = [];

  constructor(places: Places, problems: readonly ConfigProblem[]) {
    this.#places = places;
    this.#problems = [...problems];
  }

  read(config: MessageValue): ParsedModelServerConfig {
    const notes = fieldNotes(config, MODEL_SERVER_CONFIG, MODELS_CONFIG_FIELDS, this.#places);
    this.#problems.push(...notes.problems);
    const firstPlaces = new Map<string, string>();
    for (const entry of read.children(read.child(config, 'model_config_list'), 'config')) {
      const name = read.text(entry, 'name');
      const place = this.#places.at(entry);
      const first = firstPlaces.get(name);
      if (first !== undefined && name !== '') {
        // TensorFlow Serving's text.
        const listed = `Illegal to list model ${name} multiple times in config list`;
        this.#problem(entry, 'name', `${listed}; the first is at ${first}`);
        continue;
      }
      firstPlaces.set(name, place);
      const model = this.#entry(entry, name, place);
      if (model !== undefined) this.#models.push(model);
    }
    const isSet = config['model_config_list'] !== undefined;
    return { models: this.#models, isSet, problems: this.#problems, warnings: notes.warnings };
  }

  #problem(of: MessageValue, name: string, text: string): void {
    this.#problems.push({ place: this.#places.at(of, name), message: `${name}: ${text}` });
  }

  /** Returns undefined if anything in the entry is a problem. */
  #entry(entry: MessageValue, name: string, place: string): ModelEntry | undefined {
    if (this.#places.isBroken(entry)) return undefined;
    const before = this.#problems.length;
    if (name === '' || Buffer.byteLength(name) > MODEL_NAME_BYTES_MAX) {
      const expected = `a model name of 1 to ${MODEL_NAME_BYTES_MAX} bytes`;
      this.#problem(entry, 'name', `expected ${expected}, got ${echo(name)}`);
    }
    const basePath = this.#basePath(entry, name);
    const platform = this.#platform(entry);
    const versionPolicy = this.#versionPolicy(entry);
    const labels = this.#labels(entry);
    const logging = this.#logging(entry);
    if (this.#problems.length > before) return undefined;
    return { name, basePath, platform, versionPolicy, labels, place, ...(logging && { logging }) };
  }

  #logging(entry: MessageValue): LoggingConfig | undefined {
    const config = read.child(entry, 'logging_config');
    if (config === undefined) return undefined;
    const collector = read.child(config, 'log_collector_config');
    const type = read.text(collector, 'type');
    if (collector !== undefined && !LOG_COLLECTORS.includes(type)) {
      const expected = `expected ${LOG_COLLECTORS.map((one) => `"${one}"`).join(' or ')}`;
      this.#problem(collector, 'type', `${expected}, got ${echo(type)}`);
    }
    const sampling = read.child(config, 'sampling_config');
    const samplingRate = Number(sampling?.['sampling_rate'] ?? 0);
    if (!(samplingRate >= 0 && samplingRate <= 1)) {
      const expected = 'expected a number from 0 to 1';
      this.#problem(sampling ?? config, 'sampling_rate', `${expected}, got ${samplingRate}`);
    }
    const filenamePrefix = read.text(collector, 'filename_prefix');
    if (filenamePrefix === '' && samplingRate === 0) return undefined;
    if (!isFilePrefix(filenamePrefix)) {
      const expected =
        'expected an absolute path prefix for file names, without control characters';
      const got = echo(filenamePrefix);
      this.#problem(collector ?? config, 'filename_prefix', `${expected}, got ${got}`);
    }
    return { filenamePrefix, samplingRate };
  }

  #basePath(entry: MessageValue, name: string): string {
    const written = read.text(entry, 'base_path');
    const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(written)?.[1];
    const path = scheme === 'file' ? written.slice('file://'.length) : written;
    if (scheme !== undefined && scheme !== 'file') {
      this.#problem(entry, 'base_path', `${scheme}:// is not supported, got ${echo(written)}`);
    } else if (!isAbsolute(path) || path.includes('\0')) {
      this.#problem(
        entry,
        'base_path',
        `expected model ${echo(name)} to have an absolute path, got ${echo(written)}`,
      );
    }
    return path;
  }

  #platform(entry: MessageValue): string {
    const platform = read.text(entry, 'model_platform');
    const modelType = read.text(entry, 'model_type');
    const typed = modelType !== '' && modelType !== 'MODEL_TYPE_UNSPECIFIED';
    if (typed && platform !== '') {
      this.#problem(entry, 'model_type', 'expected it or model_platform, got both');
    } else if (typed && modelType !== 'TENSORFLOW') {
      this.#problem(entry, 'model_type', `expected TENSORFLOW, got ${modelType}`);
    } else if (platform !== '' && !MODEL_PLATFORMS.includes(platform)) {
      const known = MODEL_PLATFORMS.join(', ');
      const hint = meant(platform, MODEL_PLATFORMS);
      this.#problem(
        entry,
        'model_platform',
        `expected one of ${known}, got ${echo(platform)}${hint}`,
      );
    }
    return typed && platform === '' ? 'tensorflow' : platform;
  }

  #versionPolicy(entry: MessageValue): VersionPolicy {
    const policy = read.child(entry, 'model_version_policy');
    if (policy?.['all'] !== undefined) return { kind: 'all' };
    const latest = read.child(policy, 'latest');
    if (latest !== undefined) {
      return { kind: 'latest', count: Math.max(1, read.int(latest, 'num_versions')) };
    }
    const specific = read.child(policy, 'specific');
    if (specific === undefined) return LATEST_ONE;
    const versions = read.texts(specific, 'versions').map(String);
    if (versions.length === 0) {
      this.#problem(specific, 'versions', 'expected at least one version, got none');
    }
    versions.forEach((version, i) => {
      if (parseVersion(version) !== undefined) return;
      const place = this.#places.at(specific, 'versions', i);
      this.#problems.push({ place, message: `versions: expected 0 or more, got ${version}` });
    });
    return { kind: 'specific', versions };
  }

  #labels(entry: MessageValue): Readonly<Record<string, string>> {
    const labels = read.child(entry, 'version_labels') ?? {};
    const versions = Object.entries(labels).map(
      ([label, value]) => [label, String(value)] as const,
    );
    for (const [label, version] of versions) {
      const place = this.#places.at(labels, label);
      if (label === '') {
        this.#problems.push({ place, message: 'version_labels: expected a label, got ""' });
      }
      if (parseVersion(version) !== undefined) continue;
      const got = `got ${version} for label ${echo(label)}`;
      this.#problems.push({ place, message: `version_labels: expected 0 or more, ${got}` });
    }
    return Object.fromEntries(versions);
  }
}
