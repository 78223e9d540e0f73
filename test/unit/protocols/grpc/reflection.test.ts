// Server reflection over a real socket. Source: the published gRPC server reflection protocol.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { reflectionServices } from '../../../../ts/protocols/grpc/reflection.js';
import { GrpcServer } from '../grpc-server.js';
import { RawClient, decode, encode, messageTypes } from '../raw-client.js';

const types = messageTypes();
const OTHERS = ['inference.GRPCInferenceService', 'grpc.health.v1.Health'];

interface Reply {
  valid_host: string;
  original_request: Record<string, unknown>;
  list_services_response?: { service: { name: string }[] };
  file_descriptor_response?: { file_descriptor_proto: Uint8Array[] };
  error_response?: { error_code: number; error_message: string };
}

for (const name of ['grpc.reflection.v1', 'grpc.reflection.v1alpha']) {
  describe(`reflection, ${name}`, () => {
    let listener: GrpcServer;
    let client: RawClient;
    before(async () => {
      listener = new GrpcServer(reflectionServices([...OTHERS, ...OTHERS]));
      client = new RawClient(await listener.start());
    });
    after(async () => {
      client.close();
      await listener.drain(5);
    });

    const path = `/${name}.ServerReflection/ServerReflectionInfo`;
    const ask = async (...requests: object[]): Promise<Reply[]> => {
      const stream = client.stream(path);
      for (const request of requests) {
        stream.call.write(encode(types, `${name}.ServerReflectionRequest`, request));
      }
      stream.call.end();
      assert.equal((await stream.ended).code, 0);
      assert.equal(stream.count, requests.length);
      const replies = await Promise.all(requests.map((_, index) => stream.reply(index)));
      return replies.map(
        (bytes) => decode(types, `${name}.ServerReflectionResponse`, bytes) as Reply,
      );
    };

    it('lists the services and echoes host and request', async () => {
      const [reply] = await ask({ host: 'h', list_services: '*' });
      assert.ok(reply);
      assert.equal(reply.valid_host, 'h');
      assert.equal(reply.original_request['list_services'], '*');
      assert.deepEqual(
        reply.list_services_response?.service.map((one) => one.name),
        [
          ...OTHERS,
          'grpc.reflection.v1.ServerReflection',
          'grpc.reflection.v1alpha.ServerReflection',
        ],
      );
    });

    it('gives the file that declares a symbol, whatever kind of symbol it is', async () => {
      const symbols: readonly [string, string][] = [
        ['inference.GRPCInferenceService', 'inference.proto'],
        ['inference.GRPCInferenceService.ModelInfer', 'inference.proto'],
        ['inference.ModelInferRequest.InferInputTensor', 'inference.proto'],
        ['inference.InferParameter.double_param', 'inference.proto'],
        ['inference.InferParameter.parameter_choice', 'inference.proto'],
        ['inference.ModelMetadataResponse.PropertiesEntry', 'inference.proto'],
        ['inference.ModelConfigResponse', 'inference.proto'],
        ['inference.ModelConfig', 'model_config.proto'],
        ['inference.ModelVersionPolicy.Specific', 'model_config.proto'],
        ['grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc/health/v1/health.proto'],
        ['grpc.health.v1.HealthCheckResponse.SERVING', 'grpc/health/v1/health.proto'],
        ['grpc.reflection.v1.ServerReflection', 'grpc/reflection/v1/reflection.proto'],
        ['grpc.reflection.v1alpha.ErrorResponse', 'grpc/reflection/v1alpha/reflection.proto'],
      ];
      const replies = await ask(...symbols.map(([symbol]) => ({ file_containing_symbol: symbol })));
      const names = replies.map((reply) => {
        const files = reply.file_descriptor_response?.file_descriptor_proto ?? [];
        assert.equal(files.length, 1);
        return descriptor.FileDescriptorProto.decode(files[0] ?? new Uint8Array()).toJSON()['name'];
      });
      assert.deepEqual(
        names,
        symbols.map(([, file]) => file),
      );
    });

    it('gives a file by name, with which a client can make messages', async () => {
      const replies = await ask(
        { file_by_filename: 'inference.proto' },
        { file_by_filename: 'model_config.proto' },
      );
      const file = replies.map((reply) =>
        descriptor.FileDescriptorProto.decode(
          reply.file_descriptor_response?.file_descriptor_proto[0] ?? new Uint8Array(),
        ),
      );
      assert.deepEqual(
        file.map((one) => one.toJSON()['dependency'] ?? []),
        [['model_config.proto'], []],
      );
      const root = (
        protobuf.Root as unknown as { fromDescriptor(from: object): protobuf.Root }
      ).fromDescriptor(descriptor.FileDescriptorSet.create({ file }));
      root.resolveAll();
      const service = root.lookupService('inference.GRPCInferenceService');
      assert.deepEqual(Object.keys(service.methods).sort(), [
        'CudaSharedMemoryRegister',
        'CudaSharedMemoryStatus',
        'CudaSharedMemoryUnregister',
        'LogSettings',
        'ModelConfig',
        'ModelInfer',
        'ModelMetadata',
        'ModelReady',
        'ModelStatistics',
        'ModelStreamInfer',
        'RepositoryIndex',
        'RepositoryModelLoad',
        'RepositoryModelUnload',
        'ServerLive',
        'ServerMetadata',
        'ServerReady',
        'SystemSharedMemoryRegister',
        'SystemSharedMemoryStatus',
        'SystemSharedMemoryUnregister',
        'TraceSetting',
      ]);
      const stream = service.methods['ModelStreamInfer'];
      assert.deepEqual(
        [stream?.requestStream, stream?.responseStream, stream?.responseType],
        [true, true, '.inference.ModelStreamInferResponse'],
      );
      const request = {
        model_name: 'm',
        inputs: [{ name: 'x', parameters: [{ key: 'p', value: { double_param: 0.5 } }] }],
        raw_input_contents: [Buffer.from([1, 2])],
      };
      const sent = encode(root, 'inference.ModelInferRequest', request);
      assert.deepEqual(root.lookupType('inference.ModelInferRequest').decode(sent).toJSON(), {
        ...request,
        raw_input_contents: ['AQI='],
      });
    });

    it('answers what it does not have with an error and goes on', async () => {
      const replies = await ask(
        { file_by_filename: 'nope.proto' },
        { file_containing_symbol: 'no.Such' },
        { file_containing_extension: { containing_type: 'a', extension_number: 1 } },
        { all_extension_numbers_of_type: 'a' },
        {},
        { list_services: '' },
      );
      assert.deepEqual(
        replies.map((reply) => reply.error_response?.error_code),
        [5, 5, 12, 12, 3, undefined],
      );
      assert.equal(replies[0]?.error_response?.error_message, "file 'nope.proto' is not known");
    });

    it('ends with INVALID_ARGUMENT on bytes that are no message', async () => {
      const stream = client.stream(path);
      stream.call.write(Buffer.from('22ff', 'hex'));
      const { code, details } = await stream.ended;
      assert.deepEqual(
        [code, details],
        [3, 'ServerReflectionRequest: byte 1: the message ends inside a number'],
      );
    });
  });
}
