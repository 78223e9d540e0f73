// Many gRPC connections: the request rate of a thousand connections used in turn, against four; and
// the memory of a connection that is idle after a call.
import { holdGrpc, grpcLoad } from '../../load/grpc-load.mjs';
import { ownBytes } from '../../machine.mjs';
import { judgeFigures } from '../../statistics.mjs';
import { openHalfPlusThree, overEcho } from './small.mjs';

const MANY = 1000;
const FEW = 4;
const IN_FLIGHT = 64;
const WARM_SECONDS = 1;
const SETTLE_MS = 1000;

const inTurn = (connections) => (context, server, call) =>
  grpcLoad(context, server, call, { how: 'closed', connections, count: IN_FLIGHT });

const IDLE = {
  id: 'grpc-idle-connection',
  title: `gRPC: memory of each of ${MANY} idle connections`,
  reference: `the server with ${FEW} before`,
  form: 'kB',
  target: { relation: '<', limit: 20 },
};

const settle = () =>
  new Promise((resolve) => {
    setTimeout(resolve, SETTLE_MS);
  });

/**
 * kB of memory for each connection, on a new server: memory that it once returned to its allocator
 * would not be requested from the kernel again.
 */
async function idleKb(context) {
  const side = await openHalfPlusThree(context, context.root, inTurn(FEW));
  try {
    const { pid } = side.server;
    await side.measure(WARM_SECONDS);
    await settle();
    const before = ownBytes(pid);
    const held = await holdGrpc(context, side.server.grpc, side.call, MANY);
    try {
      await settle();
      return (ownBytes(pid) - before) / MANY / 1000;
    } finally {
      await held.close();
    }
  } finally {
    await side.close();
  }
}

async function runIdle(context) {
  const values = [];
  for (let round = 0; round < context.options.rounds; round += 1) {
    values.push(await idleKb(context));
  }
  return [judgeFigures(IDLE, values)];
}

export const connections = [
  {
    id: 'grpc-connections',
    title: `gRPC ModelInfer, ${IN_FLIGHT} in flight, ${MANY} connections in turn`,
    reference: `${FEW} connections`,
    metric: 'rate',
    target: { relation: '>=', limit: 0.7 },
    openServal: (context, root) => openHalfPlusThree(context, root, inTurn(MANY)),
    openReference: (context) => openHalfPlusThree(context, context.root, inTurn(FEW)),
  },
  {
    // Each call is a separate read and write on any server, so the remaining time is compared.
    id: 'grpc-connections-echo',
    title: `the same, ${MANY} connections on both sides`,
    metric: 'rate',
    target: { relation: '>=', limit: 1.5 },
    ...overEcho(inTurn(MANY)),
  },
  { ...IDLE, run: runIdle },
];
