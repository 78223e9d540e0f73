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
  type GrpcStreamCall,
  type GrpcStreamHandler,
} from '../../listeners/grpc/call.js';
import { DESCRIPTORS } from './generated/descriptors.js';
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
function writeFile(
  out: ProtobufWriter,
  found: { readonly base64: string } | undefined,
  what: string,
): void {
  if (found === undefined) writeError(out, GrpcCode.NOT_FOUND, `${what} is not known`);
  else {
    const file = Buffer.from(found.base64, 'base64');
    out.message(SERVER_REFLECTION_RESPONSE.fileDescriptorResponse, (response) =>
      response.bytes(FILE_DESCRIPTOR_RESPONSE.fileDescriptorProto, file),
    );
  }
}

function writeAnswer(
  out: ProtobufWriter,
  { kind, argument }: ReflectionRequest,
  services: readonly string[],
): void {
  switch (kind) {
    case SERVER_REFLECTION_REQUEST.listServices:
      out.message(SERVER_REFLECTION_RESPONSE.listServicesResponse, (list) => {
        for (const name of services)
          list.message(LIST_SERVICE_RESPONSE.service, (service) =>
            service.string(SERVICE_RESPONSE.name, name),
          );
      });
      return;
    case SERVER_REFLECTION_REQUEST.fileByFilename: {
      const file = DESCRIPTORS.find(({ name }) => name === argument);
      writeFile(out, file, `file '${echoed(argument)}'`);
      return;
    }
    case SERVER_REFLECTION_REQUEST.fileContainingSymbol: {
      const file = DESCRIPTORS.find(({ symbols }) => symbols.includes(argument));
      writeFile(out, file, `symbol '${echoed(argument)}'`);
      return;
    }
    case SERVER_REFLECTION_REQUEST.fileContainingExtension:
    case SERVER_REFLECTION_REQUEST.allExtensionNumbersOfType:
      writeError(out, GrpcCode.UNIMPLEMENTED, 'there are no extensions: all files are proto3');
      return;
    default:
      writeError(out, GrpcCode.INVALID_ARGUMENT, 'the request has no known field');
  }
}

/** The answer to one ServerReflectionRequest. Errors: ServalError (MalformedBody). */
export function reflectionResponse(message: Buffer, services: readonly string[]): Buffer {
  const request = readRequest(message);
  const out = new ProtobufWriter();
  if (request.host !== '') out.string(SERVER_REFLECTION_RESPONSE.validHost, request.host);
  out.bytes(SERVER_REFLECTION_RESPONSE.originalRequest, message);
  writeAnswer(out, request, services);
  return out.toBuffer();
}

class ReflectionStream implements GrpcStreamHandler {
  private readonly call: GrpcStreamCall;
  private readonly services: readonly string[];

  constructor(call: GrpcStreamCall, services: readonly string[]) {
    this.call = call;
    this.services = services;
  }

  onMessage(message: Buffer): void {
    try {
      this.call.write(reflectionResponse(message, this.services));
    } catch (error) {
      const known = error instanceof ServalError && error.code === ErrorCode.MalformedBody;
      this.call.end(known ? inferStatus(error) : thrownStatus(error));
    }
  }

  onHalfClose(): void {
    this.call.end(null);
  }

  // No state is kept between requests.
  onCancel(): void {}

  onFlushed(): void {}

  onDrain(): void {
    this.call.end(drainStatus());
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
