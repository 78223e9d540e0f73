// Reference server: @grpc/grpc-js that answers ModelInfer with the bytes of the request; identity
// serializers, no protobuf. A separate process that the caller pins. Prints one ready line.
import { Server, ServerCredentials } from '@grpc/grpc-js';

const HOST = '127.0.0.1';
const identity = (bytes) => bytes;
const definition = {
  ModelInfer: {
    path: '/inference.GRPCInferenceService/ModelInfer',
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  },
};

const server = new Server();
server.addService(definition, { ModelInfer: (call, answer) => answer(null, call.request) });
server.bindAsync(`${HOST}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  process.stdout.write(`${JSON.stringify({ event: 'ready', host: HOST, port })}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
