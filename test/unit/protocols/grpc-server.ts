// gRPC services on a real socket whose methods are all answered by their handlers, none by the
// engine. Test time only.
import assert from 'node:assert/strict';
import { createEngine, type Engine } from '../../../ts/engine/engine.js';
import { NativeGrpcListener } from '../../../ts/listeners/grpc/native-listener.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../../ts/listeners/grpc/settings.js';
import type { Cut } from '../../../ts/listeners/cut.js';
import type { GrpcService } from '../../../ts/listeners/grpc/call.js';

const BYTES_MAX = 1e9;

export class GrpcServer {
  #engine: Engine | undefined;
  #listener: NativeGrpcListener | undefined;

  constructor(private readonly services: readonly GrpcService[]) {}

  /** Resolves to the port. */
  async start(): Promise<number> {
    this.#engine = await createEngine({});
    this.#listener = new NativeGrpcListener(this.#engine.link, {
      host: '127.0.0.1',
      port: 0,
      services: this.services.map((service) => ({ ...service, engine: {} })),
      transport: {
        ...GRPC_CONNECTION_DEFAULTS,
        receiveBytesMax: BYTES_MAX,
        sendBytesMax: BYTES_MAX,
        unixPath: '',
        threads: 1,
        compressionLevel: 0,
      },
      connectionsMax: 1000,
      unsentBytesMax: BYTES_MAX,
      report: (error) => assert.fail(String(error)),
    });
    return this.#listener.start();
  }

  /** Drains once; resolves to what it cut. */
  async drain(seconds: number): Promise<Cut | undefined> {
    const cut = await this.#listener?.drain(seconds);
    this.#listener = undefined;
    this.#engine?.close();
    this.#engine = undefined;
    return cut;
  }
}
