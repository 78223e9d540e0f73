// grpc.health.v1.Health: Check, and Watch, which follows the registry. Control plane: the
// listener's thread. Source: proto/wire/health.proto and the published gRPC health checking
// protocol.
import {
  HEALTH_CHECK_REQUEST,
  HEALTH_CHECK_RESPONSE,
  HEALTH_CHECK_RESPONSE_SERVING_STATUS as STATUS,
} from '../../protobuf/generated/health-fields.js';
import { HEALTH } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { RegistrySnapshot } from '../../model/snapshot.js';
import {
  thrownStatus,
  type GrpcService,
  type GrpcStatus,
  type GrpcStreamCall,
  type GrpcStreamHandler,
} from '../../listeners/grpc/call.js';
import { inferStatus } from './infer.js';
import { echoed } from '../request-text.js';
import { exactReader } from '../../protobuf/reader.js';
import { ProtobufWriter } from '../../protobuf/writer.js';

export const HEALTH_SERVICE = 'grpc.health.v1.Health';

export interface HealthServiceOptions {
  readonly snapshot: () => RegistrySnapshot;
  /** Calls `listener` after each new snapshot; the returned function unsubscribes it. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Names that stand for the server as a whole, besides "". */
  readonly services: readonly string[];
}

function readService(message: Buffer): string {
  const reader = exactReader(message, 'HealthCheckRequest');
  let service = '';
  while (reader.next()) {
    if (reader.field === HEALTH_CHECK_REQUEST.service) service = reader.string();
    else reader.skip();
  }
  return service;
}

// The server's readiness for "" and its services; a model's for a model's name.
function servingStatus(options: HealthServiceOptions, service: string): number {
  const snapshot = options.snapshot();
  const serving = (ready: boolean): number =>
    ready && !snapshot.draining ? STATUS.SERVING : STATUS.NOT_SERVING;
  if (service === '' || options.services.includes(service)) return serving(snapshot.ready);
  const model = Object.hasOwn(snapshot.models, service) ? snapshot.models[service] : undefined;
  return model === undefined ? STATUS.SERVICE_UNKNOWN : serving(model.defaultVersion !== undefined);
}

const statusMessage = (status: number): Buffer =>
  new ProtobufWriter().varint(HEALTH_CHECK_RESPONSE.status, status).toBuffer();

const failure = (error: unknown): GrpcStatus =>
  error instanceof ServalError ? inferStatus(error) : thrownStatus(error);

// One Watch call: sends the status at once, then each change; a slow client misses intermediate
// changes.
class HealthWatch implements GrpcStreamHandler {
  private readonly call: GrpcStreamCall;
  private readonly options: HealthServiceOptions;
  private service: string | undefined;
  private sent: number | undefined;
  private unsubscribe: () => void = () => undefined;

  constructor(call: GrpcStreamCall, options: HealthServiceOptions) {
    this.call = call;
    this.options = options;
  }

  onMessage(message: Buffer): void {
    if (this.service !== undefined) {
      this.close(
        inferStatus({
          code: ErrorCode.InvalidArgument,
          message: 'Watch takes one HealthCheckRequest, got a second',
        }),
      );
      return;
    }
    try {
      this.service = readService(message);
    } catch (error) {
      this.close(failure(error));
      return;
    }
    this.unsubscribe = this.options.subscribe(() => this.push());
    this.push();
  }

  onHalfClose(): void {
    if (this.service !== undefined) return;
    this.close(
      inferStatus({
        code: ErrorCode.InvalidArgument,
        message: 'Watch takes one HealthCheckRequest, got none',
      }),
    );
  }

  onCancel(): void {
    this.unsubscribe();
  }

  onFlushed(): void {
    this.push();
  }

  onDrain(): void {
    if (this.service !== undefined && this.sent !== STATUS.NOT_SERVING) {
      this.call.write(statusMessage(STATUS.NOT_SERVING));
    }
    this.close(null);
  }

  private push(): void {
    if (this.service === undefined || this.call.unflushed > 0) return;
    const status = servingStatus(this.options, this.service);
    if (status === this.sent) return;
    this.sent = status;
    this.call.write(statusMessage(status));
  }

  private close(status: GrpcStatus | null): void {
    this.unsubscribe();
    this.call.end(status);
  }
}

/** The service, ready to be handed to a gRPC listener. */
export function healthService(options: HealthServiceOptions): GrpcService {
  return {
    name: HEALTH_SERVICE,
    unary: {
      Check: (call, reply) => {
        let response: Buffer;
        try {
          const service = readService(call.request);
          const status = servingStatus(options, service);
          if (status === STATUS.SERVICE_UNKNOWN) {
            throw new ServalError(
              ErrorCode.ModelNotFound,
              `health: '${echoed(service)}' is neither a service nor a model of this server`,
            );
          }
          response = statusMessage(status);
        } catch (error) {
          reply(failure(error));
          return;
        }
        reply(null, response);
      },
    },
    streams: { Watch: (call) => new HealthWatch(call, options) },
    calls: { Check: HEALTH, Watch: HEALTH },
  };
}
