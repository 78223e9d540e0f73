// /v2/health/live, a hundred times a second regardless of the outcome, while clients send bodies of
// 100 MB as fast as they can: read only (blanks, which are refused), and in and out of an identity
// model.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bytesOf, makeFloats, v2BinaryRequest } from '../../bodies.mjs';
import { describeModel } from '../../check.mjs';
import { start } from '../../children.mjs';
import { startServal } from '../../contenders/serval.mjs';
import { requestBytes } from '../../load/closed-loop.mjs';
import { beginOpenLoop } from '../../load/open-loop.mjs';
import { judgeFigures, median } from '../../statistics.mjs';
import { orStop } from '../sides.mjs';

const MODEL = 'image_identity';
const BODY_BYTES = 100_000_000;
const ROW_SHAPE = [224, 224, 3];
const ROW = 150_528;
const PROBES_PER_SECOND = 100;
const ROUNDS = 3;
const P99_MS = { relation: '<=', limit: 100 };
const CLIENT = fileURLToPath(new URL('../../load/body-client.mjs', import.meta.url));
const LIVE = { method: 'GET', path: '/v2/health/live', headers: {}, body: Buffer.alloc(0) };

function blanks() {
  const headers = { 'Content-Type': 'application/json' };
  const path = `/v1/models/${MODEL}:predict`;
  return { method: 'POST', path, headers, body: Buffer.alloc(BODY_BYTES, ' ') };
}

function images({ input, output }) {
  const rows = Math.floor(BODY_BYTES / (ROW * 4));
  const tensor = { name: input.name, shape: [rows, ...ROW_SHAPE], datatype: input.datatype };
  const row = bytesOf(makeFloats(ROW));
  const bytes = Buffer.concat(Array.from({ length: rows }, () => row));
  return v2BinaryRequest(MODEL, tensor, output.name, bytes);
}

/** Starts clients that send until stop(), which resolves to body-client.mjs's line. */
function beginBodies(context, server, request, clients) {
  const path = join(context.tempDir, `bodies-${context.nextId()}.request`);
  writeFileSync(path, requestBytes(server.host, request));
  const args = [CLIENT, server.host, String(server.port), path, String(clients)];
  const { child, tail } = start(process.execPath, args, context.cores.load);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const closed = new Promise((resolve) => {
    child.once('close', resolve);
  });
  return async () => {
    child.stdin.end();
    if ((await closed) !== 0) throw new Error(`bodies: the client failed\n${tail()}`);
    return JSON.parse(output);
  };
}

async function oneRound(context, http, request, clients, expected) {
  const stop = beginBodies(context, http, request, clients);
  const seconds = Math.max(5, context.options.seconds);
  const probes = await beginOpenLoop(context, http, LIVE, {
    rate: PROBES_PER_SECOND,
    seconds,
  }).result();
  const bodies = await stop();
  const live = probes.answers['200'];
  if (
    probes.failures + probes.different + probes.skipped > 0 ||
    live?.count !== probes.sent ||
    !(bodies.answers[expected] > 0) ||
    Object.keys(bodies.answers).length !== 1
  ) {
    throw new Error(`health: unexpected ${JSON.stringify({ probes, bodies })}`);
  }
  const mbPerSecond = (bodies.answers[expected] * BODY_BYTES) / bodies.elapsedUs;
  return { p99Ms: live.p99Us / 1000, maxMs: live.maxUs / 1000, mbPerSecond };
}

function row(id, title, rounds) {
  const worst = Math.max(...rounds.map(({ maxMs }) => maxMs)).toFixed(0);
  const rate = median(rounds.map(({ mbPerSecond }) => mbPerSecond)).toFixed(0);
  return {
    ...judgeFigures(
      { id, title, form: 'ms', target: P99_MS },
      rounds.map(({ p99Ms }) => p99Ms),
    ),
    sides: { serval: { extra: `longest ${worst} ms, ${rate} MB of bodies per second` } },
  };
}

const KINDS = [
  {
    id: 'read-16',
    title: '16 clients send bodies of 100 MB',
    clients: 16,
    request: blanks,
    expected: '400',
  },
  {
    id: 'read-40',
    title: '40 clients send bodies of 100 MB',
    clients: 40,
    request: blanks,
    expected: '400',
  },
  {
    id: 'both-16',
    title: '16 clients send and receive bodies of 100 MB',
    clients: 16,
    request: images,
    expected: '200',
  },
];

async function run(context) {
  const path = await context.model(MODEL);
  const server = await startServal(context, context.root, [path], {
    args: ['--memory-limit', '12G', '--log-level', 'error'],
  });
  const rows = await orStop(server, async () => {
    const http = { ...server.http, pid: server.pid };
    const described = await describeModel(http, MODEL);
    const all = [];
    for (const { id, title, clients, request, expected } of KINDS) {
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        rounds.push(await oneRound(context, http, request(described), clients, expected));
      }
      all.push(row(`health-${id}`, `p99 of /v2/health/live while ${title}`, rounds));
    }
    return all;
  });
  await server.stop();
  return rows;
}

export const health = [{ id: 'health-under-bodies', title: 'health under large bodies', run }];
