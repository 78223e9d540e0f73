// The engine's control calls where models may run on GPUs: load() chooses providers where
// --providers leaves that to it, and gives TensorRT folders for what it builds. Control plane, main
// thread; without a GPU's libraries a load costs one look at its providers.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ErrorCode, reasonOf, ServalError } from '../../base/errors.js';
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
import { engineCacheOptions, TENSORRT } from './tensorrt-cache.js';

export interface PlacingOptions {
  /** ONNX Runtime's library that is in use. */
  readonly runtime: string;
  /** --model-cache; "" = none. */
  readonly cacheFolder: string;
  /** --cuda-graphs; default false. */
  readonly cudaGraphs?: boolean;
  readonly binding: Pick<NativeBinding, 'probeDriver' | 'probeLibrary' | 'lockFile'>;
}

/** What probeDriver() answers. */
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

/** `engine` with a load() that places models. */
export function placingEngine(engine: EngineControl, options: PlacingOptions): EngineControl {
  const machine = new Machine(options);
  const load = async (spec: ModelSpec): Promise<LoadedModel> => {
    if (spec.plan !== undefined) {
      refuseGraphs(spec.providers ?? []);
      const { loadPlan } = await import('./plan/load.js');
      const { cacheFolder, binding } = options;
      return loadPlan(engine, spec, () => machine.facts(), cacheFolder, binding);
    }
    const placed = choosesItself(spec, machine.isReady())
      ? place(spec, machine.facts(), await contextOf(spec))
      : undefined;
    const providers = placed?.providers ?? spec.providers ?? [];
    refuseGraphs(providers);
    if (placed === undefined && !providers.some(({ name }) => name === TENSORRT)) {
      return loadWithGraphs(engine, spec, options.cudaGraphs);
    }
    const cached = await withCache({ ...spec, providers }, machine, options.cacheFolder);
    const loaded = await loadWithGraphs(engine, cached, options.cudaGraphs);
    return placed === undefined ? loaded : { ...loaded, placed: told(placed) };
  };
  return withLoad(engine, load);
}

/** What of an ONNX file a provider compiled beforehand. */
async function contextOf(spec: ModelSpec): Promise<ContextNode | undefined> {
  const { backend, path = '', importer, graphs = [] } = spec;
  const isFile = backend === 'onnxruntime' && importer === undefined && graphs.length === 0;
  if (!isFile || path === '') return undefined;
  const { findContextNode } = await import('../../importers/onnx/context-node.js');
  return findContextNode(path);
}

/** With --cuda-graphs a model on a GPU has them where it can, and a note where it cannot: nobody
 * asked for this one by name. */
async function loadWithGraphs(
  engine: EngineControl,
  spec: ModelSpec,
  graphs = false,
): Promise<LoadedModel> {
  const onGpu = spec.providers?.some(({ name }) => name === TENSORRT || name === 'cuda') ?? false;
  if (!graphs || !onGpu || spec.graphRows !== undefined) return engine.load(spec);
  const { batch } = spec;
  const graphRows = usualGraphRows(batch?.rowsMax ?? 0);
  const pads = batch?.mode === 'on' && batch.allowedRows.length === 0;
  const padded = pads ? { batch: { ...batch, allowedRows: graphRows } } : {};
  try {
    return await engine.load({ ...spec, ...padded, graphRows });
  } catch (error) {
    const loaded = await engine.load(spec);
    return { ...loaded, notes: [...(loaded.notes ?? []), `no CUDA graphs: ${reasonOf(error)}`] };
  }
}

/** Options that ask for CUDA graphs, which replay a run at the addresses that it had. */
const GRAPH_OPTIONS = ['enable_cuda_graph', 'trt_cuda_graph_enable'];

/** Errors: InvalidArgument: the option alone would record runs without memory of their own, and
 * replay one with another request's inputs. */
function refuseGraphs(providers: readonly ProviderOptions[]): void {
  for (const { name, options } of providers) {
    const asked = GRAPH_OPTIONS.find((key) =>
      ['1', 'true'].includes(options[key]?.toLowerCase() ?? ''),
    );
    if (asked === undefined) continue;
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `provider ${name}: expected no ${asked}, got 1: ask for CUDA graphs by optimization { cuda { graphs: true } } or --cuda-graphs`,
    );
  }
}

const told = ({ on, why }: Placed): NonNullable<LoadedModel['placed']> => ({ providers: on, why });

/** What is found of the machine, once, when it is first asked for. */
class Machine {
  readonly #options: PlacingOptions;
  #ready: boolean | undefined;
  #probe: DriverProbe | undefined;
  #facts: GpuFacts | undefined;

  constructor(options: PlacingOptions) {
    this.#options = options;
  }

  /** Whether ONNX Runtime's CUDA provider lies beside it. */
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

  #obstacle(): string {
    if (!this.isReady()) return 'ONNX Runtime here has no CUDA provider: serval gpu install';
    const { library, devices, version } = this.probe();
    if (library !== '') return 'no driver of NVIDIA is installed';
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

/** Engines are for one GPU, one TensorRT and one content of the model's file. */
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
    if (path !== undefined) await mkdir(path, { recursive: true, mode: 0o700 });
  }
  const own = providers.map((one) => (one.name === TENSORRT ? withOptions(one, options) : one));
  return { ...spec, providers: own };
}

/** The server's options beneath those of the provider. */
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
