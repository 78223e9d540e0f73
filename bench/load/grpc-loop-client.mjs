// One gRPC call at a time on one connection, for slow models: counts whole calls only, where h2load
// stops in the middle of one. A process of its own on the load core.
// Usage: grpc-loop-client.mjs HOST PORT METHOD MESSAGE_FILE ANSWER_BYTES SECONDS
// Prints one JSON line: {elapsedUs, answerBytes, latenciesUs}, or {"error"}.
import { readFileSync } from 'node:fs';
import { Client, credentials } from '@grpc/grpc-js';

const [host, port, method, path, answerBytes, seconds] = process.argv.slice(2);
const message = readFileSync(path);
const windowMs = Number(seconds) * 1000;
const MESSAGE_BYTES_MAX = 1 << 30;
const identity = (bytes) => bytes;
const client = new Client(`${host}:${port}`, credentials.createInsecure(), {
  'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
  'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
});

function call() {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(method, identity, identity, message, (error, answer) => {
      if (error !== null) reject(error);
      else if (answer.length === Number(answerBytes)) resolve();
      else reject(new Error(`an answer of ${answer.length} bytes, expected ${answerBytes}`));
    });
  });
}

async function run() {
  // The connection is made, and the window of the transport grown, before the clock starts.
  await call();
  const latenciesUs = [];
  const startedMs = performance.now();
  let nowMs = startedMs;
  while (nowMs - startedMs < windowMs) {
    const sentMs = nowMs;
    await call();
    nowMs = performance.now();
    latenciesUs.push((nowMs - sentMs) * 1000);
  }
  return { elapsedUs: (nowMs - startedMs) * 1000, answerBytes: Number(answerBytes), latenciesUs };
}

run()
  .catch((error) => ({ error: error.message }))
  .then((result) => {
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  });
