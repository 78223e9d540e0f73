// An open loop: requests at a fixed rate, regardless of their outcome. Control plane; the client is
// a separate process (open-loop-client.mjs) on the load core.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../children.mjs';
import { percentile } from '../statistics.mjs';
import { requestBytes } from './closed-loop.mjs';

const CLIENT = fileURLToPath(new URL('open-loop-client.mjs', import.meta.url));
const CONNECTIONS_MAX = 2000;

/**
 * Parses the client's line into {sent, skipped, failures, different, answers: {status: {count,
 * perSecond, p50Us, p99Us, maxUs}}}. Throws with the client's own message if it failed. Pure.
 */
export function parseOpenLoop(output) {
  const line = output.split('\n').find((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`open loop: no result:\n${output}`);
  const result = JSON.parse(line);
  if (result.error !== undefined) throw new Error(`open loop: ${result.error}`);
  const answers = {};
  for (const [status, { count, latenciesUs }] of Object.entries(result.answers)) {
    answers[status] = {
      count,
      perSecond: (count * 1e6) / result.elapsedUs,
      p50Us: percentile(latenciesUs, 50),
      p99Us: percentile(latenciesUs, 99),
      maxUs: percentile(latenciesUs, 100),
    };
  }
  const { sent, skipped, failures, different, elapsedUs } = result;
  return { sent, skipped, failures, different, elapsedUs, answers };
}

/**
 * Starts a load of `rate` requests a second on `server`. Returns {result(), stop()}: both resolve
 * to parseOpenLoop's object, result() after `seconds`, stop() at once.
 */
export function beginOpenLoop(context, server, request, { rate, seconds, cores }) {
  const path = join(context.tempDir, `open-loop-${context.nextId()}.request`);
  writeFileSync(path, requestBytes(server.host, request));
  const args = [
    CLIENT,
    server.host,
    String(server.port),
    path,
    String(rate),
    String(seconds),
    String(CONNECTIONS_MAX),
  ];
  const { child, tail } = start(process.execPath, args, cores ?? context.cores.load);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`open loop: ended with ${code ?? signal}\n${tail()}`));
    });
  });
  ended.catch(() => {});
  const result = async () => parseOpenLoop(await ended);
  return {
    result,
    stop: () => {
      child.stdin.end();
      return result();
    },
  };
}
