// The engine's control calls for models that may run on GPUs: load() chooses providers if
// --providers leaves that open, and gives TensorRT cache folders for the engines it builds. Control
// plane, main thread; without GPU libraries a load costs one check of its providers.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OWN_FOLDER_MODE } from '../../base/own-file.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { usualGraphRows } from '../config/graph-rows.js';
import type {
  EngineControl,
  LoadedModel,
  ModelSpec,
  ProviderOptions,
} from '../../model/engine-api.js';
import type { NativeBinding } from '../../engine/binding.js';
import { withLoad } from '../../model/with-load.js';
import type { ContextNode } from '../../importers/onnx/context-node.js';
import { DRIVER_NAME_MIN, DRIVER_VERSION_MIN } from './libraries.js';
import { choosesItself, place, type GpuFacts, type Placed } from './placement.js';
import { engineCacheOptions, TENSORRT } from './tensorrt/cache.js';

export interface PlacingOptions {
  /** Path of the ONNX Runtime library in use. */
  readonly runtime: string;
  /** --model-cache; "" = none. */
  readonly cacheFolder: string;
  /** --cuda-graphs; default true. */
  readonly cudaGraphs?: boolean;
  readonly binding: Pick<NativeBinding, 'probeDriver' | 'probeLibrary' | 'lockFile'>;
}

/** Result of probeDriver(). */
export interface DriverProbe {
  readonly library: string;
  readonly init: number;
  readonly version: number;
  readonly devices: readonly {
    readonly name: string;
    readonly memory: number;
    readonly major: number;
    readonly minor: number;
  }[];
}

/** Wraps `engine` with a load() that places models. */
export function placingEngine(engine: EngineControl, options: PlacingOptions): EngineControl {
  const machine = new Machine(options);
  const load = async (spec: ModelSpec): Promise<LoadedModel> => {
    if (spec.backend === 'ensemble') return engine.load(spec); // its steps have devices
    if (spec.tensorRt !== undefined) {
      refuseGraphs(spec.providers ?? []);
      const { loadTensorRt } = await import('./tensorrt/load.js');
      const { cacheFolder, binding } = options;
      return loadTensorRt(engine, spec, () => machine.facts(), cacheFolder, binding);
    }
    const placed = choosesItself(spec, machine.isReady())
      ? place(spec, machine.facts(), await contextOf(spec))
      : undefined;
    const providers = placed?.providers ?? spec.providers ?? [];
    const advise = (error: unknown): never => {
      throw onGpu(providers) ? withAdvice(error, machine.advice()) : error;
    };
    refuseGraphs(providers);
    if (placed === undefined && !providers.some(({ name }) => name === TENSORRT)) {
      return engine.load(withGraphs(spec, options.cudaGraphs)).catch(advise);
    }
    const cached = await withCache({ ...spec, providers }, machine, options.cacheFolder);
    const loaded = await engine.load(withGraphs(cached, options.cudaGraphs)).catch(advise);
    return placed === undefined ? loaded : { ...loaded, placed: told(placed) };
  };
  return withLoad(engine, load);
}

const onGpu = (providers: readonly ProviderOptions[]): boolean =>
  providers.some(({ name }) => name === TENSORRT || name === 'cuda');

/** The error of a load on a GPU, with what this machine lacks for it. */
function withAdvice(error: unknown, advice: string): unknown {
  if (advice === '' || !(error instanceof ServalError)) return error;
  return new ServalError(error.code, `${error.message}; ${advice}`);
}

/** The nodes of an ONNX file that a provider compiled beforehand. */
async function contextOf(spec: ModelSpec): Promise<ContextNode | undefined> {
  const { backend, path = '', importer, graphs = [] } = spec;
  const isFile = backend === 'onnxruntime' && importer === undefined && graphs.length === 0;
  if (!isFile || path === '') return undefined;
  const { findContextNode } = await import('../../importers/onnx/context-node.js');
  return findContextNode(path);
}

/**
 * A model on CUDA whose configuration does not mention graphs gets them if it can and if they pay:
 * runs of a session with graphs exclude each other, so several instances that do not batch are
 * faster without.
 */
function withGraphs(spec: ModelSpec, graphs = true): ModelSpec {
  const { batch, instances = 1, devices = [], providers = [] } = spec;
  if (!graphs || spec.graphRows !== undefined || providers[0]?.name !== 'cuda') return spec;
  const batches = batch !== undefined && batch.mode !== 'off' && batch.rowsMax > 1;
  if (!batches && instances > Math.max(1, devices.length)) return spec;
  return { ...spec, graphRows: usualGraphRows(batch?.rowsMax ?? 0), graphUse: 'known' };
}

/** Options that enable CUDA graphs, which replay a run at the memory addresses of its capture. */
const GRAPH_OPTIONS = ['enable_cuda_graph', 'trt_cuda_graph_enable'];

/**
 * Errors: InvalidArgument: the bare option would capture runs without dedicated memory and replay
 * one with another request's inputs.
 */
function refuseGraphs(providers: readonly ProviderOptions[]): void {
  for (const { name, options } of providers) {
    const asked = GRAPH_OPTIONS.find((key) =>
      ['1', 'true'].includes(options[key]?.toLowerCase() ?? ''),
    );
    if (asked === undefined) continue;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `provider ${name}: expected no ${asked}, got 1: enable CUDA graphs with optimization { cuda { graphs: true } }`,
    );
  }
}

const told = ({ on, why }: Placed): NonNullable<LoadedModel['placed']> => ({ providers: on, why });

const NO_CUDA_PROVIDER =
  'this ONNX Runtime has no CUDA provider: `serval gpu install` downloads it with its libraries, ' +
  '`serval gpu adopt` uses those of this machine';

/** Facts about the machine, probed once at first use. */
class Machine {
  readonly #options: PlacingOptions;
  #ready: boolean | undefined;
  #probe: DriverProbe | undefined;
  #facts: GpuFacts | undefined;

  constructor(options: PlacingOptions) {
    this.#options = options;
  }

  /** Whether ONNX Runtime's CUDA provider is beside it. */
  isReady(): boolean {
    return (this.#ready ??= existsSync(this.#beside('libonnxruntime_providers_cuda.so')));
  }

  facts(): GpuFacts {
    return (this.#facts ??= {
      devices: this.isReady() ? this.probe().devices.length : 0,
      obstacle: this.#obstacle(),
      tensorrt: this.#hasTensorrt(),
    });
  }

  probe(): DriverProbe {
    return (this.#probe ??= JSON.parse(this.#options.binding.probeDriver()) as DriverProbe);
  }

  /** The obstacle to models on GPUs and its remedy; "" if there is none. */
  advice(): string {
    const driver = this.#driverObstacle();
    const libraries = this.isReady() ? '' : NO_CUDA_PROVIDER;
    return [driver, libraries].filter((one) => one !== '').join('; ');
  }

  #obstacle(): string {
    if (!this.isReady()) return 'this ONNX Runtime has no CUDA provider: serval gpu install';
    return this.#driverObstacle();
  }

  #driverObstacle(): string {
    const { library, devices, version } = this.probe();
    if (library !== '') return 'no NVIDIA driver is installed';
    if (devices.length === 0) return 'the driver finds no GPU';
    if (version >= DRIVER_VERSION_MIN) return '';
    return `the driver is older than ${DRIVER_NAME_MIN}`;
  }

  #hasTensorrt(): boolean {
    if (!existsSync(this.#beside('libonnxruntime_providers_tensorrt.so'))) return false;
    if (existsSync(this.#beside('libnvinfer.so.10'))) return true;
    return this.#options.binding.probeLibrary(Buffer.from('libnvinfer.so.10')) === '';
  }

  #beside(name: string): string {
    return join(dirname(this.#options.runtime), name);
  }
}

/**
 * Cached engines are valid for one GPU, one TensorRT version and one content of the model's file.
 */
async function withCache(spec: ModelSpec, machine: Machine, folder: string): Promise<ModelSpec> {
  const { providers = [] } = spec;
  if (folder === '' || !providers.some(({ name }) => name === TENSORRT)) return spec;
  const { devices, version } = machine.probe();
  const gpus = devices.map(({ name, major, minor }) => `${name} ${major}.${minor}`);
  const { size, mtimeMs } = (await stat(spec.path ?? '').catch(() => undefined)) ?? {};
  const content = createHash('sha256').update(JSON.stringify([spec.path, size, mtimeMs]));
  const options = engineCacheOptions(folder, {
    model: spec.name,
    version: spec.version,
    content: content.digest('hex').slice(0, 16),
    gpus,
    driver: version,
  });
  for (const path of [options['trt_engine_cache_path'], options['trt_timing_cache_path']]) {
    if (path !== undefined) await mkdir(path, { recursive: true, mode: OWN_FOLDER_MODE });
  }
  const own = providers.map((one) => (one.name === TENSORRT ? withOptions(one, options) : one));
  return { ...spec, providers: own };
}

/** Adds the server's options; those of the provider override them. */
function withOptions(
  provider: ProviderOptions,
  options: Readonly<Record<string, string>>,
): ProviderOptions {
  const added = Object.keys(options).filter((name) => !Object.hasOwn(provider.options, name));
  return {
    ...provider,
    options: { ...options, ...provider.options },
    setByServer: [...(provider.setByServer ?? []), ...added],
  };
}
