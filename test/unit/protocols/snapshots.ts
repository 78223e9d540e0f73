// Registry snapshots for tests of documents made from them.
import { ErrorCode } from '../../../ts/base/errors.js';
import type {
  ModelSnapshot,
  RegistrySnapshot,
  TensorInfo,
  VersionSnapshot,
  VersionState,
} from '../../../ts/model/snapshot.js';

export const INPUT: TensorInfo = {
  name: 'x',
  datatype: 'FP32',
  shape: [-1, 4],
  symbols: ['batch', ''],
  unknownRank: false,
};
export const OUTPUT: TensorInfo = {
  name: 'y',
  datatype: 'INT64',
  shape: [-1],
  symbols: ['batch'],
  unknownRank: false,
};

/** One version in `state`; `more` replaces any of its fields. */
export function version(
  number: string,
  state: VersionState = 'AVAILABLE',
  more: Partial<VersionSnapshot> = {},
): VersionSnapshot {
  const available = state === 'AVAILABLE';
  return {
    version: number,
    state,
    handle: available ? Number(number) : undefined,
    errorCode: ErrorCode.Ok,
    errorMessage: '',
    format: 'onnx',
    platform: 'onnxruntime_onnx',
    signatures: available ? [{ name: 'serving_default', inputs: [INPUT], outputs: [OUTPUT] }] : [],
    configJson: available ? `{"name":"m","version":${number}}` : '',
    loadMs: available ? 5 : 0,
    ...more,
  };
}

/** A model with these versions, highest first. */
export function model(
  name: string,
  versions: readonly VersionSnapshot[],
  labels: Record<string, string> = {},
): ModelSnapshot {
  const ready = versions.find((entry) => entry.state === 'AVAILABLE');
  return { name, versions, labels, problem: '', defaultVersion: ready?.version };
}

/** A registry with these models. */
export function registry(
  models: readonly ModelSnapshot[],
  more: Partial<RegistrySnapshot> = {},
): RegistrySnapshot {
  return {
    epoch: 1,
    models: Object.fromEntries(models.map((entry) => [entry.name, entry])),
    ready: models.every((entry) => entry.defaultVersion !== undefined),
    draining: false,
    faults: [],
    ...more,
  };
}
