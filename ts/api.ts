// The API of `import 'serval'`: a server inside the calling process, with the settings of `serval
// serve` as options, or a model without a server. Control plane, the caller's thread.
// scripts/packaging/write-types.mjs generates its declarations from the table of flags.
import type { FlagRow } from './config/values/flag-row.js';
import { findFlag, nearestFlag } from './config/flags.js';
import { configOf, type Config } from './config/config.js';
import { configError } from './config/values/values.js';
import { echo, nearWord } from './base/text.js';
import type { Written } from './config/values/values.js';
import type { Model } from './library/load-model.js';
import { startServer as start, type CutLog, type RunningServer } from './server/server.js';

export { ErrorCode, ServalError } from './base/errors.js';
export type { Model } from './library/load-model.js';

/**
 * Keyed by the flags' names in camelCase: numbers, booleans, texts; lists if a flag may be
 * repeated.
 */
export type ServeOptions = Readonly<Record<string, unknown>>;

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server {
  /** Port 0 if `allowHttp` is false; the same for gRPC. */
  readonly http: Address;
  readonly grpc: Address;
  /** Whether every model is available. */
  readonly ready: boolean;
  /**
   * Stops accepting, finishes running requests within `drainSeconds`, closes every connection and
   * ends the threads. Settles with what was cut off: undefined if nothing was.
   */
  stop(): Promise<CutLog | undefined>;
}

const CALL = 'startServer';
const LISTS = new Set(['path-list', 'text-list']);

/** "httpPort" of "http-port". */
export function optionName(row: Pick<FlagRow, 'name'>): string {
  return row.name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Selects a model and how it runs: `name`, `version`, `signature`, and the settings of `serval
 * serve` that apply to a single model.
 */
export type ModelOptions = Readonly<Record<string, unknown>>;

function optionTexts(row: FlagRow, value: unknown, where: string): readonly string[] {
  const { kind } = row.type;
  if (LISTS.has(kind) && Array.isArray(value)) {
    return value.flatMap((one) => optionTexts(row, one, where));
  }
  const wanted = kind === 'int' ? 'number' : kind === 'bool' ? 'boolean' : 'string';
  const mayBeNumber = kind === 'size' || kind === 'int-or-auto';
  const fits = typeof value === wanted || (mayBeNumber && typeof value === 'number');
  if (!fits) throw configError(where, `expected a ${wanted}, got ${typeof value}`);
  return [String(value)];
}

/**
 * The options as settings by flag name; undefined values are omitted. Errors: InvalidArgument: an
 * unknown option (names the nearest), a value of another type.
 */
export function optionSettings(
  options: ServeOptions,
  folder: string,
  call = CALL,
): Map<string, Written> {
  const settings = new Map<string, Written>();
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const row = findFlag(name);
    if (row === undefined || optionName(row) !== name) {
      const nearest = findFlag(nearestFlag(name) ?? '');
      const named = nearest === undefined ? '' : `; did you mean ${optionName(nearest)}?`;
      throw configError(call, `unknown option ${echo(name)}${named}`);
    }
    const where = `${call}: ${name}`;
    settings.set(row.name, { where, texts: optionTexts(row, value, where), folder });
  }
  return settings;
}

/** A process has one engine, and one server. */
let taken = false;

/**
 * Starts a server in this process; settles when it listens and every model is loaded or has failed.
 * Relative paths are relative to the working directory. Rejects with an Error that names the
 * option, the port or the path, or if a server already runs here.
 */
export async function startServer(options: ServeOptions): Promise<Server> {
  const cwd = process.cwd();
  const config = await configOf(optionSettings(options, cwd), cwd);
  if (taken) throw configError(CALL, 'expected one server at a time: stop() the running one first');
  taken = true;
  try {
    return serverOf(config, await start(config));
  } catch (error) {
    taken = false;
    throw error;
  }
}

function serverOf(
  { host, grpcHost }: Pick<Config, 'host' | 'grpcHost'>,
  server: RunningServer,
): Server {
  const stop = async (): Promise<CutLog | undefined> => {
    const cut = await server.drain();
    server.close();
    taken = false;
    return cut;
  };
  let stopped: ReturnType<typeof stop> | undefined;
  return {
    http: { host, port: server.httpPort ?? 0 },
    grpc: { host: grpcHost, port: server.grpcPort ?? 0 },
    get ready() {
      return server.snapshot().ready;
    },
    stop: () => (stopped ??= stop()),
  };
}

const LOAD_CALL = 'loadModel';
const CHOICES = ['name', 'version', 'signature'] as const;

/**
 * Loads the model at a path (anything that `serval serve PATH` accepts, in any format) into this
 * process, for `infer()`: no server, no socket. Options: `name`, if the path contains several
 * models, `version`, `signature`, and the settings of MODEL_SETTINGS in camelCase. Several models
 * may be loaded at a time, also beside a server; threads and the memory limit belong to the process
 * and are set by its first user. Rejects with ServalError: InvalidArgument, ModelNotFound,
 * ModelInvalid, RuntimeUnavailable.
 */
export async function loadModel(path: string, options: ModelOptions = {}): Promise<Model> {
  if (typeof path !== 'string') {
    throw configError(LOAD_CALL, `expected the path of a model, got ${typeof path}`);
  }
  const { MODEL_SETTINGS } = await import('./library/settings.js');
  const { name, version, signature, ...rest } = options;
  const choice = { name, version, signature };
  for (const [key, value] of Object.entries(choice)) {
    if (value === undefined || typeof value === 'string') continue;
    throw configError(`${LOAD_CALL}: ${key}`, `expected a string, got ${typeof value}`);
  }
  const settings = optionSettings({ logLevel: 'error', ...rest }, process.cwd(), LOAD_CALL);
  for (const key of settings.keys()) {
    if (MODEL_SETTINGS.includes(key)) continue;
    const known = MODEL_SETTINGS.map((one) => optionName({ name: one }));
    const nearest = nearWord(key, [...CHOICES, ...known]);
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    const what = `${echo(key)} is an option of startServer${hint}`;
    throw configError(LOAD_CALL, what);
  }
  const { loadModelWith } = await import('./library/load-model.js');
  return loadModelWith(path, choice as Partial<Record<(typeof CHOICES)[number], string>>, settings);
}
