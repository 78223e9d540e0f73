// An engine with null models on this thread, and the requests that boundary tests send.
import { createEngine, type Engine, type EngineOptions } from '../../ts/native/engine.js';
import type { ModelSpec } from '../../ts/model/engine-api.js';
import { PENDING } from '../../ts/native/port.js';
import type { TensorInfo } from '../../ts/model/snapshot.js';

export function tensor(name: string, shape: readonly number[]): TensorInfo {
  const symbols = shape.map(() => '');
  return { name, datatype: 'FP32', shape, symbols, unknownRank: false };
}

/** A null model: y = x, FP32, one free dim. */
export function nullModel(name: string, change: Partial<ModelSpec> = {}): ModelSpec {
  return {
    name,
    version: '1',
    backend: 'null',
    nullMode: 'echo',
    nullSignature: {
      name: 'serving_default',
      inputs: [tensor('x', [-1])],
      outputs: [tensor('y', [-1])],
    },
    ...change,
  };
}

export async function withEngine(
  run: (engine: Engine) => Promise<void>,
  options: EngineOptions = {},
): Promise<void> {
  const engine = await createEngine(options);
  try {
    await run(engine);
  } finally {
    engine.close();
  }
}

export function bytes(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).buffer as ArrayBuffer;
}

export interface Outcome {
  readonly code: number;
  readonly text: string;
  readonly jsonBytes: number;
}

/** The outcome of a call that returned `code`, now or by completion. */
export function outcome(engine: Engine, code: number): Promise<Outcome> {
  const { port } = engine;
  if (code !== PENDING) {
    const text = port.answer().toString('latin1');
    return Promise.resolve({ code, text, jsonBytes: port.answerJsonBytes() });
  }
  return new Promise((resolve) => {
    port.expect({
      complete: (result, body, jsonBytes) =>
        resolve({ code: result, text: body.toString('latin1'), jsonBytes }),
    });
  });
}
