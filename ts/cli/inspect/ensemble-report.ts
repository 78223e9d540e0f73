// `serval inspect` of an ensemble: its configuration is all that it has. Control plane. Loads
// nothing.
import { modelInvalid } from '../../base/errors.js';
import type { SignatureInfo } from '../../model/snapshot.js';
import { engineSettings } from '../../models/config/engine-settings.js';
import { ensembleSteps, type EnsembleStep } from '../../models/config/ensembles/steps.js';
import type { FoundModel, FoundVersion } from '../../models/registry/sources/repository.js';

/** The report that `--json` prints. */
export interface EnsembleReport {
  readonly name: string;
  readonly version: string;
  readonly versions: readonly string[];
  readonly path: string;
  readonly format: string;
  readonly platform: string;
  readonly steps: readonly EnsembleStep[];
  readonly signatures: readonly SignatureInfo[];
}

/** Errors: ModelInvalid: a configuration that cannot be served. */
export function ensembleReport(model: FoundModel, version: FoundVersion): EnsembleReport {
  const { config, problem } = model.config;
  const { path, format, platform } = version;
  if (config === undefined) throw modelInvalid(path, problem);
  const { ensembleSignature } = engineSettings(config, new Map());
  return {
    name: model.name,
    version: version.version,
    versions: model.versions.map((one) => one.version),
    ...{ path, format, platform },
    steps: ensembleSteps(config),
    signatures: ensembleSignature === undefined ? [] : [ensembleSignature],
  };
}

/** The report for people; with a final newline. Pure. */
export function ensembleText(
  report: EnsembleReport,
  signatureText: (signature: SignatureInfo) => string,
): string {
  const rows = [
    ['model', report.name],
    ['version', `${report.version} of ${report.versions.join(', ')}`],
    ['folder', report.path],
    ['format', 'ensemble of other models; tensors as in config.pbtxt'],
    ...report.steps.map(({ model, version }, i) => [
      `step ${i + 1}`,
      version === '' ? model : `${model}, version ${version}`,
    ]),
  ];
  const head = rows.map(([key = '', value = '']) => `${key.padEnd(9)}${value}\n`).join('');
  return head + report.signatures.map(signatureText).join('');
}
