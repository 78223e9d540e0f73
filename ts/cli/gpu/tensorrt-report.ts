// `serval inspect` of a TensorRT engine: the file is opaque, so this reports its configuration.
// Control plane. Loads nothing.
import { stat } from 'node:fs/promises';
import { TENSORRT_FILE } from '../../base/file-names.js';
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import { modelInvalid } from '../../base/errors.js';
import { tensorRtHead } from '../../models/placement/tensorrt/load.js';
import { tensorRtModel, tensorRtProblem } from '../../models/placement/tensorrt/wrapper.js';
import { datatypeOfConfig } from '../../model/datatype.js';
import type { TensorRtTensor } from '../../model/engine-api.js';
import type { SignatureInfo, TensorInfo } from '../../model/snapshot.js';
import { tensorRtOf } from '../../models/config/engine-settings.js';
import type { FoundModel, FoundVersion } from '../../models/registry/sources/repository.js';

/** The report that `--json` prints. */
export interface TensorRtReport {
  readonly name: string;
  readonly version: string;
  readonly versions: readonly string[];
  readonly path: string;
  readonly format: string;
  readonly platform: string;
  readonly bytes: number;
  readonly signatures: readonly SignatureInfo[];
}

/**
 * Errors: ModelInvalid: no engine, a configuration that cannot be served, or one that names no
 * tensors.
 */
export async function tensorRtReport(
  model: FoundModel,
  version: FoundVersion,
): Promise<TensorRtReport> {
  const { path } = version;
  const { config = {}, problem } = model.config;
  const { size } = await stat(path);
  const why = problem || tensorRtProblem(await tensorRtHead(path), size);
  if (why) throw modelInvalid(path, why);
  const spec = tensorRtOf(config);
  try {
    tensorRtModel(spec, TENSORRT_FILE);
  } catch (error) {
    throw modelInvalid(path, (error as Error).message);
  }
  const signature: SignatureInfo = {
    name: DEFAULT_SIGNATURE,
    inputs: spec.inputs.map(tensorInfo),
    outputs: spec.outputs.map(tensorInfo),
  };
  return {
    name: model.name,
    version: version.version,
    versions: model.versions.map((one) => one.version),
    path,
    format: version.format,
    platform: version.platform,
    bytes: size,
    signatures: [signature],
  };
}

function tensorInfo({ name, type, dims }: TensorRtTensor): TensorInfo {
  return {
    name,
    datatype: datatypeOfConfig(type) ?? 'BYTES',
    shape: dims,
    symbols: dims.map(() => ''),
    unknownRank: false,
  };
}

/** The report for people; with a final newline. Pure. */
export function tensorRtText(
  report: TensorRtReport,
  signatureText: (signature: SignatureInfo) => string,
): string {
  const rows = [
    ['model', report.name],
    ['version', `${report.version} of ${report.versions.join(', ')}`],
    ['file', report.path],
    ['size', `${report.bytes} bytes`],
    ['format', `TensorRT engine (${report.platform}); tensors as in config.pbtxt`],
  ] as const;
  const head = rows.map(([key, value]) => `${key.padEnd(9)}${value}\n`).join('');
  return head + report.signatures.map(signatureText).join('');
}
