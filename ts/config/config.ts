// The configuration of `serval serve`: the command line overrides the configuration file, which
// overrides defaults. Control plane, start-up only. ts/config/flags.ts lists the settings.
import { resolve } from 'node:path';
import { accessSettings, type AccessConfig } from './access.js';
import { requestLogSettings } from './observation/request-log.js';
import type { RequestLogSettings } from './observation/request-log-settings.js';
import { hasOtherFlags, parseFlags } from './command-line.js';
import { SERVE_FLAGS, SETTINGS, findFlag, type Settings } from './flags.js';
import { engineValues, settingValues, type FlagRow } from './values/flag-row.js';
import { boolValue, configError, intValue, lastText, textValue } from './values/values.js';
import type { AttachOptions } from '../base/generated/attach-options.js';
import { echo } from '../base/text.js';
import { transportSettings, type GrpcConfig } from './grpc.js';
import { checkListeners } from './listeners.js';
import type { TlsConfig } from './tls.js';
import { traceSettings, type TraceConfig } from './observation/tracing.js';
import type { Written } from './values/values.js';
import { checkPlatformFile, checkTogether } from './server-settings.js';
import type { SettingsReader } from './values/settings-reader.js';
import type { BatchingSettings, MetricsSettings } from './server-settings.js';
import { localPath, modelPath, type ModelPath } from './values/model-path.js';

export type {
  AccessLogSettings,
  BatchingSettings,
  ModelControlSettings,
  MetricsSettings,
  ModelControlMode,
  ServingApiSettings,
} from './server-settings.js';

/** The settings of every model. */
export type ModelSettings = Settings['model'];

/** The sources of models. Paths are absolute. */
export interface ModelSources {
  readonly paths: readonly ModelPath[];
  readonly modelRepositories: readonly string[];
  readonly baseModel: { readonly name: string; readonly path: string } | undefined;
  readonly modelConfigFile: string | undefined;
  /** Name of the file in configs/ that replaces config.pbtxt; absent = none. */
  readonly modelConfigName?: string;
}

/** The members that rows of flags.ts fill, and those that combine several flags or other files. */
export interface Config extends Settings {
  readonly sources: ModelSources;
  /** The address of gRPC; `host` when gRPC has no address. */
  readonly grpcHost: string;
  readonly tls: TlsConfig;
  readonly grpc: GrpcConfig;
  readonly access: AccessConfig;
  readonly batching: BatchingSettings;
  readonly metrics: MetricsSettings;
  /** undefined = off; "-" = stderr. */
  readonly accessLog: string | undefined;
  readonly tracing: TraceConfig;
  readonly requestLog: RequestLogSettings;
  /** Flags of other servers that were given and have no effect here: "--flag: why". */
  readonly ignoredFlags: readonly string[];
}

/**
 * Builds the configuration of a command line. Errors: InvalidArgument naming the flag, or file,
 * line and column.
 */
export async function parseServeConfig(args: readonly string[], cwd: string): Promise<Config> {
  const others = hasOtherFlags(args, SERVE_FLAGS);
  const peers = others ? await import('./peers/peers.js') : undefined;
  const flags = parseFlags(args, cwd, SERVE_FLAGS, peers);
  const given = new Map(flags.settings);
  if (flags.positional.length > 0) {
    given.set('paths', { where: 'PATH', texts: flags.positional, folder: cwd });
  }
  const config = await configOf(given, cwd);
  return { ...config, ignoredFlags: [...flags.ignored, ...config.ignoredFlags] };
}

/**
 * Merges the given settings over the configuration file that they name, if any, over defaults.
 * Errors: InvalidArgument.
 */
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
  const intOf = (name: string, from: Written): number => intValue(row(name), from);
  const int = (name: string): number => intOf(name, written(name));
  const given: SettingsReader['given'] = (name) => settings.get(name);
  const bool = (name: string): boolean => boolValue(written(name));
  const read: SettingsReader = {
    int,
    bool,
    intOf,
    boolOf: boolValue,
    written,
    given,
    filePath: (name) => {
      const from = given(name);
      return from === undefined ? undefined : resolve(from.folder, textValue(from));
    },
  };
  const transport = transportSettings(read);
  const host = textValue(written('host'));
  const hostOf = (name: string): string => {
    const from = given(name);
    return from === undefined ? host : textValue(from);
  };
  const values = settingValues(SETTINGS, read);
  checkListeners(values.listeners, read);
  checkPlatformFile(read);
  const config: Config = {
    ...values,
    sources: modelSources(given),
    grpcHost: hostOf('grpc-address'),
    ...transport,
    access: accessSettings(read),
    metrics: { ...values.metrics, host: hostOf('metrics-address') },
    accessLog: accessLogPath(given('access-log')),
    ...{ tracing: traceSettings(read), requestLog: requestLogSettings(read) },
    ignoredFlags: transport.grpc.ignored,
  };
  checkTogether(config, written);
  return config;
}

/** The engine's options that are set by a flag. */
export function engineSettings(config: Config): AttachOptions {
  return engineValues(SETTINGS, config);
}

/** Returns an absolute path, or "-". */
function accessLogPath(from: Written | undefined): string | undefined {
  if (from === undefined) return undefined;
  const text = textValue(from);
  return text === '-' ? text : resolve(from.folder, text);
}

/** Source: Triton's server/docs/user_guide/model_configuration.md, Custom Model Configuration. */
function modelConfigName(from: Written | undefined): Pick<ModelSources, 'modelConfigName'> {
  if (from === undefined) return {};
  const name = textValue(from);
  if (!/[\s/\\]/.test(name)) return { modelConfigName: name };
  const expected = 'expected the name of a file in configs/ without .pbtxt, blanks and slashes';
  throw configError(from.where, `${expected}, got ${echo(name)}`);
}

function modelSources(given: (name: string) => Written | undefined): ModelSources {
  const list = (name: string): readonly string[] => {
    const from = given(name);
    if (from === undefined) return [];
    return from.texts.map((text) =>
      localPath(from.folder, textValue({ ...from, texts: [text] }), from.where),
    );
  };
  const places = given('paths');
  const paths = (places?.texts ?? []).map((text) =>
    modelPath(
      places?.folder ?? '',
      textValue({ where: '', folder: '', ...places, texts: [text] }),
      places?.where ?? '',
    ),
  );
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
    path: localPath(base.folder, textValue(base), base.where),
  };
  const modelConfigFile = file && localPath(file.folder, textValue(file), file.where);
  const configName = modelConfigName(given('model-config-name'));
  return { paths, modelRepositories, baseModel, modelConfigFile, ...configName };
}
