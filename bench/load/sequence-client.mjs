// Clients that step through sequences of a recurrent model, each step after the response of the one
// before: the server keeps the state, or the client sends the state that it received. A separate
// process on the load core.
//
//   sequence-client.mjs SPEC_FILE SECONDS
//
// SPEC_FILE is JSON: {host, port, model, keeps: whether the server keeps the state, connections,
// sequences: number at once, steps: of each, width and state: elements of a step, of each state}.
// Prints one line of JSON as client.mjs does; a request is a step.
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { grpcFrame } from './h2load.mjs';
import { cellRequest, nextStates, zeroStates } from './sequence-messages.mjs';

const PATH = '/inference.GRPCInferenceService/ModelInfer';
const FRAME_BYTES = 5;

const [specFile, seconds] = process.argv.slice(2);
const spec = JSON.parse(readFileSync(specFile, 'utf8'));
const endMs = performance.now() + Number(seconds) * 1000;
const begunMs = performance.now();
const latencies = [];

function fail(error) {
  process.stdout.write(`${JSON.stringify({ error })}\n`, () => process.exit(0));
}

function call(session, message) {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks = [];
    let status = '';
    const read = (headers) => {
      if (headers['grpc-status'] === undefined) return;
      status = `${headers['grpc-status']} ${headers['grpc-message'] ?? ''}`;
    };
    stream.on('response', read);
    stream.on('trailers', read);
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => {
      if (!status.startsWith('0 ')) return reject(new Error(`step: ${status}`));
      return resolve(
        (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).subarray(FRAME_BYTES),
      );
    });
    stream.end(grpcFrame(message));
  });
}

/** One sequence after the other, until the time is over; the last one is ended. */
async function runLane(session, lane) {
  const frames = new Map();
  const messageOf = (start, end, states) => {
    if (!spec.keeps) return cellRequest(spec, { states });
    const kind = `${start} ${end}`;
    const known = frames.get(kind) ?? cellRequest(spec, { id: lane + 1, start, end });
    frames.set(kind, known);
    return known;
  };
  for (let isOver = false; !isOver; ) {
    let states = zeroStates(spec);
    for (let step = 0; step < spec.steps && !isOver; step += 1) {
      const sentMs = performance.now();
      isOver = sentMs >= endMs;
      const answer = await call(
        session,
        messageOf(step === 0, isOver || step + 1 === spec.steps, states),
      );
      const nowMs = performance.now();
      if (nowMs < endMs) latencies.push((nowMs - sentMs) * 1000);
      if (!spec.keeps) states = nextStates(answer);
    }
  }
}

const sessions = Array.from({ length: spec.connections }, () =>
  connect(`http://${spec.host}:${spec.port}`),
);
for (const session of sessions) session.on('error', (error) => fail(error.message));
try {
  const lanes = Array.from({ length: spec.sequences }, (_, lane) =>
    runLane(sessions[lane % sessions.length], lane),
  );
  await Promise.all(lanes);
  latencies.sort((a, b) => a - b);
  const quantile = (part) => Math.round(latencies[Math.floor(part * (latencies.length - 1))] ?? 0);
  const [p50Us, p99Us, p999Us] = [0.5, 0.99, 0.999].map(quantile);
  const result = {
    ...{ requests: latencies.length, elapsedUs: Math.round((endMs - begunMs) * 1000) },
    ...{ p50Us, p99Us, p999Us, maxUs: quantile(1), lateUs: 0, responseBytes: 0 },
  };
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
} catch (error) {
  fail(error.message);
}
