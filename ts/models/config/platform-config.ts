// TensorFlow Serving's --platform_config_file: load and batching settings for models of the
// platform "tensorflow", in place of flags. Control plane; pure except for readPlatformConfig.
// Source: tfserving.md 3.1; server.cc BuildAndStart; platform_config.proto.
import { BATCHING_FIELDS, PLATFORM_FIELDS } from '../../config/peers/serving-fields.js';
import { MODEL_THREADS_MAX } from '../../base/limits.js';
import {
  PLATFORM_CONFIG_MAP,
  SAVED_MODEL_BUNDLE_SOURCE_ADAPTER_CONFIG as ADAPTER_CONFIG,
} from '../../protobuf/generated/platform-config.js';
import type { Places } from '../../protobuf/decode-notes.js';
import type { ConfigProblem } from '../../protobuf/problem.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read, type MessageValue } from '../../protobuf/schema.js';
import { ConfigFileError, parseTextProto, readConfigText } from '../../protobuf/text-format.js';
import { echo } from '../../base/text.js';
import { checkedParameters } from './batching-parameters.js';
import { fieldNotes } from './field-notes.js';
import type { BatchingParameters } from '../../model/batching-parameters.js';

const PLATFORM = 'tensorflow';
const ADAPTER = 'tensorflow.serving.SavedModelBundleSourceAdapterConfig';
const ITERATIONS_MAX = 1_000_000;

/** Absent members keep their values from the flags. */
export interface PlatformConfig {
  readonly threads: { readonly intraOpThreads?: number; readonly interOpThreads?: number };
  readonly batching?: BatchingParameters;
  readonly savedModelTags?: readonly string[];
  readonly modelWarmup?: boolean;
  readonly warmupIterations?: number;
  /** Settings that are read but have no effect. */
  readonly warnings: readonly ConfigProblem[];
}

/** Errors: ConfigFileError (unreadable, or the first problem). */
export async function readPlatformConfig(file: string): Promise<PlatformConfig> {
  return parsePlatformConfig(await readConfigText(file), file);
}

/** `path` names the file in problem locations. Errors: ConfigFileError. */
export function parsePlatformConfig(text: string, path: string): PlatformConfig {
  const held = { [ADAPTER]: ADAPTER_CONFIG };
  const tree = parseTextProto(text, path);
  const { value, problems, places } = decodeText(tree, PLATFORM_CONFIG_MAP, path, held);
  refuse(problems);
  const bundle = read.child(adapterOf(value, places), 'legacy_config') ?? {};
  const { problems: refused, warnings } = fieldNotes(
    { legacy_config: bundle },
    ADAPTER_CONFIG,
    { ...PLATFORM_FIELDS, ...BATCHING_FIELDS },
    places,
  );
  refuse(refused);
  return { ...settingsOf(bundle, places), warnings };
}

function refuse([problem]: readonly ConfigProblem[]): void {
  if (problem !== undefined) throw new ConfigFileError(problem);
}

/** The adapter settings of the one supported platform; undefined if the file has none. */
function adapterOf(value: MessageValue, places: Places): MessageValue {
  const configs = read.child(value, 'platform_configs') ?? {};
  const other = Object.keys(configs).find((name) => name !== PLATFORM);
  if (other !== undefined) {
    const message = `platform_configs: expected "${PLATFORM}", got ${echo(other)}`;
    throw new ConfigFileError({ place: places.at(configs, other), message });
  }
  const any = read.child(read.child(configs, PLATFORM), 'source_adapter_config');
  if (any === undefined) return {};
  const type = read.text(any, 'type_url');
  if (type === ADAPTER) return read.child(any, 'value') ?? {};
  const message = `source_adapter_config: expected [type.googleapis.com/${ADAPTER}], got ${echo(type)}`;
  throw new ConfigFileError({ place: places.at(any, 'type_url'), message });
}

function settingsOf(bundle: MessageValue, places: Places): Omit<PlatformConfig, 'warnings'> {
  const within = (of: MessageValue | undefined, name: string, max: number): number | undefined => {
    if (of?.[name] === undefined) return undefined;
    const found = read.int(of, name);
    if (found >= 0 && found <= max) return found;
    const message = `${name}: expected 0 to ${max}, got ${found}`;
    throw new ConfigFileError({ place: places.at(of, name), message });
  };
  const session = read.child(bundle, 'session_config');
  const intraOpThreads = within(session, 'intra_op_parallelism_threads', MODEL_THREADS_MAX);
  const interOpThreads = within(session, 'inter_op_parallelism_threads', MODEL_THREADS_MAX);
  const iterations = read.child(
    read.child(bundle, 'model_warmup_options'),
    'num_request_iterations',
  );
  const warmupIterations = within(iterations, 'value', ITERATIONS_MAX);
  const batching = batchingOf(read.child(bundle, 'batching_parameters'), places);
  const savedModelTags = read.texts(bundle, 'saved_model_tags');
  return {
    threads: {
      ...(intraOpThreads !== undefined && { intraOpThreads }),
      ...(interOpThreads !== undefined && { interOpThreads }),
    },
    ...(batching && { batching }),
    ...(savedModelTags.length > 0 && { savedModelTags }),
    ...(bundle['enable_model_warmup'] === false && { modelWarmup: false }),
    ...(warmupIterations !== undefined && { warmupIterations }),
  };
}

function batchingOf(
  value: MessageValue | undefined,
  places: Places,
): BatchingParameters | undefined {
  if (value === undefined) return undefined;
  const { parameters, problems } = checkedParameters(value, places);
  refuse(problems);
  return parameters;
}
