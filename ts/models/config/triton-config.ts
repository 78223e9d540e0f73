// Parses Triton's model configuration (config.pbtxt or JSON) into plain checked data, and encodes
// that for the wire. Control plane; pure. Source: v2-protocol.md 3.
import { echo } from '../../base/text.js';
import { LATEST_ONE } from '../../model/version-policy.js';
import type { VersionPolicy } from '../../model/version-policy.js';
import { MODEL_CONFIG } from '../../protobuf/generated/model-config.js';
import { decodeJson } from '../../protobuf/schema-json.js';
import { encodeMessage } from '../../protobuf/schema-write.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read } from '../../protobuf/schema.js';
import type { Decoded } from '../../protobuf/decode-notes.js';
import { ConfigFileError, parseTextProto, TEXT_BYTES_MAX } from '../../protobuf/text-format.js';
import { checkTritonConfig } from './triton-checks.js';
import type { TritonConfig } from './types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

export interface TritonConfigResult {
  /** undefined if there is a problem: the model is then not served. */
  readonly config: TritonConfig | undefined;
  readonly problems: readonly ConfigProblem[];
  /** Settings that are read but have no effect here. */
  readonly warnings: readonly ConfigProblem[];
}

/**
 * Parses the text format. `path` names the file in problems; `folderName` is the value that `name`
 * must have if set.
 */
export function parseTritonConfig(
  text: string,
  path: string,
  folderName?: string,
): TritonConfigResult {
  try {
    return checked(decodeText(parseTextProto(text, path), MODEL_CONFIG, path), folderName);
  } catch (error) {
    if (error instanceof ConfigFileError) return refused(error.problem);
    throw error;
  }
}

/**
 * Parses the JSON of a load request or of a GET config response. `where` is the prefix of
 * locations.
 */
export function tritonConfigFromJson(
  text: string,
  where: string,
  folderName?: string,
): TritonConfigResult {
  if (text.length > TEXT_BYTES_MAX) {
    const got = `got ${text.length} characters`;
    return refused({ place: where, message: `expected at most ${TEXT_BYTES_MAX}, ${got}` });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const why = (error as Error).message;
    const message = `expected a model configuration in JSON, got ${echo(text)}: ${why}`;
    return refused({ place: where, message });
  }
  return checked(decodeJson(json, MODEL_CONFIG, where), folderName);
}

function refused(problem: ConfigProblem): TritonConfigResult {
  return { config: undefined, problems: [problem], warnings: [] };
}

function checked(decoded: Decoded, folderName: string | undefined): TritonConfigResult {
  const { value, problems, places } = decoded;
  if (problems.length > 0) return { config: undefined, problems, warnings: [] };
  const found = checkTritonConfig(value, places, folderName);
  const config = found.problems.length === 0 ? (value as TritonConfig) : undefined;
  return { config, problems: found.problems, warnings: found.warnings };
}

/** Encodes inference.ModelConfig in protobuf's wire format. `config` is checked or completed. */
export function encodeModelConfig(config: TritonConfig): Uint8Array {
  return encodeMessage(config, MODEL_CONFIG);
}

/** Version policy of a configuration; the default is the latest version only. */
export function versionPolicyOf(config: TritonConfig | undefined): VersionPolicy {
  const policy = read.child(config, 'version_policy');
  if (policy?.['all'] !== undefined) return { kind: 'all' };
  const specific = read.child(policy, 'specific');
  if (specific !== undefined) {
    return { kind: 'specific', versions: read.texts(specific, 'versions').map(String) };
  }
  const latest = read.child(policy, 'latest');
  if (latest === undefined) return LATEST_ONE;
  return { kind: 'latest', count: Math.max(1, read.int(latest, 'num_versions')) };
}

/**
 * Whether names, types and dims come from the model: Triton's ONNX Runtime backend uses the model's
 * unless the configuration lists both inputs and outputs.
 */
export function takesModelsTensors(config: TritonConfig | undefined): boolean {
  const listed = (name: string): boolean => read.children(config, name).length > 0;
  return !(listed('input') && listed('output'));
}
