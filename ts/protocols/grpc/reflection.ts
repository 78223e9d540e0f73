// Server reflection, v1 and v1alpha: lists this server's services and their descriptors, so that
// tools such as grpcurl need no .proto files. Control plane: the listener's thread. Source:
// proto/wire/reflection.proto and the published gRPC server reflection protocol.
import {
  ERROR_RESPONSE,
  FILE_DESCRIPTOR_RESPONSE,
  LIST_SERVICE_RESPONSE,
  SERVER_REFLECTION_REQUEST,
  SERVER_REFLECTION_RESPONSE,
  SERVICE_RESPONSE,
} from '../../protobuf/generated/reflection-fields.js';
import { METADATA } from '../../access/groups.js';
import { ErrorCode, GrpcCode, ServalError } from '../../base/errors.js';
import {
  drainStatus,
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

export const REFLECTION_SERVICES: readonly string[] = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
];

interface ReflectionRequest {
  host: string;
  /** The request's field, 0 if there is none; the last one wins. */
  kind: number;
  argument: string;
}

function readRequest(message: Buffer): ReflectionRequest {
  const reader = exactReader(message, 'ServerReflectionRequest');
  const request: ReflectionRequest = { host: '', kind: 0, argument: '' };
  while (reader.next()) {
    switch (reader.field) {
      case SERVER_REFLECTION_REQUEST.host:
        request.host = reader.string();
        break;
      case SERVER_REFLECTION_REQUEST.fileByFilename:
      case SERVER_REFLECTION_REQUEST.fileContainingSymbol:
      case SERVER_REFLECTION_REQUEST.allExtensionNumbersOfType:
      case SERVER_REFLECTION_REQUEST.listServices:
        request.kind = reader.field;
        request.argument = reader.string();
        break;
      case SERVER_REFLECTION_REQUEST.fileContainingExtension:
        request.kind = reader.field;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  return request;
}

function writeError(out: ProtobufWriter, code: number, message: string): void {
  out.message(SERVER_REFLECTION_RESPONSE.errorResponse, (error) =>
    error.varint(ERROR_RESPONSE.errorCode, code).string(ERROR_RESPONSE.errorMessage, message),
  );
}

// Writes one file; its imports are requested by their names.
async function writeFile(
  out: ProtobufWriter,
  by: 'name' | 'symbol',
  argument: string,
): Promise<void> {
  const { descriptorFile } = await import('./descriptor-files.js');
  const file = await descriptorFile(by, argument);
  if (file === null) {
    const what = `${by === 'name' ? 'file' : 'symbol'} '${echoed(argument)}'`;
    writeError(out, GrpcCode.NOT_FOUND, `${what} is not known`);
  } else {
    out.message(SERVER_REFLECTION_RESPONSE.fileDescriptorResponse, (response) =>
      response.bytes(FILE_DESCRIPTOR_RESPONSE.fileDescriptorProto, file),
    );
  }
}

async function writeAnswer(
  out: ProtobufWriter,
  { kind, argument }: ReflectionRequest,
  services: readonly string[],
): Promise<void> {
  switch (kind) {
    case SERVER_REFLECTION_REQUEST.listServices:
      out.message(SERVER_REFLECTION_RESPONSE.listServicesResponse, (list) => {
        for (const name of services)
          list.message(LIST_SERVICE_RESPONSE.service, (service) =>
            service.string(SERVICE_RESPONSE.name, name),
          );
      });
      return;
    case SERVER_REFLECTION_REQUEST.fileByFilename:
      return writeFile(out, 'name', argument);
    case SERVER_REFLECTION_REQUEST.fileContainingSymbol:
      return writeFile(out, 'symbol', argument);
    case SERVER_REFLECTION_REQUEST.fileContainingExtension:
    case SERVER_REFLECTION_REQUEST.allExtensionNumbersOfType:
      writeError(out, GrpcCode.UNIMPLEMENTED, 'there are no extensions: all files are proto3');
      return;
    default:
      writeError(out, GrpcCode.INVALID_ARGUMENT, 'the request has no known field');
  }
}

/** The answer to one ServerReflectionRequest. Errors: ServalError (MalformedBody). */
async function reflectionResponse(message: Buffer, services: readonly string[]): Promise<Buffer> {
  const request = readRequest(message);
  const out = new ProtobufWriter();
  if (request.host !== '') out.string(SERVER_REFLECTION_RESPONSE.validHost, request.host);
  out.bytes(SERVER_REFLECTION_RESPONSE.originalRequest, message);
  await writeAnswer(out, request, services);
  return out.toBuffer();
}

class ReflectionStream implements GrpcStreamHandler {
  readonly #call: GrpcStreamCall;
  readonly #services: readonly string[];
  /** Settles when all requests so far are answered: in their order. */
  #answered: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(call: GrpcStreamCall, services: readonly string[]) {
    this.#call = call;
    this.#services = services;
  }

  onMessage(message: Buffer): void {
    const own = Buffer.from(message);
    this.#answered = this.#answered.then(() => this.#answer(own));
  }

  async #answer(message: Buffer): Promise<void> {
    if (this.#ended) return;
    try {
      const response = await reflectionResponse(message, this.#services);
      if (!this.#ended) this.#call.write(response);
    } catch (error) {
      const known = error instanceof ServalError && error.code === ErrorCode.MalformedBody;
      this.#end(known ? inferStatus(error) : thrownStatus(error));
    }
  }

  onHalfClose(): void {
    this.#answered = this.#answered.then(() => this.#end(null));
  }

  onCancel(): void {
    this.#ended = true;
  }

  onFlushed(): void {}

  onDrain(): void {
    this.#end(drainStatus());
  }

  #end(status: GrpcStatus | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#call.end(status);
  }
}

/**
 * Both services, for a gRPC listener. `services`: those that it serves; these two are always
 * listed, and each name once.
 */
export function reflectionServices(services: readonly string[]): readonly GrpcService[] {
  const listed = [...new Set([...services, ...REFLECTION_SERVICES])];
  return REFLECTION_SERVICES.map((name) => ({
    name,
    unary: {},
    streams: {
      ServerReflectionInfo: (call: GrpcStreamCall) => new ReflectionStream(call, listed),
    },
    calls: { ServerReflectionInfo: METADATA },
  }));
}
