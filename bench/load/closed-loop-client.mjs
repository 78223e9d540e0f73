// One connection, one request at a time, for large bodies: reads into one large buffer, where wrk
// reads 8 KiB at a time and would be measured itself. A process of its own on the load core.
// Usage: closed-loop-client.mjs HOST PORT REQUEST_FILE SECONDS
// REQUEST_FILE is the whole HTTP request. Prints one JSON line: the sample, or {"error"}.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [host, port, requestPath, seconds] = process.argv.slice(2);
const request = readFileSync(requestPath);
const windowMs = Number(seconds) * 1000;
const READ_BYTES = 4 << 20;
const HEAD_END = '\r\n\r\n';

const latenciesUs = [];
let answerBytes = 0;
let answerBytesTotal = 0;
let startedMs = 0;
let sentMs = 0;

function finish(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

function send() {
  answerBytes = 0;
  answerBytesTotal = -1;
  sentMs = performance.now();
  socket.write(request);
}

// The head must come whole in the first read: it is under 1 KiB and sent before the body.
function readHead(bytes) {
  const head = bytes.toString('latin1', 0, Math.min(bytes.length, 4096));
  const end = head.indexOf(HEAD_END);
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head);
  if (end < 0 || length === null || !head.startsWith('HTTP/1.1 200')) {
    throw new Error(`not an answer of 200 with Content-Length: ${head.slice(0, 300)}`);
  }
  return end + HEAD_END.length + Number(length[1]);
}

function onBytes(count, buffer) {
  if (answerBytesTotal < 0) answerBytesTotal = readHead(buffer.subarray(0, count));
  answerBytes += count;
  if (answerBytes < answerBytesTotal) return true;
  if (answerBytes > answerBytesTotal) {
    throw new Error(`answer of ${answerBytes} bytes where its head says ${answerBytesTotal}`);
  }
  const nowMs = performance.now();
  latenciesUs.push((nowMs - sentMs) * 1000);
  const elapsedMs = nowMs - startedMs;
  if (elapsedMs < windowMs) {
    send();
  } else {
    finish({ elapsedUs: elapsedMs * 1000, answerBytes, latenciesUs });
  }
  return true;
}

function guarded(count, buffer) {
  try {
    return onBytes(count, buffer);
  } catch (error) {
    finish({ error: error.message });
    return false;
  }
}

const onread = { buffer: Buffer.allocUnsafe(READ_BYTES), callback: guarded };
const socket = connect({ host, port: Number(port), noDelay: true, onread }, () => {
  startedMs = performance.now();
  send();
});
socket.on('error', (error) => finish({ error: error.message }));
socket.on('end', () => finish({ error: 'the server closed the connection' }));
