// The project's load client (native/load, in the addon of this checkout) as a separate process on
// the load core: one load, described by a schedule file. Its one busy thread is the client's.
//
//   client.mjs SCHEDULE_FILE SECONDS
//
// SCHEDULE_FILE is JSON: {target, traffic, schedule} as in ts/cli/bench/load/native-client.ts, with
// `bodyFiles` in place of the bodies; `hold: true` keeps the connections idle until stdin ends, and
// prints a ready line first. Prints one line of JSON: {"requests", "elapsedUs", "p50Us", "p99Us",
// "p999Us", "maxUs", "lateUs": 99th percentile of a request's delay after its due time,
// "responseBytes"}, or {"error"}: a single failed request invalidates the whole load.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../build/Release/serval.node', import.meta.url));
const PACKAGED = fileURLToPath(new URL('../../prebuilt/serval.node', import.meta.url));
const ADDON = existsSync(BUILT) ? BUILT : PACKAGED;
const LEAD_MS = 2;

const [scheduleFile, seconds] = process.argv.slice(2);
const { target, traffic, bodyFiles, schedule, hold } = JSON.parse(
  readFileSync(scheduleFile, 'utf8'),
);
const bodies = bodyFiles.map((file) => readFileSync(file));
const native = createRequire(import.meta.url)(ADDON);

function print(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

function end(result) {
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

/** The microseconds that `part` of all requests did not exceed. */
function quantile({ counts, max }, part) {
  let total = 0;
  for (let i = 1; i < counts.length; i += 2) total += counts[i];
  const wanted = Math.max(1, Math.ceil(part * total));
  let seen = 0;
  for (let i = 0; i < counts.length; i += 2) {
    seen += counts[i + 1];
    if (seen >= wanted) return Math.min(max, counts[i]);
  }
  return max;
}

function finish({ answered, failed, firstError, latencies, late, elapsedUs, responseBytes }) {
  if (failed > 0) return end({ error: firstError });
  if (hold) {
    print({ event: 'ready' });
    process.stdin.on('end', () => process.exit(0)).resume();
    return undefined;
  }
  return end({
    requests: answered,
    elapsedUs,
    p50Us: quantile(latencies, 0.5),
    p99Us: quantile(latencies, 0.99),
    p999Us: quantile(latencies, 0.999),
    maxUs: latencies.max,
    lateUs: quantile(late, 0.99),
    responseBytes,
  });
}

const client = native.clientOpen(target, (problem, result) => {
  if (result !== undefined) finish(result);
  else if (problem !== '') end({ error: problem });
  else native.clientOrder(client, { begins: Number(process.hrtime.bigint()) / 1e6 + LEAD_MS });
});
if (client === 0) end({ error: 'the addon has no load client, or no thread for it' });
const whole = { ...schedule, measureMs: Number(seconds) * 1000 };
native.clientOrder(client, { traffic: { ...traffic, bodies }, schedule: whole });
