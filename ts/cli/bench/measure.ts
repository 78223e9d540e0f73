// Measures a model: opens the target, and runs workloads one after the other. Used by the command,
// the settings search and tests. Control plane, main thread.
import { availableParallelism } from 'node:os';
import { elementCount } from '../../model/shape.js';
import { configError } from '../../config/values/values.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { Inputs } from '../../library/types.js';
import { BENCH_CALL_MS, BENCH_ELEMENTS_MAX } from '../../base/limits.js';
import { randomInputs, randomNumbers, readInputs, type Row } from '../predict/inputs.js';
import { Load } from './load/load.js';
import type { LoadRequest } from './load/sender.js';
import { callOf } from './paths.js';
import { loadRequest } from './request/bodies.js';
import { hasRows, shapedInfos } from './request/rows.js';
import { grpcCall } from './endpoint/grpc-call.js';
import { httpCall } from './endpoint/http-call.js';
import { openTarget, type BenchTarget, type TargetChoice } from './endpoint/endpoint.js';
import type { BenchPath, BenchWorkload, BenchPoint, Measure } from './types.js';

export interface MeasureOptions extends TargetChoice {
  /** --input; inputs without a value are random. */
  readonly inputs: readonly string[];
  /** --shape */
  readonly shapes: readonly string[];
  readonly seed: number;
  /** Threads that send; 0 = chosen by the machine. */
  readonly threads: number;
  readonly arrivals: 'poisson' | 'constant';
}

/** A model that can be measured until close(). */
export interface Bench {
  readonly model: { readonly name: string; readonly version: string; readonly platform: string };
  readonly server: string;
  /** Paths that can be measured. */
  readonly paths: readonly BenchPath[];
  /** Whether requests have rows: otherwise workloads have batch 0. */
  readonly hasRows: boolean;
  readonly measure: Measure;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Number of random rows: larger requests repeat them. */
const DRAWN_ROWS = 64;
/** Fewer rows if they are large. */
const DRAWN_ELEMENTS = 2_097_152;
/** How long to wait for responses at the end. */
const GRACE_MS_MIN = 5000;
const GRACE_MS_MAX = 30_000;
const AUTO_THREADS_MAX = 4;

interface OpenLoad {
  readonly path: BenchPath;
  readonly threads: number;
  readonly load: Load;
}

/** Errors: InvalidArgument; the server's error about the model; ModelNotReady: no server. */
export async function measureOf(options: MeasureOptions): Promise<Bench> {
  const target = await openTarget(options);
  try {
    return new Measuring(target, options);
  } catch (error) {
    await target.close();
    throw error;
  }
}

class Measuring implements Bench {
  readonly model: Bench['model'];
  readonly server: string;
  readonly paths: readonly BenchPath[];
  readonly hasRows: boolean;
  readonly #target: BenchTarget;
  readonly #options: MeasureOptions;
  readonly #values: Inputs | readonly Row[];
  readonly #requests = new Map<string, LoadRequest>();
  /** Only one path's threads at a time, so that an idle model uses no resources. */
  #load: OpenLoad | undefined;

  constructor(target: BenchTarget, options: MeasureOptions) {
    const { name, version, platform, server, paths } = target;
    this.model = { name, version, platform };
    this.server = server;
    this.paths = paths;
    this.#target = target;
    this.#options = options;
    const { isTable, inputs } = target;
    const shaped = isTable ? inputs : shapedInfos(inputs, options.shapes);
    this.hasRows = isTable || hasRows(shaped);
    this.#values = valuesOf({ inputs: shaped, isTable }, options, this.hasRows);
  }

  readonly measure: Measure = async (workload) => {
    const { path, batch } = workload;
    if (!this.paths.includes(path)) {
      const text = `${this.server}: '${path}' cannot be measured there`;
      throw new ServalError(ErrorCode.InvalidArgument, text);
    }
    if (batch > 0 && !this.hasRows) {
      throw configError('--batch', `model '${this.model.name}' has no dynamic first dimension`);
    }
    const request = await this.#request(path, batch);
    const { load, threads } = await this.#loadOf(path, workload);
    return this.#run(workload, request, load, threads);
  };

  async close(): Promise<void> {
    await this.#load?.load.close();
    await this.#target.close();
  }

  async #run(
    workload: BenchWorkload,
    request: LoadRequest,
    load: Load,
    threads: number,
  ): Promise<BenchPoint> {
    const { loop, concurrency, rate, seconds, warmupSeconds, batch, path } = workload;
    const measureMs = seconds * 1000;
    const usage = new Usage(() => this.#target.cpuSeconds());
    const { arrivals, seed } = this.#options;
    const total = await load.run(
      request,
      {
        loop,
        concurrency: loop === 'closed' ? concurrency : threads,
        rate,
        warmupMs: warmupSeconds * 1000,
        measureMs,
        graceMs: Math.min(GRACE_MS_MAX, Math.max(GRACE_MS_MIN, measureMs)),
        arrivals,
        seed,
      },
      (begins) => usage.take(begins),
    );
    const { answered, failed, firstError, latencies, late, busyThreads } = total;
    const requestsPerSecond = answered / seconds;
    const own = path === 'engine' ? usage.ofEngine(busyThreads) : usage.ofServer();
    return {
      ...workload,
      answered,
      failed,
      ...(firstError !== undefined && { firstError }),
      requestsPerSecond,
      rowsPerSecond: requestsPerSecond * Math.max(1, batch),
      latency: latencies.latency(),
      ...(loop === 'open' && { lateMicroseconds: late.quantile(0.5) }),
      ...own,
    };
  }

  /** Sent once on its own first, so that a refusal is reported in full. */
  async #request(path: BenchPath, batch: number): Promise<LoadRequest> {
    const key = `${path} ${batch}`;
    const known = this.#requests.get(key);
    if (known !== undefined) return known;
    const place = this.#target.place(path);
    const { inputs, isTable, rowsOut } = this.#target;
    const model = { inputs, isTable, rowsOut };
    const request = loadRequest(path, { model, values: this.#values, batch, place });
    if (place !== undefined) await probe(this.#target, path, request);
    // Keeps only the last one: they may be large.
    this.#requests.clear();
    this.#requests.set(key, request);
    return request;
  }

  async #loadOf(path: BenchPath, workload: BenchWorkload): Promise<OpenLoad> {
    const threads = path === 'engine' ? 1 : this.#options.threads || threadsFor(workload);
    const open = this.#load;
    if (open !== undefined && open.path === path && open.threads >= threads) return open;
    this.#load = undefined;
    await open?.load.close();
    const next = { path, threads, load: new Load(this.#target.load(path), threads) };
    this.#load = next;
    return next;
  }
}

/** One to four cores, if there is enough work: the client must not compete with the server. */
function threadsFor({ loop, concurrency }: BenchWorkload): number {
  const most = Math.min(AUTO_THREADS_MAX, Math.max(1, Math.floor(availableParallelism() / 4)));
  return loop === 'open' ? most : Math.min(most, concurrency);
}

/** Errors: the server's error about the request. */
async function probe(target: BenchTarget, path: BenchPath, request: LoadRequest): Promise<void> {
  const place = target.place(path);
  const load = target.load(path);
  if (place === undefined || load.kind === 'engine') return;
  const { host, port, isTls, isHttp2 = false, headers } = place;
  const { tlsCa } = load;
  if (load.kind === 'grpc') {
    await grpcCall({ host, port, tlsCa, headers }, callOf(path), request.body);
    return;
  }
  await httpCall({
    host,
    port,
    isTls,
    isHttp2,
    tlsCa: tlsCa ?? '',
    path: request.path,
    headers: Object.fromEntries(request.fields),
    timeoutMs: BENCH_CALL_MS,
    body: request.body,
  });
}

/** Errors: InvalidArgument: bad texts and files. */
function valuesOf(
  { inputs, isTable }: Pick<BenchTarget, 'inputs' | 'isTable'>,
  { inputs: texts, seed }: MeasureOptions,
  withRows: boolean,
): Inputs | readonly Row[] {
  const given = readInputs(texts, inputs, process.cwd());
  if (Array.isArray(given)) return given as readonly Row[];
  const shaped = inputs.filter((one) => !Object.hasOwn(given, one.name));
  const elements = shaped.reduce((sum, { shape }) => {
    return sum + elementCount(shape.map((dim) => Math.max(1, dim)));
  }, 0);
  if (elements > BENCH_ELEMENTS_MAX) {
    const text = `expected at most ${BENCH_ELEMENTS_MAX} random values in a row, got ${elements}`;
    throw configError('--shape', text);
  }
  const fitting = Math.floor(DRAWN_ELEMENTS / Math.max(1, elements));
  const rows = Math.max(1, Math.min(DRAWN_ROWS, fitting));
  const next = randomNumbers(seed);
  const drawn = randomInputs(shaped, { rows: withRows ? rows : 1, next, isTable });
  return { ...drawn, ...(given as Inputs) };
}

/** Cores that were busy in the measured time. */
class Usage {
  readonly #server: () => number | undefined;
  #began = 0;
  #seconds = 1;
  #ownBegan: NodeJS.CpuUsage = { user: 0, system: 0 };
  #ownCores = 0;
  #serverBegan: number | undefined;
  #serverCores: number | undefined;

  constructor(server: () => number | undefined) {
    this.#server = server;
  }

  take(begins: boolean): void {
    const at = performance.now();
    const server = this.#server();
    if (begins) {
      this.#began = at;
      this.#ownBegan = process.cpuUsage();
      this.#serverBegan = server;
      return;
    }
    this.#seconds = Math.max(0.001, (at - this.#began) / 1000);
    const { user, system } = process.cpuUsage(this.#ownBegan);
    this.#ownCores = (user + system) / 1e6 / this.#seconds;
    if (server !== undefined && this.#serverBegan !== undefined) {
      this.#serverCores = (server - this.#serverBegan) / this.#seconds;
    }
  }

  ofServer(): Pick<BenchPoint, 'clientCores' | 'serverCores'> {
    const server = this.#serverCores === undefined ? {} : { serverCores: this.#serverCores };
    return { clientCores: this.#ownCores, ...server };
  }

  /** All in one process: the calling thread, which runs small models itself, and the others. */
  ofEngine(busyThreads: number): Pick<BenchPoint, 'clientCores' | 'serverCores'> {
    return { clientCores: busyThreads, serverCores: Math.max(0, this.#ownCores - busyThreads) };
  }
}
