// tensorflow.serving.ModelService: the states of a model's versions, and replacing the list of
// models. Control plane; the gRPC listener's thread. Source: tensorflow/serving
// model_service_impl.cc, get_model_status.proto, model_management.proto.
import {
  STATUS_PROTO,
  MODEL_VERSION_STATUS,
  GET_MODEL_STATUS_RESPONSE,
  RELOAD_CONFIG_REQUEST,
  RELOAD_CONFIG_RESPONSE,
  METRIC,
} from '../../protobuf/generated/tensorflow-serving-fields.js';
import { TENSORFLOW_METRICS } from '../../engine/link.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import type { RegistrySnapshot, VersionSnapshot, VersionState } from '../../model/snapshot.js';
import type { EngineReadings } from '../engine-readings.js';
import { canonicalCode, statusVersions } from './documents.js';
import {
  messageBuffer,
  readRequest,
  requestReader,
  requireSpec,
  type ServingOptions,
} from './grpc-spec.js';

const STATES: Readonly<Record<VersionState, number>> = {
  START: 10,
  LOADING: 20,
  AVAILABLE: 30,
  UNLOADING: 40,
  END: 50,
};

function writeStatus(writer: ProtobufWriter, code: number, message: string): void {
  if (code !== 0) writer.varint(STATUS_PROTO.errorCode, code);
  if (message !== '') writer.string(STATUS_PROTO.errorMessage, message);
}

function writeVersion(writer: ProtobufWriter, version: VersionSnapshot): void {
  if (version.version !== '0') writer.varint(MODEL_VERSION_STATUS.version, BigInt(version.version));
  writer.varint(MODEL_VERSION_STATUS.state, STATES[version.state]);
  writer.message(MODEL_VERSION_STATUS.status, (status) => {
    writeStatus(status, canonicalCode(version.errorCode).number, version.errorMessage);
  });
}

/** The response to a GetModelStatusRequest. Errors: MalformedBody; InvalidArgument;
 * ModelNotFound. */
export function modelStatus(snapshot: RegistrySnapshot, message: Buffer): Buffer {
  const spec = requireSpec(
    readRequest(message, 'GetModelStatusRequest', (reader) => reader.skip()),
  );
  const writer = new ProtobufWriter();
  for (const version of statusVersions(snapshot, spec)) {
    writer.message(GET_MODEL_STATUS_RESPONSE.modelVersionStatus, (entry) =>
      writeVersion(entry, version),
    );
  }
  return messageBuffer(writer);
}

/**
 * TensorFlow Serving's metric names -> the value of each one's first series; 0 if there is none.
 */
async function metricValues(
  readings: EngineReadings,
  names: ReadonlySet<string>,
): Promise<ReadonlyMap<string, bigint>> {
  if (names.size === 0) return new Map();
  const lines = (await readings.metrics(TENSORFLOW_METRICS)).toString('utf8').split('\n');
  const values = new Map<string, bigint>();
  for (const name of names) {
    const shown = `${name.replace(/[^A-Za-z0-9_]/g, ':')}{`;
    const value =
      lines
        .find((line) => line.startsWith(shown))
        ?.split(' ')
        .at(-1) ?? '';
    values.set(name, /^\d+$/.test(value) ? BigInt(value) : 0n);
  }
  return values;
}

interface ReloadRequest {
  /** A ModelServerConfig. */
  readonly config: Uint8Array;
  readonly metricNames: ReadonlySet<string>;
}

function readReload(message: Buffer): ReloadRequest {
  const reader = requestReader(message, 'ReloadConfigRequest');
  const configs: Uint8Array[] = [];
  const metricNames = new Set<string>();
  while (reader.next()) {
    if (reader.field === RELOAD_CONFIG_REQUEST.config) configs.push(reader.view());
    else if (reader.field === RELOAD_CONFIG_REQUEST.metricNames) metricNames.add(reader.string());
    else reader.skip();
  }
  // A repeated message field is merged, which on the wire means concatenated.
  return { config: Buffer.concat(configs), metricNames };
}

/**
 * The response to a ReloadConfigRequest, once the models serve. Errors: those of
 * ModelControl.reloadModels().
 */
export async function reloadConfig(
  { control, readings }: Pick<ServingOptions, 'control' | 'readings'>,
  message: Buffer,
): Promise<Buffer> {
  const { config, metricNames } = readReload(message);
  const before = await metricValues(readings, metricNames);
  await control.reloadModels(config);
  const writer = new ProtobufWriter();
  writer.message(RELOAD_CONFIG_RESPONSE.status, (status) => writeStatus(status, 0, ''));
  for (const [name, value] of await metricValues(readings, metricNames)) {
    const increase = value - (before.get(name) ?? 0n);
    writer.message(RELOAD_CONFIG_RESPONSE.metric, (metric) =>
      metric.string(METRIC.name, name).varint(METRIC.int64ValueIncrease, increase),
    );
  }
  return messageBuffer(writer);
}
