// What the registry is asked for: scanned models, the version policy and the settings together.
// Pure; control plane.
import type { ModelSettings } from '../config.js';
import type { ModelSpec } from '../native/engine-api.js';
import type { ScannedModel, ScannedVersion } from './repository.js';
import type { VersionPolicy } from './version-policy.js';
import { chooseVersions, LATEST_ONE } from './version-policy.js';

export interface DesiredVersion {
  /** Decimal text, no leading zeros. */
  readonly version: string;
  readonly spec: ModelSpec;
  readonly format: string;
  /** V2 metadata's `platform`. */
  readonly platform: string;
  /** Changes when the files change; the version is then loaded anew. */
  readonly revision: string;
}

/** A model that is asked for. Without versions it is known and never ready. */
export interface DesiredModel {
  readonly name: string;
  readonly versions: readonly DesiredVersion[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Triton's name of ONNX models on ONNX Runtime, which clients compare with. */
export const ONNX_PLATFORM = 'onnxruntime_onnx';

export function desiredModels(
  models: readonly ScannedModel[], settings: ModelSettings, policy: VersionPolicy = LATEST_ONE,
): readonly DesiredModel[] {
  return models.map((model) => {
    const present = new Map(model.versions.map((one) => [one.version, one]));
    const { versions } = chooseVersions(policy, [...present.keys()]);
    const desired = versions.map((version) => present.get(version)).filter((one) => one != null);
    return {
      name: model.name,
      versions: desired.map((one) => desiredVersion(model.name, one, settings)),
      labels: {},
    };
  });
}

function desiredVersion(
  name: string, one: ScannedVersion, settings: ModelSettings,
): DesiredVersion {
  const { version, path, format, revision } = one;
  const spec: ModelSpec = { name, version, backend: 'onnxruntime', path, ...settings };
  return { version, spec, format, platform: ONNX_PLATFORM, revision };
}
