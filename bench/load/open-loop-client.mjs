// An open loop over HTTP/1.1: a fixed number of requests a second, regardless of their outcome;
// each is sent on an idle connection or a new one. A separate process on the load core.
//
//   open-loop-client.mjs HOST PORT REQUEST_FILE RATE SECONDS CONNECTIONS_MAX
//
// REQUEST_FILE is the whole HTTP request. Ends after SECONDS, or when stdin ends. Prints one JSON
// line: {elapsedUs, sent, skipped, answers: {status: {count, latenciesUs}}, failures, different} or
// {error}. A latency is measured from the write to the last byte. `different`: responses with
// status 200 whose body differs from the first one's.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [host, port, requestPath, rate, seconds, connectionsMax] = process.argv.slice(2);
const request = readFileSync(requestPath);
const TICK_MS = 1;
const LAST_ANSWERS_MS = 5000;
const HEAD_END = '\r\n\r\n';
const LATENCIES_MAX = 2_000_000;

const idle = [];
const answers = {};
let connections = 0;
let inFlight = 0;
let sent = 0;
let skipped = 0;
let failures = 0;
let different = 0;
let firstBody;
let startedMs = 0;
let stopped = false;
let elapsedUs = 0;

function report() {
  const result = { elapsedUs, sent, skipped, answers, failures, different };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

function note(status, body, latencyUs) {
  answers[status] ??= { count: 0, latenciesUs: [] };
  const { latenciesUs } = answers[status];
  answers[status].count += 1;
  if (latenciesUs.length < LATENCIES_MAX) latenciesUs.push(Math.round(latencyUs));
  if (status !== '200') return;
  firstBody ??= Buffer.from(body);
  if (!firstBody.equals(body)) different += 1;
}

// One connection that carries one request at a time.
class Connection {
  constructor() {
    connections += 1;
    this.received = Buffer.alloc(0);
    this.waiting = false;
    this.socket = connect({ host, port: Number(port), noDelay: true });
    this.socket.on('data', (chunk) => this.onData(chunk));
    this.socket.on('error', () => {});
    this.socket.on('close', () => this.onClose());
  }

  send() {
    this.waiting = true;
    inFlight += 1;
    this.sentMs = performance.now();
    this.socket.write(request);
  }

  onData(chunk) {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const end = this.received.indexOf(HEAD_END);
    if (end < 0) return;
    const head = this.received.toString('latin1', 0, end + 2);
    const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? '0';
    const length = Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1] ?? 0);
    const total = end + HEAD_END.length + length;
    if (this.received.length < total) return;
    note(
      status,
      this.received.subarray(end + HEAD_END.length, total),
      (performance.now() - this.sentMs) * 1000,
    );
    this.received = Buffer.alloc(0);
    this.waiting = false;
    inFlight -= 1;
    if (/\r\nconnection: *close\r\n/i.test(head)) this.socket.destroy();
    else idle.push(this);
    if (stopped && inFlight === 0) report();
  }

  onClose() {
    connections -= 1;
    const place = idle.indexOf(this);
    if (place >= 0) idle.splice(place, 1);
    if (!this.waiting) return;
    this.waiting = false;
    inFlight -= 1;
    failures += 1;
    if (stopped && inFlight === 0) report();
  }
}

function sendDue() {
  const nowMs = performance.now();
  const due = Math.floor(((nowMs - startedMs) * Number(rate)) / 1000) - sent - skipped;
  for (let index = 0; index < due; index += 1) {
    const free = idle.pop();
    if (free === undefined && connections >= Number(connectionsMax)) {
      skipped += 1;
      continue;
    }
    sent += 1;
    (free ?? new Connection()).send();
  }
  if (nowMs - startedMs >= Number(seconds) * 1000) stop();
}

function stop() {
  if (stopped) return;
  stopped = true;
  clearInterval(timer);
  elapsedUs = (performance.now() - startedMs) * 1000;
  if (inFlight === 0) report();
  else setTimeout(report, LAST_ANSWERS_MS);
}

startedMs = performance.now();
const timer = setInterval(sendDue, TICK_MS);
process.stdin.on('end', stop).resume();
