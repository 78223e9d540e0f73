// Clients that give up: aborted HTTP requests, cancelled and timed-out gRPC calls, one by one and
// thousands at once, on a model that makes them wait. Test time only.
import { bytesOf } from '../../bench/bodies.mjs';
import { modelInferRequest } from '../../bench/wire.mjs';
import { INFER_METHOD } from './http.mjs';
import { pause } from './options.mjs';
import { SLOW } from './repository.mjs';

const BODY = JSON.stringify({
  inputs: [{ name: 'input', datatype: 'FP32', shape: [1], data: [7] }],
});
const requestOf = (key) =>
  `POST /v2/models/${SLOW}/infer HTTP/1.1\r\nHost: soak\r\nAuthorization: Bearer ${key}\r\n` +
  `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
const MESSAGE = modelInferRequest(SLOW, [
  {
    tensor: { name: 'input', datatype: 'FP32', shape: [1] },
    bytes: bytesOf(Float32Array.of(7)),
  },
]);
const AT_ONCE = 2000;
const SOME = 20;
// OK, cancelled, deadline exceeded, queue full.
const GRPC_ALLOWED = new Set([0, 1, 4, 14]);

/** Sends the request, or a part of it, and aborts the connection. */
function abortOne(connections, random) {
  const whole = requestOf(connections.key);
  const part = random.int(0, 3) === 0 ? whole.slice(0, random.int(1, whole.length)) : whole;
  return new Promise((resolve) => {
    const socket = connections.raw(() => {
      socket.write(part, () => setTimeout(() => socket.destroy(), random.int(0, 20)));
    });
    socket.on('error', () => {});
    socket.on('close', resolve);
    socket.resume();
  });
}

/** Makes one call that is cancelled, or has a short deadline. */
async function cancelOne(connections, random) {
  const byDeadline = random.int(0, 1) === 0;
  const began = (call) => {
    if (!byDeadline) setTimeout(() => call.cancel(), random.int(0, 20));
  };
  const { code, details } = await connections.call(INFER_METHOD, MESSAGE, {
    deadlineMs: byDeadline ? random.int(1, 40) : 60_000,
    began,
  });
  if (!GRPC_ALLOWED.has(code)) throw new Error(`cancelled gRPC call: ${code} ${details}`);
}

/** A request that is not cancelled is still answered. */
async function othersAreServed(connections, served) {
  const { predictions } = await connections.json(
    '/v1/models/half_plus_three:predict',
    '{"instances":[1.0,2.0,5.0]}',
  );
  if (JSON.stringify(predictions) !== '[3.5,4,5.5]') {
    throw new Error(`after cancels: ${JSON.stringify(predictions)}`);
  }
  served.half_plus_three = (served.half_plus_three ?? 0) + 1;
}

/** Cancels in rounds until `stopping()`. Resolves to {served, cancels}. */
export async function runCancels({ connections, random, stopping }) {
  const served = {};
  let cancels = 0;
  while (!stopping()) {
    const count = random.int(0, 9) === 0 ? AT_ONCE : SOME;
    const http = random.int(0, 1) === 0;
    await Promise.all(
      Array.from({ length: count }, () =>
        http ? abortOne(connections, random) : cancelOne(connections, random),
      ),
    );
    cancels += count;
    await othersAreServed(connections, served);
    await pause(random.int(10, 300));
  }
  return { served, cancels };
}
