// Cache folders for the engines that TensorRT builds: one for each model version and content, GPU
// and library. Control plane; pure.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { TENSORRT_WHEELS } from '../wheels.js';

export const TENSORRT = 'tensorrt';

export interface EngineOf {
  readonly model: string;
  readonly version: string;
  /** Hash of the model's file. */
  readonly content: string;
  /** Names and compute capabilities. */
  readonly gpus: readonly string[];
  /** CUDA version of the driver: 13000. */
  readonly driver: number;
}

/**
 * Options of ONNX Runtime's TensorRT provider. Timings depend only on the GPU and library, so all
 * models share them.
 */
export function engineCacheOptions(
  folder: string,
  engine: EngineOf,
): Readonly<Record<string, string>> {
  const root = join(folder, TENSORRT);
  const machine = `${tensorrtVersion()}-${digest([...engine.gpus, String(engine.driver)])}`;
  const model = engine.model.replace(/[^\w.-]/g, '_').slice(0, 80);
  const own = `${model}-${digest([engine.model])}-${engine.version}-${engine.content}`;
  return {
    trt_engine_cache_enable: '1',
    trt_engine_cache_path: join(root, own, machine),
    trt_timing_cache_enable: '1',
    trt_timing_cache_path: join(root, 'timing', machine),
  };
}

const digest = (texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 12);

const tensorrtVersion = (): string => TENSORRT_WHEELS[0]?.version ?? '';
