// Connections with one request at a time each, for large bodies and slow answers: reads into one
// large buffer, where wrk reads 8 KiB at a time and would be measured itself, and counts what was
// under way when the time was over, to its end, which wrk drops. A process of its own on the load
// core.
// Usage: closed-loop-client.mjs HOST PORT REQUEST_FILE SECONDS [CONNECTIONS]
// REQUEST_FILE is the whole HTTP request. Prints one JSON line: the sample, or {"error"}.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [host, port, requestPath, seconds, connections = '1'] = process.argv.slice(2);
const request = readFileSync(requestPath);
const windowMs = Number(seconds) * 1000;
const count = Number(connections);
const READ_BYTES = 4 << 20;
const HEAD_END = '\r\n\r\n';

const latenciesUs = [];
let startedMs = 0;
let answerBytes = 0;
let open = count;

function finish(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
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

class Loop {
  #got = 0;
  #total = -1;
  #sentMs = 0;
  #socket;

  /** Calls `ready` when it may send. */
  constructor(ready) {
    const onread = { buffer: Buffer.allocUnsafe(READ_BYTES), callback: this.#guarded };
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread }, ready);
    this.#socket.on('error', (error) => finish({ error: error.message }));
    this.#socket.on('end', () => finish({ error: 'the server closed the connection' }));
  }

  send() {
    this.#got = 0;
    this.#total = -1;
    this.#sentMs = performance.now();
    this.#socket.write(request);
  }

  #guarded = (bytes, buffer) => {
    try {
      this.#onBytes(bytes, buffer);
      return true;
    } catch (error) {
      finish({ error: error.message });
      return false;
    }
  };

  #onBytes(bytes, buffer) {
    if (this.#total < 0) this.#total = readHead(buffer.subarray(0, bytes));
    this.#got += bytes;
    if (this.#got < this.#total) return;
    if (this.#got > this.#total) {
      throw new Error(`answer of ${this.#got} bytes where its head says ${this.#total}`);
    }
    const nowMs = performance.now();
    latenciesUs.push((nowMs - this.#sentMs) * 1000);
    const elapsedMs = nowMs - startedMs;
    answerBytes = this.#got;
    if (elapsedMs < windowMs) {
      this.send();
    } else if ((open -= 1) === 0) {
      finish({ elapsedUs: elapsedMs * 1000, answerBytes, latenciesUs });
    }
  }
}

let waiting = count;
const loops = Array.from(
  { length: count },
  () =>
    new Loop(() => {
      if ((waiting -= 1) > 0) return;
      startedMs = performance.now();
      for (const loop of loops) loop.send();
    }),
);
