// TensorFlow Serving's --monitoring_config_file. Control plane; pure except for readMonitoringPath.
// Source: tfserving.md 3.7.
import { echo } from '../../base/text.js';
import { MONITORING_CONFIG } from '../../protobuf/generated/serving-config.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read } from '../../protobuf/schema.js';
import { ConfigFileError, parseTextProto, readConfigText } from '../../protobuf/text-format.js';
import type { MonitoringConfig } from './types.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

const PATH_DEFAULT = '/monitoring/prometheus/metrics';
const PATH = /^\/[^\s?#]*$/;

/**
 * The path of the metrics page; "" if it is not enabled. Errors: ConfigFileError (unreadable, or
 * the first problem).
 */
export async function readMonitoringPath(file: string): Promise<string> {
  const { config, problems } = parseMonitoringConfig(await readConfigText(file), file);
  const [problem] = problems;
  if (problem !== undefined) throw new ConfigFileError(problem);
  return config?.enabled === true ? config.path : '';
}

/** `config` is undefined if there is a problem. `path` names the file in problem locations. */
export function parseMonitoringConfig(
  text: string,
  path: string,
): {
  readonly config: MonitoringConfig | undefined;
  readonly problems: readonly ConfigProblem[];
} {
  try {
    const { value, problems, places } = decodeText(
      parseTextProto(text, path),
      MONITORING_CONFIG,
      path,
    );
    const prometheus = read.child(value, 'prometheus_config') ?? {};
    const url = read.text(prometheus, 'path') || PATH_DEFAULT;
    const all = [...problems];
    if (!PATH.test(url)) {
      const text = `path: expected one that begins with "/", without "?" or "#", got ${echo(url)}`;
      all.push({ place: places.at(prometheus, 'path'), message: text });
    }
    const config = { enabled: read.bool(prometheus, 'enable'), path: url };
    return { config: all.length === 0 ? config : undefined, problems: all };
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    return { config: undefined, problems: [error.problem] };
  }
}
