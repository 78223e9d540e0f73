// The engine's control calls as promises over tickets. Control plane; the thread that made it.
import { Builder, ByteBuffer } from 'flatbuffers';
import { ErrorCode, ServalError } from '../errors.js';
import type {
  EngineControl,
  EngineStats,
  LoadedModel,
  ModelRoute,
  ModelSpec,
} from '../model/engine-api.js';
import { readError } from './missing.js';
import { readModelInfo, readStats, writeModelSpec, writeRoutes } from './flat.js';
import { openPort, type EngineOptions } from './open-port.js';
import { PENDING, type CompletionTarget, type EnginePort } from './port.js';
import type { MessageProtocol } from '../model/request-kinds.js';

/** This thread's part of the engine. */
export interface Engine {
  readonly port: EnginePort;
  readonly control: EngineControl;
  close(): void;
}

/** Settles a promise from a completion. */
class Settle<T> implements CompletionTarget {
  constructor(
    private readonly resolve: (value: T) => void,
    private readonly reject: (error: ServalError) => void,
    private readonly read: (bytes: Buffer) => T,
  ) {}

  complete(code: number, body: Buffer, jsonBytes: number): void {
    if (code === ErrorCode.Ok) {
      this.resolve(this.read(Buffer.from(body)));
      return;
    }
    const error = readError(code, body, jsonBytes); // a warm-up's signature may be missing
    this.reject(new ServalError(error.code, error.message));
  }
}

class NativeControl implements EngineControl {
  constructor(private readonly port: EnginePort) {}

  // async: what the writer refuses becomes a rejection too.
  async load(spec: ModelSpec): Promise<LoadedModel> {
    return this.#later(this.port.native.load(writeModelSpec(new Builder(512), spec)), (bytes) =>
      readModelInfo(new ByteBuffer(bytes)),
    );
  }

  unload(handle: number): Promise<void> {
    return this.#later(this.port.native.unload(handle), () => undefined);
  }

  publishRoutes(
    epoch: number,
    models: readonly ModelRoute[],
    removed: readonly string[] = [],
  ): void {
    const table = writeRoutes(new Builder(1024), epoch, models, removed);
    this.#check(this.port.native.publishRoutes(table));
  }

  async warmUp(
    handle: number,
    protocol: MessageProtocol,
    message: Uint8Array,
    signal?: AbortSignal,
  ): Promise<void> {
    const code = this.port.native.warmUp(handle, protocol, message);
    const ticket = this.port.ticket();
    const done = this.#later(code, () => undefined);
    if (signal === undefined || code !== PENDING) return done;
    const end = (): void => void this.port.cancel(ticket);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
    return done.finally(() => signal.removeEventListener('abort', end));
  }

  stats(handles: readonly number[] = []): EngineStats {
    this.#check(this.port.native.stats(Uint32Array.from(handles)));
    return readStats(new ByteBuffer(Buffer.from(this.port.answer())));
  }

  #check(code: number): void {
    if (code === ErrorCode.Ok) return;
    throw new ServalError(code as ErrorCode, this.port.answer().toString('utf8'));
  }

  #later<T>(code: number, read: (bytes: Buffer) => T): Promise<T> {
    if (code !== PENDING) {
      const text = this.port.answer().toString('utf8');
      return Promise.reject(new ServalError(code as ErrorCode, text));
    }
    return new Promise<T>((resolve, reject) => {
      this.port.expect(new Settle(resolve, reject, read));
    });
  }
}

/** Attaches this thread to the process's engine (made by the first thread that attaches).
 * Throws ServalError(RuntimeUnavailable) when the addon cannot be loaded. */
export function createEngine(options: EngineOptions): Promise<Engine> {
  const port = openPort(options);
  return Promise.resolve({
    port,
    control: new NativeControl(port),
    close: () => port.detach(),
  });
}

export type { EngineOptions };
