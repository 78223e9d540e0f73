// The settings of tracing: Serval's flags, Triton's --trace-config and its older flags, and
// OpenTelemetry's environment variables for the collector. Control plane, start-up only; pure
// except for the environment. Source: server/src/command_line_parser.cc; docs/user_guide/trace.md
// (Triton); OpenTelemetry protocol exporter, "Configuration options".
import { resolve } from 'node:path';
import { echo } from '../../base/text.js';
import type { SettingsReader } from '../values/settings-reader.js';
import { configError, textValue, type Written } from '../values/values.js';

/** Times of the stages; inputs and outputs. */
export type TraceLevel = 'TIMESTAMPS' | 'TENSORS';

/** Why the mode opentelemetry has no TENSORS. */
export const NO_TENSORS_IN_SPANS = 'spans have no tensor values: TENSORS needs the mode triton';

/**
 * The rules by which requests are traced; Triton's names are in
 * ts/server/observe/tracing/settings.ts.
 */
export interface TraceValues {
  /** The contents of traces; none: OFF. */
  readonly levels: readonly TraceLevel[];
  /** Traces one request in this number; 0 = only requests that their caller traces. */
  readonly rate: number;
  /** Remaining number of traces; -1 = unlimited. */
  readonly count: number;
  /** Traces per file; 0 = one file for all. */
  readonly logFrequency: number;
}

export interface OtlpSettings {
  readonly url: string;
  readonly protocol: 'http' | 'grpc';
  /** Attributes of the resource, in addition to Serval's own. */
  readonly resource: Readonly<Record<string, string>>;
  /** Traces that wait for the collector; further ones are dropped. */
  readonly waitingMax: number;
  /** How long a trace waits to be sent together with others. */
  readonly delayMs: number;
  /** Spans per message. */
  readonly spansMax: number;
}

export type TraceMode = 'triton' | 'opentelemetry';

export interface TraceConfig extends TraceValues {
  readonly mode: TraceMode;
  /** Absolute path; "" = none. */
  readonly file: string;
  readonly otlp: OtlpSettings;
  /** Settings of the mode as they were given, for the API that reports them. */
  readonly options: Readonly<Record<string, string>>;
}

const INT_MAX = 2_147_483_647;
const HTTP_DEFAULT = 'http://localhost:4318/v1/traces';
const GRPC_DEFAULT = 'http://localhost:4317';
const TRACES_PATH = 'v1/traces';
const OTLP_DEFAULTS = { waitingMax: 2048, delayMs: 5000, spansMax: 512 };
const MODES: readonly TraceMode[] = ['triton', 'opentelemetry'];

/** Parsed --trace-config: the last value of each setting, and each resource attribute. */
interface Given {
  readonly global: ReadonlyMap<string, Written>;
  readonly triton: ReadonlyMap<string, Written>;
  readonly opentelemetry: ReadonlyMap<string, Written>;
  readonly resource: Readonly<Record<string, string>>;
}

const KNOWN: Readonly<Record<keyof Omit<Given, 'resource'>, readonly string[]>> = {
  global: ['level', 'rate', 'count', 'mode'],
  triton: ['file', 'log-frequency'],
  opentelemetry: [
    'url',
    'resource',
    'bsp_max_queue_size',
    'bsp_schedule_delay',
    'bsp_max_export_batch_size',
  ],
};

/** Errors: InvalidArgument naming the flag. */
export function traceSettings(
  read: SettingsReader,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): TraceConfig {
  const given = traceConfigs(read.given('trace-config'));
  const otlpFlag = read.given('trace-otlp');
  const mode = modeOf(read, given, otlpFlag);
  const file = filePath(read, given);
  const levels = levelsOf(read, given) ?? (otlpFlag === undefined ? [] : ['TIMESTAMPS']);
  const where = given.global.get('level')?.where ?? read.written('trace-level').where;
  if (levels.length > 0 && mode === 'triton' && file === '') {
    throw configError(where, 'expected --trace-file FILE or --trace-otlp URL with it, got none');
  }
  if (levels.includes('TENSORS') && mode === 'opentelemetry') {
    throw configError(where, NO_TENSORS_IN_SPANS);
  }
  const number = (name: string, flagName: string, from: ReadonlyMap<string, Written>): number => {
    const written = from.get(name);
    const least = name === 'count' ? -1 : 0;
    return written === undefined ? read.int(flagName) : numberOf(written, least);
  };
  return {
    levels,
    rate: number('rate', 'trace-rate', given.global),
    count: number('count', 'trace-count', given.global),
    logFrequency: number('log-frequency', 'trace-log-frequency', given.triton),
    mode,
    file,
    otlp: otlpSettings(given, otlpFlag, environment),
    options: Object.fromEntries(
      [...given[mode]].map(([name, { texts }]) => [name, texts[0] ?? '']),
    ),
  };
}

function modeOf(read: SettingsReader, { global }: Given, otlp: Written | undefined): TraceMode {
  const written = global.get('mode');
  if (written === undefined) return otlp === undefined ? 'triton' : 'opentelemetry';
  const word = textValue(written).toLowerCase();
  const mode = MODES.find((known) => known === word);
  if (mode === undefined) {
    throw configError(written.where, `expected ${MODES.join(' or ')}, got ${echo(word)}`);
  }
  if (otlp !== undefined && mode === 'triton') {
    throw configError(written.where, 'expected opentelemetry, because --trace-otlp is given');
  }
  return read.given('trace-file') !== undefined && mode === 'opentelemetry'
    ? refuseFile(read.written('trace-file').where)
    : mode;
}

function refuseFile(where: string): never {
  throw configError(where, 'expected the mode triton with it, got opentelemetry');
}

/** undefined: the flags do not set a level. The words of several flags add up, as in Triton. */
function levelsOf(read: SettingsReader, { global }: Given): readonly TraceLevel[] | undefined {
  const written = global.get('level') ?? read.given('trace-level');
  if (written === undefined) return undefined;
  let levels: readonly TraceLevel[] = [];
  for (const text of written.texts) {
    const level = levelWord(written.where, text);
    levels = level === undefined ? [] : [...new Set([...levels, level])];
  }
  return levels;
}

/** undefined: OFF. MIN and MAX are Triton's older words for TIMESTAMPS. */
function levelWord(where: string, text: string): TraceLevel | undefined {
  switch (text.toUpperCase()) {
    case 'OFF':
    case 'FALSE':
      return undefined;
    case 'TIMESTAMPS':
    case 'TRUE':
    case 'MIN':
    case 'MAX':
      return 'TIMESTAMPS';
    case 'TENSORS':
      return 'TENSORS';
    default:
      throw configError(where, `expected OFF, TIMESTAMPS or TENSORS, got ${echo(text)}`);
  }
}

function filePath(read: SettingsReader, { triton }: Given): string {
  const written = triton.get('file');
  if (written === undefined) return read.filePath('trace-file') ?? '';
  return resolve(written.folder, textValue(written));
}

function numberOf({ where, texts }: Written, least: number): number {
  const text = texts[0] ?? '';
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= INT_MAX) return value;
  throw configError(where, `expected a whole number of ${least} to ${INT_MAX}, got ${echo(text)}`);
}

/** Parses `SETTING=VALUE` and `MODE,SETTING=VALUE`. */
function traceConfigs(written: Written | undefined): Given {
  const found = {
    global: new Map<string, Written>(),
    triton: new Map<string, Written>(),
    opentelemetry: new Map<string, Written>(),
  };
  const resource: Record<string, string> = {};
  for (const text of written?.texts ?? []) {
    const flagName = written?.where ?? '';
    const match = /^(?:(triton|opentelemetry),)?([a-z_-]+)=(.*)$/is.exec(text);
    const mode = (match?.[1]?.toLowerCase() ?? 'global') as keyof typeof found;
    const name = match?.[2] ?? '';
    const value = match?.[3] ?? '';
    const where = `${flagName} ${mode === 'global' ? '' : `${mode},`}${name}`;
    if (match === null || !KNOWN[mode].includes(name)) {
      const known = mode === 'global' ? KNOWN.global : KNOWN[mode].map((one) => `${mode},${one}`);
      const of = match === null ? [...known, 'MODE,SETTING'] : known;
      throw configError(flagName, `expected SETTING=VALUE of ${of.join(', ')}, got ${echo(text)}`);
    }
    if (name === 'resource') addResource(where, value, resource);
    const levels = name === 'level' ? (found[mode].get(name)?.texts ?? []) : [];
    const one = { where, texts: [...levels, value], folder: written?.folder ?? '' };
    found[mode].set(name, one);
  }
  return { ...found, resource };
}

function addResource(where: string, text: string, resource: Record<string, string>): void {
  const equals = text.indexOf('=');
  if (equals < 1) throw configError(where, `expected resource=NAME=VALUE, got ${echo(text)}`);
  resource[text.slice(0, equals)] = text.slice(equals + 1);
}

function otlpSettings(
  { opentelemetry, resource }: Given,
  flagGiven: Written | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): OtlpSettings {
  const number = (name: string, standard: number): number => {
    const written = opentelemetry.get(name);
    return written === undefined ? standard : numberOf(written, 1);
  };
  const written = flagGiven ?? opentelemetry.get('url');
  return {
    ...(written === undefined
      ? environmentUrl(environment)
      : writtenUrl(written, flagGiven !== undefined)),
    resource,
    waitingMax: number('bsp_max_queue_size', OTLP_DEFAULTS.waitingMax),
    delayMs: number('bsp_schedule_delay', OTLP_DEFAULTS.delayMs),
    spansMax: number('bsp_max_export_batch_size', OTLP_DEFAULTS.spansMax),
  };
}

type Endpoint = Pick<OtlpSettings, 'url' | 'protocol'>;

// `addsPath`: a URL without a path names a collector and gets the default path; Triton's URL is
// used unchanged.
function writtenUrl(written: Written, addsPath: boolean): Endpoint {
  const text = textValue(written);
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  const isGrpc = /^grpcs?:/i.test(withScheme);
  // The URL class finds no host in a grpc:// URL.
  const url = parsedUrl(withScheme.replace(/^grpc/i, 'http'));
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw configError(
      written.where,
      `expected http://HOST:PORT, https://, grpc:// or grpcs://, got ${echo(text)}`,
    );
  }
  if (isGrpc) return { url: url.origin, protocol: 'grpc' };
  if (addsPath && url.pathname === '/') url.pathname = TRACES_PATH;
  return { url: url.href, protocol: 'http' };
}

function parsedUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Source: OpenTelemetry's OTEL_EXPORTER_OTLP_*: those for traces before those for all signals. */
function environmentUrl(environment: Readonly<Record<string, string | undefined>>): Endpoint {
  const value = (name: string): string =>
    environment[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ||
    environment[`OTEL_EXPORTER_OTLP_${name}`] ||
    '';
  const isGrpc = value('PROTOCOL') === 'grpc';
  const own = environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? '';
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '';
  if (own === '' && base === '') {
    return isGrpc
      ? { url: GRPC_DEFAULT, protocol: 'grpc' }
      : { url: HTTP_DEFAULT, protocol: 'http' };
  }
  const where = own === '' ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  const text = own === '' ? base : own;
  const { url } = writtenUrl({ where, texts: [text], folder: '' }, false);
  if (isGrpc) return { url: new URL(url).origin, protocol: 'grpc' };
  return { url: own === '' ? `${url.replace(/\/+$/, '')}/${TRACES_PATH}` : url, protocol: 'http' };
}
