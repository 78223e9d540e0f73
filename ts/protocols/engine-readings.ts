// What the engine counted, for documents: statistics of models and the text of metrics. Control
// plane; the thread whose port it reads.
import { ErrorCode, ServalError } from '../errors.js';
import type { EngineStats } from '../model/engine-api.js';
import { PENDING, type CompletionTarget, type EnginePort } from '../native/port.js';

/** The engine as documents use it. */
export interface EngineReadings {
  /** Statistics of the models with these handles. */
  stats(handles: readonly number[]): Promise<EngineStats>;
  /** Prometheus text: TRITON_METRICS or TENSORFLOW_METRICS of ts/native/port.ts. */
  metrics(kind: number): Promise<Buffer>;
}

function thrown(code: number, body: Buffer): ServalError {
  return new ServalError(code as ErrorCode, body.toString('utf8'));
}

class WaitingText implements CompletionTarget {
  constructor(
    private readonly resolve: (text: Buffer) => void,
    private readonly reject: (error: ServalError) => void,
  ) {}

  complete(code: number, body: Buffer): void {
    if (code === ErrorCode.Ok) this.resolve(Buffer.from(body));
    else this.reject(thrown(code, body));
  }
}

export class PortReadings implements EngineReadings {
  readonly #port: EnginePort;

  constructor(port: EnginePort) {
    this.#port = port;
  }

  async stats(handles: readonly number[]): Promise<EngineStats> {
    const code = this.#port.native.stats(Uint32Array.from(handles));
    const answer = Buffer.from(this.#port.answer());
    if (code !== ErrorCode.Ok) throw thrown(code, answer);
    // Loaded when first asked for: a listener that is never asked does without it.
    const { readStats } = await import('../native/flat.js');
    return readStats(answer);
  }

  metrics(kind: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const target = new WaitingText(resolve, reject);
      const code = this.#port.native.metrics(kind);
      if (code === PENDING) this.#port.expect(target);
      else target.complete(code, this.#port.answer());
    });
  }
}
