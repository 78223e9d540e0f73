// Models whose sessions run in separate processes: which they are, how such a process is started,
// which libraries with custom operators it may open, and how its deaths reach the log. Control
// plane; the thread that made the engine.
import { realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve, sep } from 'node:path';
import { ErrorCode, ServalError } from '../base/errors.js';
import { PINNED_POOL_BYTES_DEFAULT } from '../base/limits.js';
import { echo } from '../base/text.js';
import type { ModelSpec } from '../model/engine-api.js';
import { addonPath, onnxruntimeLibrary, type NativeBinding } from './binding.js';
import type { EngineLink } from './link.js';

/** Poll interval for deaths, once a model is isolated. */
const LOOK_MS = 500;

/**
 * Value of --isolate: every model that can be isolated; the other word: models on GPUs are no
 * longer isolated by default.
 */
export const ISOLATE_ALL = 'all';
export const ISOLATE_NONE = 'none';
/**
 * Group of models that are isolated because they run on a GPU: those of one device share a process.
 * No configuration can name it.
 */
const DEVICE_GROUP = '\0device';
const GPU_PROVIDERS: readonly string[] = ['cuda', 'tensorrt'];

/** The end of a model process, or its failure to load a model again. */
export interface IsolatedDeath {
  /** The models' names, separated by commas. */
  readonly models: string;
  readonly reason: string;
  readonly pid: number;
  /** Time until it restarts, or until the model is loaded again. */
  readonly pauseMs: number;
  /** false: the process continues with its other models. */
  readonly ended: boolean;
}

/** Returns the message and the fields of its log line. */
export function deathRecord(
  death: IsolatedDeath,
): readonly [message: string, fields: Readonly<Record<string, string | number>>] {
  const { models, reason, pid, pauseMs, ended } = death;
  if (ended)
    return ['the process of models ended', { models, reason, pid, startsAgainInMs: pauseMs }];
  const fields = { model: models, reason, pid, triedAgainInMs: pauseMs };
  return ['an isolated model was not loaded again, its process goes on', fields];
}

/** Requests of a model that waited because its process was down. */
export interface IsolatedWait {
  readonly model: string;
  readonly version: number;
  readonly waited: number;
  /** Those that were in flight when the process ended. */
  readonly retried: number;
  /** Time since the process ended. */
  readonly ms: number;
  /** false: the process failed to restart. */
  readonly returned: boolean;
}

/** Returns the message and the fields of its log line. */
export function waitRecord(
  wait: IsolatedWait,
): readonly [message: string, fields: Readonly<Record<string, string | number>>] {
  const { model, version, waited, retried, ms, returned } = wait;
  const end = returned ? 'its process runs again' : 'its process failed to restart';
  return [`requests of an isolated model waited: ${end}`, { model, version, waited, retried, ms }];
}

/** The program of the process: of the package it needs only the addon. */
const PROGRAM =
  'const [addon, library, ...numbers] = process.argv.slice(1);' +
  'require(addon).runIsolated(Buffer.from(library), ...numbers.map(Number));';

export interface IsolationOptions {
  readonly onnxruntimeLibrary?: string | undefined;
  readonly intraOpThreads?: number | undefined;
  /** For each process whose models run on GPUs. */
  readonly pinnedPoolBytes?: number | undefined;
  /** Models' names, ISOLATE_ALL, ISOLATE_NONE. */
  readonly isolate?: readonly string[] | undefined;
  /** Whether models on GPUs are isolated by default; default false. */
  readonly isolatesGpus?: boolean | undefined;
}

/** Backend -> why its models are never isolated. */
const IN_SERVER: Readonly<Partial<Record<ModelSpec['backend'], string>>> = {
  tabular: 'it is served as a plan of columns, which runs in the server',
  ensemble: 'it is an ensemble, which runs in the server',
};

/** Returns whether --isolate treats the name as a keyword, not as a model's name. */
const isWord = (name: string): boolean => name === ISOLATE_ALL || name === ISOLATE_NONE;

/**
 * Returns the group of a model to isolate ("" = a separate process for it alone); undefined: not
 * isolated. The --isolate name takes precedence over the model's configuration, which takes
 * precedence over what applies to all. `isolatesGpus`: models on a GPU are isolated unless a
 * setting says otherwise. Errors: InvalidArgument: isolation is requested for a backend that cannot
 * be isolated.
 */
export function isolationGroup(
  spec: ModelSpec,
  isolate: readonly string[] = [],
  isolatesGpus = false,
): string | undefined {
  const { mode, group } = spec.isolation ?? { mode: undefined, group: '' };
  const named = mode === 'process' || (!isWord(spec.name) && isolate.includes(spec.name));
  const inServer = IN_SERVER[spec.backend];
  if (inServer !== undefined) {
    if (!named) return undefined;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `model '${spec.name}': expected no isolation, got 'process': ${inServer}; ` +
        'models that ONNX Runtime runs can be isolated',
    );
  }
  if (named) return group;
  if (mode === 'none') return undefined;
  if (isolate.includes(ISOLATE_ALL)) return group;
  if (!isolatesGpus || isolate.includes(ISOLATE_NONE)) return undefined;
  const onGpu = spec.providers?.some(({ name }) => GPU_PROVIDERS.includes(name)) ?? false;
  return onGpu ? DEVICE_GROUP : undefined;
}

export interface LibraryRules {
  /** Absolute folders, from --operator-libraries. */
  readonly allowed: readonly string[];
  /** Whether the model runs in its own process. */
  readonly isIsolated: boolean;
}

/**
 * Returns the spec with the real paths of its libraries. A relative name is looked up in the folder
 * of the model's version, the model's folder and the allowed folders, in this order. Errors:
 * InvalidArgument naming the model: it runs in the server, no folder is allowed, a file is
 * not found, outside of the allowed folders (links resolved), or it or a folder between it and the
 * allowed one is writable by everyone. A library that is named twice is there once.
 */
export async function withLibraries(spec: ModelSpec, rules: LibraryRules): Promise<ModelSpec> {
  const { name, operatorLibraries: names = [], libraryFolders = [], ...rest } = spec;
  if (names.length === 0) return { name, ...rest };
  const refuse = (text: string): never => {
    const message = `model '${name}': model_operations: ${text}`;
    throw new ServalError(ErrorCode.InvalidArgument, message);
  };
  if (rules.allowed.length === 0) {
    refuse(
      `no operator library is allowed, got ${echo(names[0] ?? '')}: allow the folder that ` +
        'contains it with --operator-libraries=DIR',
    );
  }
  if (!rules.isIsolated) {
    refuse(
      'expected the model to be isolated, since its operator libraries are foreign code: set the parameter ' +
        `isolation: process in its config.pbtxt, or --isolate=${name}`,
    );
  }
  const allowed = await Promise.all(rules.allowed.map((folder) => realOf(folder)));
  const operatorLibraries: string[] = [];
  for (const library of names) {
    const path = await findLibrary(library, [...libraryFolders, ...rules.allowed]);
    if (path === undefined) {
      return refuse(
        `no such file: ${echo(library)}; expected an absolute path, or a file in the folder of ` +
          'the version, of the model, or of --operator-libraries',
      );
    }
    const above = allowed.filter(
      (folder) => folder !== undefined && path.startsWith(withEnd(folder)),
    );
    if (above.length === 0) {
      refuse(
        `${echo(library)} is outside of the folders of --operator-libraries (links are followed); ` +
          'move it there, or add its folder',
      );
    }
    const found = await stat(path);
    if (!found.isFile()) {
      const got = found.isDirectory() ? 'a folder' : 'a pipe, a socket or a device';
      refuse(`expected a file, got ${got}: ${echo(library)}`);
    }
    if (await anyoneMayWrite(path, Math.min(...above.map((folder = '') => folder.length)))) {
      refuse(
        'expected a file and folders, up to that of --operator-libraries, that not everyone may ' +
          `write, got ${echo(library)}`,
      );
    }
    if (!operatorLibraries.includes(path)) operatorLibraries.push(path);
  }
  return { name, ...rest, operatorLibraries };
}

/**
 * Whether the file, or a folder above it whose path has at least `lengthMin` characters, has a mode
 * that lets every user replace it.
 */
async function anyoneMayWrite(path: string, lengthMin: number): Promise<boolean> {
  const paths = [path];
  for (let one = dirname(path); one.length >= lengthMin; one = dirname(one)) {
    paths.push(one);
    if (one === dirname(one)) break;
  }
  const modes = await Promise.all(paths.map(async (one) => (await stat(one)).mode));
  return modes.some((mode) => (mode & 0o002) !== 0);
}

/** The real path of the first file with this name. */
async function findLibrary(name: string, folders: readonly string[]): Promise<string | undefined> {
  if (name === '' || name.includes('\0')) return undefined;
  const places = isAbsolute(name) ? [name] : folders.map((folder) => resolve(folder, name));
  for (const place of places) {
    const found = await realOf(place);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function realOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

const withEnd = (folder: string): string => (folder.endsWith(sep) ? folder : folder + sep);

/** Arguments of the process, separated by NUL. */
function commandOf(options: IsolationOptions): Buffer {
  const library = onnxruntimeLibrary(options.onnxruntimeLibrary);
  const { intraOpThreads = 0, pinnedPoolBytes = PINNED_POOL_BYTES_DEFAULT } = options;
  const numbers = [intraOpThreads, process.pid, pinnedPoolBytes].map(String);
  const parts = ['-e', PROGRAM, addonPath(), library, ...numbers];
  return Buffer.from([process.execPath, ...parts].join('\0'));
}

/** This thread's isolated models. */
export class Isolation {
  #command: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #report: ((death: IsolatedDeath) => void) | undefined;
  #reportWait: ((wait: IsolatedWait) => void) | undefined;

  constructor(
    private readonly link: EngineLink,
    private readonly options: IsolationOptions,
  ) {}

  /** The call that loads a model. Errors: those of isolationGroup(). */
  loadCall(spec: ModelSpec, bytes: Uint8Array): (native: NativeBinding) => number {
    const group = this.#groupOf(spec);
    if (group === undefined) return (native) => native.load(bytes);
    const command = (this.#command ??= commandOf(this.options));
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return (native) => native.loadIsolated(bytes, Buffer.from(group), command);
  }

  /** Returns whether loadCall() loads it in a separate process. Errors: as there. */
  isolates(spec: ModelSpec): boolean {
    return this.#groupOf(spec) !== undefined;
  }

  #groupOf(spec: ModelSpec): string | undefined {
    const { isolate, isolatesGpus } = this.options;
    return isolationGroup(spec, isolate, isolatesGpus);
  }

  /** Reports each death, and the requests that waited, from now on. */
  follow(report: (death: IsolatedDeath) => void, reportWait: (wait: IsolatedWait) => void): void {
    this.#report = report;
    this.#reportWait = reportWait;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#report === undefined) return;
    const text = this.link.read((native) => native.takeIsolated());
    const { deaths, waits } = JSON.parse(text.toString('utf8')) as {
      readonly deaths: readonly IsolatedDeath[];
      readonly waits: readonly IsolatedWait[];
    };
    for (const death of deaths) this.#report(death);
    for (const wait of waits) this.#reportWait?.(wait);
  }
}
