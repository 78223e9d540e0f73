// The rows about the gRPC listener: small messages, a fixed rate, larger bodies,
// in messages and in shared memory, many connections, cached responses, ensembles, sequences.
import { bodies } from './bodies.mjs';
import { cached } from './cached.mjs';
import { connections } from './connections.mjs';
import { ensembles } from './ensembles.mjs';
import { openLoops } from './open-loop.mjs';
import { sequences } from './sequences.mjs';
import { sharedMemory } from './shared-memory.mjs';
import { small } from './small.mjs';

export const grpc = [
  ...small,
  ...openLoops,
  ...bodies,
  ...sharedMemory,
  ...connections,
  ...cached,
  ...ensembles,
  ...sequences,
];
