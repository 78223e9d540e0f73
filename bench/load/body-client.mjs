// Clients that send one large body after another, each on its own connection, and read the
// responses. A separate process on the load core.
//
//   body-client.mjs HOST PORT REQUEST_FILE CLIENTS
//
// REQUEST_FILE is the whole HTTP request. When stdin ends, requests in flight are completed. Prints
// one JSON line: {elapsedUs, answers: {status: count}, failures}.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [host, port, requestPath, clients] = process.argv.slice(2);
const request = readFileSync(requestPath);
const startedMs = performance.now();
const HEAD_MAX = 16_384;
const answers = {};
let failures = 0;
let stopped = false;
let open = Number(clients);

function report() {
  const elapsedUs = Math.round((performance.now() - startedMs) * 1000);
  process.stdout.write(`${JSON.stringify({ elapsedUs, answers, failures })}\n`, () =>
    process.exit(0),
  );
}

function next() {
  if (!stopped) send();
  else if ((open -= 1) === 0) report();
}

function send() {
  const socket = connect({ host, port: Number(port) });
  let head = '';
  let left = -1;
  socket.write(request);
  socket.on('data', (chunk) => {
    if (left < 0) {
      head += chunk.toString('latin1', 0, HEAD_MAX);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      left = end + 4 + length - head.length + Math.min(chunk.length, HEAD_MAX);
    }
    left -= chunk.length;
    if (left > 0) return;
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? '0';
    answers[status] = (answers[status] ?? 0) + 1;
    left = Infinity;
    socket.end();
  });
  socket.on('error', () => {
    failures += 1;
  });
  socket.on('close', next);
}

process.stdin.resume();
process.stdin.on('end', () => {
  stopped = true;
});
for (let i = 0; i < Number(clients); i += 1) send();
