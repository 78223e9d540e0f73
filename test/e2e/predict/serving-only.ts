// A gRPC server without V2, like TensorFlow Serving, which clients detect by a request. Test time
// only.
import { Client, credentials, Server, ServerCredentials, type ServiceError } from '@grpc/grpc-js';

/** A gRPC server with only PredictionService, whose calls are forwarded to `port`. */
export async function servingOnly(port: number): Promise<{ readonly port: number; stop(): void }> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const method = (name: string) => ({
    path: `/tensorflow.serving.PredictionService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  });
  const methods = { Predict: method('Predict'), GetModelMetadata: method('GetModelMetadata') };
  type Done = (error: ServiceError | null, answer?: Buffer) => void;
  const passOn =
    ({ path }: { readonly path: string }) =>
    ({ request }: { readonly request: Buffer }, done: Done): void => {
      client.makeUnaryRequest(path, same, same, request, done);
    };
  server.addService(methods, {
    Predict: passOn(methods.Predict),
    GetModelMetadata: passOn(methods.GetModelMetadata),
  });
  const bound = await new Promise<number>((resolve, reject) => {
    const trust = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', trust, (error, own) => (error ? reject(error) : resolve(own)));
  });
  const stop = (): void => {
    server.forceShutdown();
    client.close();
  };
  return { port: bound, stop };
}
