// Triton's control calls of inference.GRPCInferenceService: repository, configuration, statistics,
// log settings. The listener's thread forwards them to the registry and the engine's counters.
// Source: proto/wire/inference.proto; v2-protocol.md 2, 11.
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import {
  MODEL_CONFIG_REQUEST,
  MODEL_REPOSITORY_PARAMETER,
  LOG_SETTINGS_REQUEST_SETTING_VALUE as LOG_SETTING,
  REPOSITORY_MODEL_LOAD_REQUEST,
  REPOSITORY_INDEX_REQUEST,
  MODEL_CONFIG_RESPONSE,
  LOG_SETTINGS_REQUEST,
  TRACE_SETTING_REQUEST_SETTING_VALUE as TRACE_SETTING,
  TRACE_SETTING_REQUEST,
} from '../../protobuf/generated/inference-fields.js';
import {
  CONTROL,
  CONTROL_CHANGE,
  LOGGING_CHANGE,
  MODEL_CONFIG,
  STATISTICS,
  TRACING_CHANGE,
  type CallKind,
} from '../../access/groups.js';
import type { LogSettings, ModelControl, TraceSettings } from '../control.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import type { GrpcUnaryHandler } from '../../listeners/grpc/call.js';
import type { EngineReadings } from '../engine-readings.js';
import { answeringLater } from '../grpc/unary.js';
import {
  loadModel,
  loadRequest,
  unloadDependents,
  unloadModel,
  wrongKind,
  type ControlParameters,
} from './control.js';
import { afterLoad } from '../needs-load.js';
import { modelConfigJson } from './documents.js';
import { SHARED_MEMORY_KINDS, sharedMemoryCalls } from './shared-memory/grpc.js';
import { modelStatistics, statisticsTargets } from './statistics.js';
import {
  LOG_SETTINGS_RESPONSE,
  TRACE_SETTING_RESPONSE,
  MODEL_STATISTICS_RESPONSE,
  REPOSITORY_INDEX_RESPONSE,
} from '../../protobuf/generated/inference.js';
import { exactReader } from '../../protobuf/reader.js';
import { encodeMessage } from '../../protobuf/schema-write.js';
import type { MessageValue } from '../../protobuf/schema.js';
import { ProtobufWriter } from '../../protobuf/writer.js';

export type EncodeConfig = (
  config: Readonly<Record<string, unknown>>,
) => Uint8Array | Promise<Uint8Array>;

export interface GrpcControlOptions {
  readonly snapshot: () => RegistrySnapshot;
  readonly control: ModelControl;
  readonly readings: EngineReadings;
  /** Triton's ModelConfig as a protobuf message, from its JSON form. */
  readonly encodeConfig: EncodeConfig;
}

const NOTHING = Buffer.alloc(0);

/** A request of {name = 1, version = 2}. Errors: MalformedBody. */
export function readNameVersion(
  message: Buffer,
  messageName: string,
): { name: string; version: string } {
  const reader = exactReader(message, messageName);
  let name = '';
  let version = '';
  while (reader.next()) {
    if (reader.field === MODEL_CONFIG_REQUEST.name) name = reader.string();
    else if (reader.field === MODEL_CONFIG_REQUEST.version) version = reader.string();
    else reader.skip();
  }
  return { name, version };
}

// A map's entry: {key = 1, value = 2}.
function readEntry(message: Uint8Array, name: string): { key: string; value: Uint8Array } {
  const reader = exactReader(message, name);
  let key = '';
  let value: Uint8Array = NOTHING;
  while (reader.next()) {
    if (reader.field === MAP_ENTRY.key) key = reader.string();
    else if (reader.field === MAP_ENTRY.value) value = reader.view();
    else reader.skip();
  }
  return { key, value };
}

// ModelRepositoryParameter: {bool = 1, int64 = 2, string = 3, bytes = 4}; null if it is empty.
function readParameter(message: Uint8Array): unknown {
  const reader = exactReader(message, 'ModelRepositoryParameter');
  let value: unknown = null;
  while (reader.next()) {
    if (reader.field === MODEL_REPOSITORY_PARAMETER.boolParam) value = reader.number() !== 0;
    else if (reader.field === MODEL_REPOSITORY_PARAMETER.int64Param) value = reader.number();
    else if (reader.field === MODEL_REPOSITORY_PARAMETER.stringParam) value = reader.string();
    else if (reader.field === MODEL_REPOSITORY_PARAMETER.bytesParam) value = reader.view();
    else reader.skip();
  }
  return value;
}

// SettingValue: {bool = 1, uint32 = 2, string = 3}.
function readSetting(message: Uint8Array): unknown {
  const reader = exactReader(message, 'SettingValue');
  let value: unknown = null;
  while (reader.next()) {
    if (reader.field === LOG_SETTING.boolParam) value = reader.number() !== 0;
    else if (reader.field === LOG_SETTING.uint32Param) value = reader.number();
    else if (reader.field === LOG_SETTING.stringParam) value = reader.string();
    else reader.skip();
  }
  return value;
}

interface RepositoryRequest {
  readonly repository: string;
  readonly model: string;
  readonly parameters: ControlParameters;
}

// RepositoryModelLoadRequest and -UnloadRequest.
function readRepositoryRequest(message: Buffer, name: string): RepositoryRequest {
  const reader = exactReader(message, name);
  let repository = '';
  let model = '';
  const parameters = new Map<string, unknown>();
  while (reader.next()) {
    if (reader.field === REPOSITORY_MODEL_LOAD_REQUEST.repositoryName) repository = reader.string();
    else if (reader.field === REPOSITORY_MODEL_LOAD_REQUEST.modelName) model = reader.string();
    else if (reader.field === REPOSITORY_MODEL_LOAD_REQUEST.parameters) {
      const { key, value } = readEntry(reader.view(), `${name}.ParametersEntry`);
      parameters.set(key, readParameter(value)); // the last of equal keys wins
    } else {
      reader.skip();
    }
  }
  return { repository, model, parameters: [...parameters] };
}

function fileBytes(member: string, value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw wrongKind(member, 'bytes', value);
}

async function index(control: ModelControl, message: Buffer): Promise<Buffer> {
  const reader = exactReader(message, 'RepositoryIndexRequest');
  let repository = '';
  let ready = false;
  while (reader.next()) {
    if (reader.field === REPOSITORY_INDEX_REQUEST.repositoryName) repository = reader.string();
    else if (reader.field === REPOSITORY_INDEX_REQUEST.ready) ready = reader.number() !== 0;
    else reader.skip();
  }
  const entries = await control.index(repository, ready);
  return encodeMessage({ models: entries }, REPOSITORY_INDEX_RESPONSE);
}

async function load(control: ModelControl, message: Buffer): Promise<Buffer> {
  const { repository, model, parameters } = readRepositoryRequest(
    message,
    'RepositoryModelLoadRequest',
  );
  await loadModel(control, repository, loadRequest(model, parameters, fileBytes));
  return NOTHING;
}

async function unload(control: ModelControl, message: Buffer): Promise<Buffer> {
  const { repository, model, parameters } = readRepositoryRequest(
    message,
    'RepositoryModelUnloadRequest',
  );
  await unloadModel(control, repository, model, unloadDependents(parameters));
  return NOTHING;
}

async function statistics(options: GrpcControlOptions, message: Buffer): Promise<Buffer> {
  const { name, version } = readNameVersion(message, 'ModelStatisticsRequest');
  const targets = statisticsTargets(options.snapshot(), name, version);
  const stats = await options.readings.stats(targets.map((target) => target.handle));
  return encodeMessage(modelStatistics(targets, stats), MODEL_STATISTICS_RESPONSE);
}

async function configMessage(options: GrpcControlOptions, message: Buffer): Promise<Buffer> {
  const { name, version } = readNameVersion(message, 'ModelConfigRequest');
  const text = await afterLoad(options.control, options.snapshot(), (now) =>
    modelConfigJson(now, name, version),
  );
  const config = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return new ProtobufWriter()
    .bytes(MODEL_CONFIG_RESPONSE.config, await options.encodeConfig(config))
    .toBuffer();
}

function settingValue(value: unknown): MessageValue {
  if (typeof value === 'boolean') return { bool_param: value };
  if (typeof value === 'number') return { uint32_param: value };
  return { string_param: String(value) };
}

async function logSettings(control: ModelControl, message: Buffer): Promise<Buffer> {
  const reader = exactReader(message, 'LogSettingsRequest');
  const change = new Map<string, unknown>();
  while (reader.next()) {
    if (reader.field !== LOG_SETTINGS_REQUEST.settings) {
      reader.skip();
      continue;
    }
    const { key, value } = readEntry(reader.view(), 'LogSettingsRequest.SettingsEntry');
    const setting = readSetting(value);
    if (setting === null) throw wrongKind(`settings.${key}`, 'a value', setting);
    change.set(key, setting);
  }
  const settings: LogSettings =
    change.size === 0
      ? await control.logSettings()
      : await control.updateLogSettings(Object.fromEntries(change));
  const values = Object.entries(settings).map(([key, value]) => [key, settingValue(value)]);
  return encodeMessage({ settings: Object.fromEntries(values) }, LOG_SETTINGS_RESPONSE);
}

// SettingValue of a TraceSettingRequest: {value = 1, repeated}; an empty one resets the setting.
function readTraceValue(message: Uint8Array): readonly string[] {
  const reader = exactReader(message, 'TraceSettingRequest.SettingValue');
  const values: string[] = [];
  while (reader.next()) {
    if (reader.field === TRACE_SETTING.value) values.push(reader.string());
    else reader.skip();
  }
  return values;
}

async function traceSetting(control: ModelControl, message: Buffer): Promise<Buffer> {
  const reader = exactReader(message, 'TraceSettingRequest');
  const change = new Map<string, readonly string[]>();
  let model = '';
  while (reader.next()) {
    if (reader.field === TRACE_SETTING_REQUEST.settings) {
      const { key, value } = readEntry(reader.view(), 'TraceSettingRequest.SettingsEntry');
      change.set(key, readTraceValue(value));
    } else if (reader.field === TRACE_SETTING_REQUEST.modelName) model = reader.string();
    else reader.skip();
  }
  const settings: TraceSettings =
    change.size === 0
      ? await control.traceSettings(model)
      : await control.updateTraceSettings(model, Object.fromEntries(change));
  const values = Object.entries(settings).map(([key, value]) => [
    key,
    { value: typeof value === 'string' ? [value] : value },
  ]);
  return encodeMessage({ settings: Object.fromEntries(values) }, TRACE_SETTING_RESPONSE);
}

/**
 * Access kind of each call. LogSettings and TraceSetting also read; only the message tells which.
 */
export const CONTROL_CALL_KINDS: Readonly<Record<string, CallKind>> = {
  RepositoryIndex: CONTROL,
  RepositoryModelLoad: CONTROL_CHANGE,
  RepositoryModelUnload: CONTROL_CHANGE,
  ModelConfig: MODEL_CONFIG,
  ModelStatistics: STATISTICS,
  LogSettings: LOGGING_CHANGE,
  TraceSetting: TRACING_CHANGE,
  ...SHARED_MEMORY_KINDS,
};

/** The calls by name. */
export function controlCalls(
  options: GrpcControlOptions,
): Readonly<Record<string, GrpcUnaryHandler>> {
  const { control } = options;
  return {
    RepositoryIndex: answeringLater((message) => index(control, message)),
    RepositoryModelLoad: answeringLater((message) => load(control, message)),
    RepositoryModelUnload: answeringLater((message) => unload(control, message)),
    ModelConfig: answeringLater((message) => configMessage(options, message)),
    ModelStatistics: answeringLater((message) => statistics(options, message)),
    LogSettings: answeringLater((message) => logSettings(control, message)),
    TraceSetting: answeringLater((message) => traceSetting(control, message)),
    ...sharedMemoryCalls(control),
  };
}
