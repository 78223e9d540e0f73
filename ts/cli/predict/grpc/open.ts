// A model at a gRPC address: V2, or TensorFlow's PredictionService. Control plane. Source:
// docs/reference/protocols/v2-grpc.md, docs/reference/protocols/tf-grpc.md.
import { DEFAULT_SIGNATURE } from '../../../base/signatures.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { Callable, RemoteTarget } from '../remote.js';
import { Channel } from './channel.js';
import { openServing } from './tfserving.js';
import { openV2 } from './v2.js';

const isUnimplemented = (error: unknown): boolean =>
  error instanceof ServalError && error.code === ErrorCode.Unimplemented;

/**
 * Gets the model's metadata: from V2, or, if no protocol was chosen and the server has no V2, from
 * TensorFlow's API. Errors: the server's; ModelNotReady: no server.
 */
export async function openGrpc(
  target: RemoteTarget,
  headers: Readonly<Record<string, string>>,
  signature: string | undefined,
): Promise<Callable> {
  const channel = new Channel(target.base, headers);
  const serving = (): Promise<Callable> =>
    openServing(channel, target, signature ?? DEFAULT_SIGNATURE);
  try {
    if (target.protocol === 'v1') return await serving();
    return await openV2(channel, target).catch((error: unknown) => {
      if (target.protocol !== 'any' || !isUnimplemented(error)) throw error;
      return serving();
    });
  } catch (error) {
    channel.close();
    throw error;
  }
}
