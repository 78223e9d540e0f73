// Models whose sessions are in processes of their own: which they are, how such a process is
// started, and how its deaths come to the log. Control plane; the thread that made the engine.
import { ErrorCode, ServalError } from '../base/errors.js';
import { PINNED_POOL_BYTES_DEFAULT } from '../base/limits.js';
import type { ModelSpec } from '../model/engine-api.js';
import { addonPath, onnxruntimeLibrary, type NativeBinding } from './binding.js';
import type { EngineLink } from './link.js';

/** How often deaths are looked for, once a model is isolated. */
const LOOK_MS = 500;

/** Of --isolate: every model that can be; and models on GPUs no longer by themselves. */
export const ISOLATE_ALL = 'all';
export const ISOLATE_NONE = 'none';
/** Models that are isolated because they run on a GPU: of each device they share a process. No
 * configuration can name it. */
const DEVICE_GROUP = '\0device';
const GPU_PROVIDERS: readonly string[] = ['cuda', 'tensorrt'];

/** A process of models that ended, or one that could not load a model again. */
export interface IsolatedDeath {
  /** Their names, with commas between. */
  readonly models: string;
  readonly reason: string;
  readonly pid: number;
  /** Until it starts again, or the model is loaded again. */
  readonly pauseMs: number;
  /** false: the process goes on, and its other models with it. */
  readonly ended: boolean;
}

/** The message and the fields of its log line. */
export function deathRecord(
  death: IsolatedDeath,
): readonly [message: string, fields: Readonly<Record<string, string | number>>] {
  const { models, reason, pid, pauseMs, ended } = death;
  if (ended)
    return ['the process of models ended', { models, reason, pid, startsAgainInMs: pauseMs }];
  const fields = { model: models, reason, pid, triedAgainInMs: pauseMs };
  return ['an isolated model was not loaded again, its process goes on', fields];
}

/** What the process runs: it needs nothing of the package but the addon. */
const PROGRAM =
  'const [addon, library, ...numbers] = process.argv.slice(1);' +
  'require(addon).runIsolated(Buffer.from(library), ...numbers.map(Number));';

export interface IsolationOptions {
  readonly onnxruntimeLibrary?: string | undefined;
  readonly intraOpThreads?: number | undefined;
  /** Of each process, where its models run on GPUs. */
  readonly pinnedPoolBytes?: number | undefined;
  /** Models' names, ISOLATE_ALL, ISOLATE_NONE. */
  readonly isolate?: readonly string[] | undefined;
  /** Whether models on GPUs are isolated by themselves; default false. */
  readonly isolatesGpus?: boolean | undefined;
}

/** Whether --isolate takes it for no model's name. */
const isWord = (name: string): boolean => name === ISOLATE_ALL || name === ISOLATE_NONE;

/** The group of a model that is to be isolated ("" = a process of its own); undefined: it is not.
 * What is asked for by name counts before what its configuration says, and that before what holds
 * for all. `isolatesGpus`: models on a GPU are isolated where nothing says otherwise.
 * Errors: InvalidArgument: it is asked for, and what runs the model can't be isolated. */
export function isolationGroup(
  spec: ModelSpec,
  isolate: readonly string[] = [],
  isolatesGpus = false,
): string | undefined {
  const { mode, group } = spec.isolation ?? { mode: undefined, group: '' };
  const named = mode === 'process' || (!isWord(spec.name) && isolate.includes(spec.name));
  if (spec.backend === 'tabular') {
    if (!named) return undefined;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `model '${spec.name}': expected no isolation, got 'process': it is served as a plan of ` +
        'columns, which runs in the server; models that ONNX Runtime runs can be isolated',
    );
  }
  if (named) return group;
  if (mode === 'none') return undefined;
  if (isolate.includes(ISOLATE_ALL)) return group;
  if (!isolatesGpus || isolate.includes(ISOLATE_NONE)) return undefined;
  const onGpu = spec.providers?.some(({ name }) => GPU_PROVIDERS.includes(name)) ?? false;
  return onGpu ? DEVICE_GROUP : undefined;
}

/** Arguments of the process, with NUL between. */
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

  /** Whether loadCall() loads it in a process apart. Errors: as there. */
  isolates(spec: ModelSpec): boolean {
    return this.#groupOf(spec) !== undefined;
  }

  #groupOf(spec: ModelSpec): string | undefined {
    const { isolate, isolatesGpus } = this.options;
    return isolationGroup(spec, isolate, isolatesGpus);
  }

  /** Tells of each death from now on. */
  follow(report: (death: IsolatedDeath) => void): void {
    this.#report = report;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#report === undefined) return;
    const text = this.link.read((native) => native.takeIsolated());
    for (const death of JSON.parse(text.toString('utf8')) as readonly IsolatedDeath[]) {
      this.#report(death);
    }
  }
}
