// The GPU that run.mjs found for the suite, and servers on it. Test time only.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../ts/base/package-files.js';
import { put } from '../e2e/support/operating.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';

export interface GpuMachine {
  /** ONNX Runtime's library, with the CUDA provider beside it. */
  readonly library: string;
  readonly providers: readonly ('cuda' | 'tensorrt')[];
  readonly devices: number;
  /** The libraries are stand-ins that the tests built: there is no GPU. */
  readonly isFake: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** Set by run.mjs; without it nothing can be tested, which is an error here. */
export function machineOf(): GpuMachine {
  const text = process.env['SERVAL_TEST_GPU'];
  assert.ok(text !== undefined, 'run by test/gpu/run.mjs: make test-gpu');
  return JSON.parse(text) as GpuMachine;
}

/**
 * The environment of a Python client with `cuda.bindings` (test/gpu/python): CUDA's libraries
 * beside ONNX Runtime's, else the loader's.
 */
export function cudaEnv(): NodeJS.ProcessEnv {
  const { library, isFake } = machineOf();
  const beside = join(dirname(library), 'libcudart.so.13');
  const driver = join(dirname(library), 'libcuda.so.1');
  return {
    PYTHONPATH: join(packageRoot(), 'test', 'gpu', 'python'),
    ...(existsSync(beside) && { SERVAL_TEST_CUDART: beside }),
    ...(existsSync(driver) && { SERVAL_TEST_LIBCUDA: driver }),
    ...(isFake && { SERVAL_TEST_CUDA_IS_FAKE: '1' }),
  };
}

/** The instance group of config.pbtxt, and the setting that enables TensorRT. */
export function onGpu(provider: 'cuda' | 'tensorrt', more = 'gpus: [ 0 ]'): string {
  const group = `instance_group { kind: KIND_GPU ${more} }`;
  if (provider === 'cuda') return group;
  return `${group} optimization { execution_accelerators {
    gpu_execution_accelerator { name: "tensorrt" } } }`;
}
export const ON_CPU = 'instance_group { kind: KIND_CPU }';

/** A temporary model repository, and a server of it. */
export class GpuServer {
  readonly root = mkdtempSync(join(tmpdir(), 'serval-gpu-'));
  readonly models = join(this.root, 'models');
  readonly #machine = machineOf();
  readonly #env: Readonly<Record<string, string>>;
  #server: ServalProcess | undefined;

  /** `env`: additional variables of the server. */
  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = env;
  }

  get server(): ServalProcess {
    assert.ok(this.#server !== undefined, 'not started');
    return this.#server;
  }

  add(name: string, bytes: Uint8Array, config: string, version = 1): void {
    put(join(this.models, name, String(version), 'model.onnx'), bytes);
    put(join(this.models, name, 'config.pbtxt'), config);
  }

  async start(...args: readonly string[]): Promise<void> {
    const { library, env } = this.#machine;
    this.#server = await startServer(
      [
        ...['--model-repository', this.models, '--onnxruntime-library', library],
        ...['--log-format', 'json', '--strict-readiness', 'false', ...args],
      ],
      { ...env, ...this.#env },
    );
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}
