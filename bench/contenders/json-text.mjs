// Reference for large JSON: the time that Node itself needs to parse the request and to write the
// response. A separate process that the caller pins.
//
//   json-text.mjs REQUEST ANSWER SECONDS
//
// The texts are strings before the clock starts, so decoding UTF-8 is not charged to Node.
import { readFileSync } from 'node:fs';

const [requestPath, answerPath, secondsText] = process.argv.slice(2);
const request = readFileSync(requestPath, 'utf8');
const answer = JSON.parse(readFileSync(answerPath, 'utf8'));
const windowMs = Number(secondsText) * 1000;
const WARM_RUNS = 5;

let kept = 0;
const once = () => {
  kept += Object.keys(JSON.parse(request)).length + JSON.stringify(answer).length;
};

for (let run = 0; run < WARM_RUNS; run += 1) once();
const startedMs = performance.now();
const startedCpu = process.cpuUsage();
let runs = 0;
let elapsedMs = 0;
do {
  once();
  runs += 1;
  elapsedMs = performance.now() - startedMs;
} while (elapsedMs < windowMs);
const { user, system } = process.cpuUsage(startedCpu);
const result = {
  usPerRequest: (elapsedMs * 1000) / runs,
  perSecond: (runs * 1000) / elapsedMs,
  cpuUs: (user + system) / runs,
};
process.stdout.write(`${JSON.stringify({ ...result, kept })}\n`);
