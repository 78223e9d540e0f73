// An engine with null models on this thread, and the requests that boundary tests send.
import { createEngine, type Engine, type EngineOptions } from '../../ts/engine/engine.js';
import type { ModelSpec } from '../../ts/model/engine-api.js';
import type { CompletionTarget, EngineLink } from '../../ts/engine/link.js';
import type { TensorInfo } from '../../ts/model/snapshot.js';

export function tensor(name: string, shape: readonly number[]): TensorInfo {
  const symbols = shape.map(() => '');
  return { name, datatype: 'FP32', shape, symbols, unknownRank: false };
}

/** A null model: y = x, FP32, one free dimension. */
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

/** A request of a test. */
export class Asked implements CompletionTarget {
  ticket = 0;
  /** Its outcome, as soon as there is one. */
  outcome: Outcome | undefined;
  #settle: (outcome: Outcome) => void = () => undefined;
  readonly settled = new Promise<Outcome>((resolve) => {
    this.#settle = resolve;
  });

  complete(code: number, body: Buffer, jsonBytes: number): void {
    this.outcome = { code, text: body.toString('latin1'), jsonBytes };
    this.#settle(this.outcome);
  }
}

/** Sends a whole body; returns its outcome, at once or by completion. */
export function inferred(
  link: EngineLink,
  protocol: number,
  handle: number,
  body: ArrayBuffer,
  jsonBytes = -1,
): Promise<Outcome> {
  const asked = new Asked();
  link.infer(protocol, handle, body, jsonBytes, asked);
  return asked.settled;
}
