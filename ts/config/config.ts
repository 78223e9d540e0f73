// The configuration of `serval serve`: command line over configuration file over defaults. Control
// plane, start-up only. ts/config/flags.ts lists the settings.
import { resolve } from 'node:path';
import { SERVE_FLAGS, canonicalName, findFlag, nearestFlag } from './flags.js';
import type { FlagRow } from './flags.js';
import { PEER_FLAGS, type PeerFlag } from './peer-flags.js';
import {
  boolValue,
  choiceValue,
  configError,
  graphOptimizationValue,
  intValue,
  lastText,
  providersValue,
  sizeValue,
  textValue,
  wordsValue,
} from './values.js';
import { echo } from '../text.js';
import type { Written } from './values.js';
import {
  batchingSettings,
  checkTogether,
  controlSettings,
  metricsSettings,
  servingApiSettings,
} from './serving.js';
import type {
  BatchingSettings,
  ControlSettings,
  MetricsSettings,
  ServingApiSettings,
  SettingsReader,
} from './serving.js';
import { LOG_FORMATS, LOG_LEVELS } from '../logger.js';
import type { LogFormat, LogLevel } from '../logger.js';
import { HTTP_LISTENERS } from '../transport/http-kind.js';
import type { HttpListenerChoice } from '../transport/http-kind.js';
import type { ExecModeName, ProviderOptions } from '../model/engine-api.js';

export type {
  BatchingSettings,
  ControlSettings,
  MetricsSettings,
  ModelControlMode,
  ServingApiSettings,
} from './serving.js';

/** Settings that every model gets. */
export interface ModelSettings {
  readonly execMode: ExecModeName;
  readonly inlineUsMax: number;
  readonly queueRequestsMax: number;
  readonly instances: number;
  readonly intraOpThreads: number;
  readonly interOpThreads: number;
  /** ONNX Runtime's level: 0, 1, 2 or 99. */
  readonly graphOptimization: number;
  readonly providers: readonly ProviderOptions[];
}

/** Where models come from. Paths are absolute. */
export interface ModelSources {
  readonly paths: readonly string[];
  readonly modelRepositories: readonly string[];
  readonly baseModel: { readonly name: string; readonly path: string } | undefined;
  readonly modelConfigFile: string | undefined;
}

export interface Config {
  readonly sources: ModelSources;
  readonly model: ModelSettings;
  readonly host: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly httpThreads: number;
  readonly httpListener: HttpListenerChoice;
  /** Of each port; 0 = what the limit of open files allows. */
  readonly connectionsMax: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly drainSeconds: number;
  readonly healthBody: 'json' | 'empty';
  readonly strictReadiness: boolean;
  readonly bodyBytesMax: number;
  readonly grpcMessageBytesMax: number;
  /** What requests may hold in all; 0: found out at start (memory-limit.ts). */
  readonly memoryLimitBytes: number;
  readonly jsonDepthMax: number;
  readonly onnxruntimeLibrary: string | undefined;
  readonly control: ControlSettings;
  readonly batching: BatchingSettings;
  readonly restTimeoutMs: number;
  readonly servingApi: ServingApiSettings;
  readonly modelWarmup: boolean;
  /** Tags of the meta graph that is served of a SavedModel. */
  readonly savedModelTags: readonly string[];
  /** Where compiled models are kept; undefined = nowhere. */
  readonly modelCache: string | undefined;
  /** 0 = the requests' own counts. */
  readonly warmupIterations: number;
  readonly metrics: MetricsSettings;
  /** undefined = off; "-" = stderr. */
  readonly accessLog: string | undefined;
  readonly accessLogOneIn: number;
  /** Flags of other servers that were given and mean nothing here: "--flag: why". */
  readonly ignoredFlags: readonly string[];
}

/** What a command line says, before values are checked. */
export interface ParsedFlags {
  readonly settings: ReadonlyMap<string, Written>;
  readonly positional: readonly string[];
  readonly help: boolean;
  /** Flags of other servers that mean nothing here: "--flag: why". */
  readonly ignored: readonly string[];
}

const BOOL_TEXTS = new Set(['true', 'false', '1', '0']);

/** Splits `--flag=value` and `--flag value`; "--" ends the flags.
 * Errors: InvalidArgument: unknown flag (names the nearest), missing value. */
export function parseFlags(
  args: readonly string[],
  cwd: string,
  rows: readonly FlagRow[] = SERVE_FLAGS,
): ParsedFlags {
  const settings = new Map<string, Written>();
  const positional: string[] = [];
  const ignored: string[] = [];
  let help = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') {
      positional.push(...args.slice(i + 1));
      break;
    }
    if (arg === '--help' || arg === '-h') {
      help = true;
    } else if (arg.startsWith('--') && peerFlag(arg, rows) !== undefined) {
      const peer = peerFlag(arg, rows);
      ignored.push(`${arg.replace(/=.*/s, '')}: ${peer?.why ?? ''}`);
      if (!arg.includes('=') && takesNext(peer, args[i + 1])) i += 1;
    } else if (arg.startsWith('-') && arg !== '-') {
      const { row, where, written, takesNext } = readFlag(arg, args[i + 1], rows);
      if (takesNext) i += 1;
      const texts = [...(settings.get(row.name)?.texts ?? []), written];
      settings.set(row.name, { where, texts, folder: cwd });
    } else {
      positional.push(arg);
    }
  }
  return { settings, positional, help, ignored };
}

/** The other servers' flag that an argument is; ours win. */
function peerFlag(arg: string, rows: readonly FlagRow[]): PeerFlag | undefined {
  const name = canonicalName(arg.slice(2).replace(/=.*/s, ''));
  if (findFlag(name, rows) !== undefined) return undefined;
  return PEER_FLAGS.find((one) => one.name === name);
}

function takesNext(peer: PeerFlag | undefined, next: string | undefined): boolean {
  if (next === undefined) return false;
  return peer?.takesValue === true ? !next.startsWith('--') : BOOL_TEXTS.has(next);
}

interface ReadFlag {
  readonly row: FlagRow;
  readonly where: string;
  readonly written: string;
  readonly takesNext: boolean;
}

function readFlag(arg: string, next: string | undefined, rows: readonly FlagRow[]): ReadFlag {
  const equals = arg.indexOf('=');
  const name = (equals < 0 ? arg : arg.slice(0, equals)).replace(/^--/, '');
  const row = name.startsWith('-') ? undefined : findFlag(name, rows);
  if (row === undefined || row.positional === true) {
    const flags = rows.filter((known) => known.positional !== true);
    const nearest = nearestFlag(name.replace(/^-+/, ''), flags);
    throw configError('command line', `unknown flag ${echo(arg)}; did you mean --${nearest}?`);
  }
  const where = `--${name}`;
  if (equals >= 0) return { row, where, written: arg.slice(equals + 1), takesNext: false };
  if (row.type.kind === 'bool') {
    const takesNext = next !== undefined && BOOL_TEXTS.has(next);
    return { row, where, written: takesNext ? next : 'true', takesNext };
  }
  if (next === undefined || next.startsWith('--')) {
    throw configError(where, `expected ${row.value} behind it`);
  }
  return { row, where, written: next, takesNext: true };
}

/** The configuration, or undefined when help is asked for.
 * Errors: InvalidArgument naming the flag, or file, line and column. */
export async function parseServeConfig(
  args: readonly string[],
  cwd: string,
): Promise<Config | undefined> {
  const flags = parseFlags(args, cwd);
  if (flags.help) return undefined;
  const given = new Map(flags.settings);
  if (flags.positional.length > 0) {
    given.set('paths', { where: 'PATH', texts: flags.positional, folder: cwd });
  }
  return { ...(await configOf(given, cwd)), ignoredFlags: flags.ignored };
}

/** What was given over the configuration file that it names, if it names one, over defaults.
 * Errors: InvalidArgument. */
export async function configOf(given: ReadonlyMap<string, Written>, cwd: string): Promise<Config> {
  const settings = new Map<string, Written>();
  const file = given.get('config');
  if (file !== undefined) {
    const { readConfigFile } = await import('./file.js');
    const path = resolve(cwd, textValue(file));
    for (const [name, written] of await readConfigFile(path)) settings.set(name, written);
  }
  for (const [name, written] of given) settings.set(name, written);
  return buildConfig(settings);
}

/** Checks every value. Errors: InvalidArgument. */
export function buildConfig(settings: ReadonlyMap<string, Written>): Config {
  const row = (name: string): FlagRow => {
    const found = findFlag(name);
    if (found === undefined) throw new TypeError(`no flag ${name}`);
    return found;
  };
  const written = (name: string): Written =>
    settings.get(name) ?? { where: `--${name}`, texts: [row(name).default], folder: '' };
  const int = (name: string): number => intValue(row(name), written(name));
  const given = (name: string): Written | undefined => settings.get(name);
  const pathOf = (from: Written): string => resolve(from.folder, textValue(from));
  const library = given('onnxruntime-library');
  const bool = (name: string): boolean => boolValue(written(name));
  const read: SettingsReader = {
    int,
    bool,
    written,
    given,
    filePath: (name) => {
      const from = given(name);
      return from === undefined ? undefined : pathOf(from);
    },
  };

  const config: Config = {
    sources: modelSources(given),
    model: {
      execMode: choiceValue(['auto', 'inline', 'queued'] as const, written('exec-mode')),
      inlineUsMax: int('inline-us-max'),
      queueRequestsMax: int('queue-requests-max'),
      instances: int('instances'),
      intraOpThreads: int('intra-op-threads'),
      interOpThreads: int('inter-op-threads'),
      graphOptimization: graphOptimizationValue(written('graph-optimization')),
      providers: providersValue(written('providers')),
    },
    host: textValue(written('host')),
    httpPort: int('http-port'),
    grpcPort: int('grpc-port'),
    httpThreads: int('http-threads'),
    httpListener: choiceValue(HTTP_LISTENERS, written('http-listener')),
    connectionsMax: int('max-connections'),
    logLevel: choiceValue(LOG_LEVELS, written('log-level')),
    logFormat: choiceValue(LOG_FORMATS, written('log-format')),
    drainSeconds: int('drain-seconds'),
    healthBody: choiceValue(['json', 'empty'] as const, written('health-body')),
    strictReadiness: bool('strict-readiness'),
    bodyBytesMax: int('body-bytes-max'),
    grpcMessageBytesMax: int('grpc-message-bytes-max'),
    memoryLimitBytes: sizeValue(written('memory-limit')),
    jsonDepthMax: int('json-depth-max'),
    onnxruntimeLibrary: library === undefined ? undefined : pathOf(library),
    control: controlSettings(read),
    batching: batchingSettings(read),
    restTimeoutMs: int('rest-api-timeout-in-ms'),
    servingApi: servingApiSettings(read),
    modelWarmup: bool('enable-model-warmup'),
    savedModelTags: wordsValue(written('saved-model-tags')),
    modelCache: read.filePath('model-cache'),
    warmupIterations: int('num-request-iterations-for-warmup'),
    metrics: metricsSettings(read),
    accessLog: accessLogPath(given('access-log')),
    accessLogOneIn: int('access-log-one-in'),
    ignoredFlags: [],
  };
  checkTogether(config, written);
  return config;
}

/** A path of its own, or "-". */
function accessLogPath(from: Written | undefined): string | undefined {
  if (from === undefined) return undefined;
  const text = textValue(from);
  return text === '-' ? text : resolve(from.folder, text);
}

function modelSources(given: (name: string) => Written | undefined): ModelSources {
  const list = (name: string): readonly string[] => {
    const from = given(name);
    if (from === undefined) return [];
    return from.texts.map((text) => resolve(from.folder, textValue({ ...from, texts: [text] })));
  };
  const paths = list('paths');
  const modelRepositories = list('model-repository');
  const base = given('model-base-path');
  const name = given('model-name');
  if (base === undefined && name !== undefined) {
    const got = echo(lastText(name));
    throw configError(name.where, `expected --model-base-path with it, got ${got}`);
  }
  const file = given('model-config-file');
  if (base !== undefined && file !== undefined) {
    throw configError(file.where, 'expected either this or --model-base-path, got both');
  }
  if (base === undefined && file === undefined && paths.length + modelRepositories.length === 0) {
    throw configError(
      'command line',
      'nothing to serve: expected a PATH, --model-repository DIR, --model-base-path DIR or ' +
        '--model-config-file FILE',
    );
  }
  const baseModel = base && {
    name: name === undefined ? 'default' : textValue(name),
    path: resolve(base.folder, textValue(base)),
  };
  const modelConfigFile = file && resolve(file.folder, textValue(file));
  return { paths, modelRepositories, baseModel, modelConfigFile };
}
