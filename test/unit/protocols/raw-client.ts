// A gRPC client for tests that sends and receives raw bytes, and the message types to build them,
// from the descriptors of server reflection.
import {
  Client,
  credentials,
  type CallOptions,
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { DESCRIPTORS } from '../../../ts/protocols/grpc/generated/descriptors.js';

/** How a call ended; `message` is undefined when it failed. */
export interface Outcome {
  readonly code: number;
  readonly details: string;
  readonly message: Buffer | undefined;
}

const identity = (bytes: Buffer): Buffer => bytes;

export class RawClient {
  readonly client: Client;

  /** `at`: a port of this machine, or an address. */
  constructor(
    at: number | string,
    options: object = {},
    channel: ChannelCredentials = credentials.createInsecure(),
  ) {
    this.client = new Client(typeof at === 'number' ? `127.0.0.1:${at}` : at, channel, {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.use_local_subchannel_pool': 1,
      ...options,
    });
  }

  /** Settles when the call ends; `began` receives the call itself. */
  unary(
    path: string,
    message: Buffer,
    options: CallOptions = {},
    began: (call: ClientUnaryCall) => void = () => undefined,
  ): Promise<Outcome> {
    return new Promise((resolve) => {
      const answered = (error: ServiceError | null, response?: Buffer): void =>
        resolve({
          code: error?.code ?? 0,
          details: error?.details ?? '',
          message: response,
        });
      began(this.client.makeUnaryRequest(path, identity, identity, message, options, answered));
    });
  }

  stream(path: string, options: CallOptions = {}): RawStream {
    return new RawStream(this.client.makeBidiStreamRequest(path, identity, identity, options));
  }

  close(): void {
    this.client.close();
  }
}

/** One stream: the replies so far, and promises for later ones. */
export class RawStream {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  readonly ended: Promise<Outcome>;
  private readonly received: Buffer[] = [];
  private waiting: (() => void)[] = [];

  constructor(call: ClientDuplexStream<Buffer, Buffer>) {
    this.call = call;
    call.on('data', (message: Buffer) => {
      this.received.push(message);
      for (const wake of this.waiting.splice(0)) wake();
    });
    call.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      call.on('status', (status: { code: number; details: string }) => {
        resolve({ code: status.code, details: status.details, message: undefined });
        for (const wake of this.waiting.splice(0)) wake();
      });
    });
  }

  /** Resolves to the reply at `index` when it has arrived. */
  async reply(index: number): Promise<Buffer> {
    let over = false;
    void this.ended.then(() => {
      over = true;
    });
    for (;;) {
      const message = this.received[index];
      if (message !== undefined) return message;
      if (over) throw new Error(`the stream ended before reply ${index}`);
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
      });
    }
  }

  get count(): number {
    return this.received.length;
  }
}

/** The message types of all our files. */
export function messageTypes(): protobuf.Root {
  const file = DESCRIPTORS.map((entry) =>
    descriptor.FileDescriptorProto.decode(Buffer.from(entry.base64, 'base64')),
  );
  const set = descriptor.FileDescriptorSet.create({ file });
  const root = (
    protobuf.Root as unknown as { fromDescriptor(from: object): protobuf.Root }
  ).fromDescriptor(set);
  root.resolveAll();
  return root;
}

/** Encodes `value`, whose members have the names of the .proto file, as the named type. */
export function encode(types: protobuf.Root, name: string, value: object): Buffer {
  const type = types.lookupType(name);
  const unknown = Object.keys(value).find((key) => type.fields[key] === undefined);
  const problem = unknown === undefined ? type.verify(value) : `no field ${unknown}`;
  if (problem !== null) throw new Error(`${name}: ${problem}`);
  return Buffer.from(type.encode(type.fromObject(value)).finish());
}

/**
 * Decodes to a plain object: 64-bit numbers and enums as text, lists always present; a map is the
 * list of its entries.
 */
export function decode(types: protobuf.Root, name: string, bytes: Buffer): object {
  const type = types.lookupType(name);
  return type.toObject(type.decode(bytes), { longs: String, enums: String, defaults: true });
}
