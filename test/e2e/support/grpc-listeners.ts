// Runs a suite over both gRPC listeners. Test time only.
import { describe } from 'node:test';
import { loadBinding } from '../../../ts/native/binding.js';
import type { GrpcListenerKind } from '../../../ts/transport/grpc/kind.js';

/** Why there is no native listener, for `skip`. */
export function nativeGrpcMissing(): string | false {
  const built = loadBinding().grpcBuilt();
  return !built && 'the addon was built without libnghttp2-dev and libssl-dev';
}

/** `suite` is called once for each listener, with the flags that make a server have it. */
export function overGrpcListeners(
  name: string,
  suite: (flags: readonly string[], kind: GrpcListenerKind) => void,
): void {
  for (const kind of ['native', 'node'] as const) {
    const skip = kind === 'native' && nativeGrpcMissing();
    describe(`${name} (${kind})`, { skip }, () => suite(['--grpc-listener', kind], kind));
  }
}
