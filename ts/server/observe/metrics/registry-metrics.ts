// The registry's part of /metrics: versions and their states, and failed loads. Control plane, any
// thread; pure. Source: the Prometheus text format; names are Serval's.
import { TEXT_TYPE } from '../../../base/media-types.js';
import { ERRORS, ErrorCode } from '../../../base/errors.js';
import { visibleLines } from '../../../base/text.js';
import type { ModelSnapshot, RegistrySnapshot, VersionSnapshot } from '../../../model/snapshot.js';

export const METRICS_TYPE = `${TEXT_TYPE}; version=0.0.4; charset=utf-8`;

/** Maximum lines of one metric; models beyond it are only counted. */
const LINES_MAX = 10_000;

/**
 * A label's value, quoted and escaped as the format requires. The format has no escape for
 * invisible characters, so they are shown as the letters of an escape. Matches
 * native/stats/metrics_writer.
 */
function quoted(value: string): string {
  const escaped = visibleLines(value)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n');
  return `"${escaped}"`;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly lines: readonly string[];
}

function text({ name, help, lines }: Metric): string {
  const shown = lines.map((line) => `${name}${line}\n`).join('');
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${shown}`;
}

const failed = (version: VersionSnapshot): boolean => version.errorCode !== ErrorCode.Ok;

interface VersionOf {
  readonly model: ModelSnapshot;
  readonly version: VersionSnapshot;
}

const labels = ({ model, version }: VersionOf): string =>
  `model=${quoted(model.name)},version=${quoted(version.version)}`;

/** TensorFlow Serving's states, and ON_DEMAND. */
function stateOf({ state, demand }: VersionSnapshot): string {
  if (demand === undefined || demand === 'loaded') return state;
  return demand === 'loading' ? 'LOADING' : 'ON_DEMAND';
}

/** The lines to append; each ends with a newline. */
export function registryMetrics(snapshot: RegistrySnapshot): string {
  const models = Object.values(snapshot.models);
  const versions = models.flatMap((model) =>
    model.versions.map((version): VersionOf => ({ model, version })),
  );
  const broken = versions.filter(({ version }) => failed(version));
  const state = versions
    .slice(0, LINES_MAX)
    .map((one) => `{${labels(one)},state="${stateOf(one.version)}"} 1`);
  const ready = models
    .slice(0, LINES_MAX)
    .map((model) => `{model=${quoted(model.name)}} ${model.defaultVersion === undefined ? 0 : 1}`);
  const failures = broken
    .slice(0, LINES_MAX)
    .map((one) => `{${labels(one)},code="${ERRORS[one.version.errorCode].name}"} 1`);
  const leftOut = Math.max(0, versions.length - LINES_MAX);
  return [
    {
      name: 'serval_server_ready',
      help: 'Whether the server accepts inference requests.',
      lines: [` ${Number(snapshot.ready && !snapshot.draining)}`],
    },
    {
      name: 'serval_models_configured',
      help: 'Models that the registry knows.',
      lines: [` ${models.length}`],
    },
    { name: 'serval_model_ready', help: 'Whether any version of the model serves.', lines: ready },
    { name: 'serval_model_state', help: 'The current state of each version is 1.', lines: state },
    {
      name: 'serval_model_load_failures',
      help: 'Versions whose last load failed.',
      lines: [` ${broken.length}`],
    },
    {
      name: 'serval_model_load_failed',
      help: 'Each version whose last load failed, with its code.',
      lines: failures,
    },
    {
      name: 'serval_model_lines_left_out',
      help: 'Versions omitted above because of the line limit.',
      lines: [` ${leftOut}`],
    },
  ]
    .map(text)
    .join('');
}
