// gRPC calls by hand on an HTTP/2 session: framed messages, windows that stay closed, and the model
// whose responses are 100,000 times as large as its requests. Test time only.
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { floatBytes, int64Bytes, type OnnxModel } from '../../ts/importers/onnx/builder.js';
import { encode, messageTypes } from '../unit/protocols/raw-client.js';

export const GRPC_INFER = '/inference.GRPCInferenceService/ModelInfer';
export const GRPC_STREAM = '/inference.GRPCInferenceService/ModelStreamInfer';

const types = messageTypes();

/**
 * A model whose y is its x repeated in `elements` elements: 4 bytes of response each for 100 of
 * request.
 */
export function wideModel(name: string, elements: number): OnnxModel {
  return {
    graph: {
      name,
      inputs: [{ name: 'x', type: 'float', shape: [1] }],
      outputs: [{ name: 'y', type: 'float', shape: [elements] }],
      initializers: [
        { name: 'n', type: 'int64', dims: [1], data: int64Bytes([elements]) },
        { name: 'zero', type: 'float', dims: [1], data: floatBytes([0]) },
      ],
      nodes: [
        { op: 'Add', inputs: ['x', 'zero'], outputs: ['sum'] },
        { op: 'Expand', inputs: ['sum', 'n'], outputs: ['y'] },
      ],
    },
  };
}

/** A ModelInferRequest of one FP32 input. */
export function inferMessage(
  model: string,
  input: string,
  values: readonly number[],
  shape: readonly number[],
): Buffer {
  return encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    inputs: [{ name: input, datatype: 'FP32', shape, contents: { fp32_contents: values } }],
  });
}

/** A length-prefixed message. */
export function framed(message: Buffer, packed = false): Buffer {
  const head = Buffer.alloc(5);
  head[0] = packed ? 1 : 0;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export interface FramedCall {
  readonly stream: ClientHttp2Stream;
  /** Its grpc-status; 'reset' or 'closed' if there was none. */
  readonly status: Promise<string>;
}

interface CallOptions {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A gRPC call whose response is only read as far as `stream` is read. */
export function framedCall(
  session: ClientHttp2Session,
  body: Buffer,
  options: CallOptions = {},
): FramedCall {
  const call = openCall(session, options);
  call.stream.end(body);
  return call;
}

/** The same, with only headers sent. */
export function openCall(
  session: ClientHttp2Session,
  { path = GRPC_INFER, headers = {} }: CallOptions = {},
): FramedCall {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const status = new Promise<string>((resolve) => {
    const take = (got: Readonly<Record<string, unknown>>): void => {
      if (got['grpc-status'] !== undefined) resolve(String(got['grpc-status']));
    };
    stream.on('response', take);
    stream.on('trailers', take);
    stream.on('error', () => resolve('reset'));
    stream.on('close', () => resolve('closed'));
  });
  return { stream, status };
}
