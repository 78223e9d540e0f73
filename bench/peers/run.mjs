// Serval beside other inference servers: the same models, bodies and load generators, in turns on
// one machine. Control plane. Writes bench/results/peers.json; ends with 1 when a row could not be
// measured.
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCppGrpcEcho, startUwsEcho } from '../contenders/echoes.mjs';
import { createContext } from '../context.mjs';
import { describeMachine } from '../machine.mjs';
import { formatErrors, formatRows, formatSkipped } from '../report.mjs';
import { Skipped } from '../runner.mjs';
import { expectedOutput, openModelAlone } from '../workloads/mlp.mjs';
import { INPUTS, openCase, openEcho, speaks } from './cases.mjs';
import { requireDocker } from './docker.mjs';
import { failedRow, inTurns, rowsOf } from './measure.mjs';
import { HELP, parsePeerOptions, selectCases, selectPeers, serverCores } from './options.mjs';
import { MODELS } from './peers.mjs';
import { formatServers } from './report.mjs';
import { environmentOf, makeModels, openPeer, openServal } from './servers.mjs';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
const IDLE_MS = 2000;
const PROGRAMS = ['grpc_echo', 'onnxruntime_bench'];

const print = (text) => process.stdout.write(`${text}\n`);
const progress = (text) => process.stderr.write(`${text}\n`);

async function prepare(context, peers) {
  for (const peer of peers.filter(({ docker }) => !docker)) {
    const { release, bytes } = await environmentOf(peer, { cores: context.cores, make: true });
    progress(`${peer.id}: ${peer.package} ${release}, ${Math.round(bytes / 1e6)} MB`);
  }
  for (const name of PROGRAMS) progress(`${name}: ${await context.program(name)}`);
  progress(`models: ${await makeModels(context)}`);
}

/** Starts all servers. Resolves to {servers, failures: {ID: Error}}. */
async function openAll(context, peers, settings) {
  const servers = [await openServal(context, settings)];
  const failures = {};
  for (const peer of peers) {
    progress(`starting ${peer.title}`);
    try {
      servers.push(await openPeer(context, peer, settings));
    } catch (error) {
      failures[peer.id] = error;
    }
  }
  return { servers, failures };
}

/** The facts of each server, taken while nothing is asked of any. */
async function describeServers(servers) {
  const before = servers.map((server) => server.cpuNs());
  await new Promise((resolve) => {
    setTimeout(resolve, IDLE_MS);
  });
  return servers.map((server, index) => ({
    id: server.id,
    title: server.title,
    release: server.release,
    configuration: server.configuration,
    readySeconds: server.readyMs / 1000,
    memoryMb: server.bytes() / 1e6,
    idleCpuPercent: (server.cpuNs() - before[index]) / 1e4 / IDLE_MS,
    installMb: server.installBytes === undefined ? undefined : server.installBytes / 1e6,
  }));
}

async function openFloor(context, one, floor, settings) {
  const { models, cores } = settings;
  if (floor === 'onnxruntime') {
    const title = `ONNX Runtime in C++, ${cores.length} threads`;
    const [batch] = INPUTS[one.model].shape;
    const options = { modelPath: join(models, one.model), batch, cores, roughIterations: 1 };
    return { id: floor, title, ...(await openModelAlone(context, options)) };
  }
  const isCall = one.protocol === 'grpc';
  const placed = { ...context, cores: { ...context.cores, server: cores } };
  const server = await (isCall ? startCppGrpcEcho : startUwsEcho)(placed);
  const title = isCall ? 'echo, C++ gRPC' : 'echo, uWebSockets.js';
  const side = await openEcho(context, one, server);
  return { id: floor, title, ...side, close: server.stop };
}

/** Asks every server that speaks the case's protocol, and its floors. Resolves to the rows. */
async function runCase(context, one, { peers, servers, failures, expected, settings }) {
  const sides = {};
  const errors = {};
  const others = peers.filter((peer) => speaks(peer, one)).map(({ id, title }) => ({ id, title }));
  const floors = [];
  const attempt = async (id, open) => {
    try {
      sides[id] = await open();
    } catch (error) {
      errors[id] = error;
    }
  };
  for (const { id } of [{ id: 'serval' }, ...others]) {
    const server = servers.find((each) => each.id === id);
    if (server === undefined) errors[id] = failures[id];
    else await attempt(id, () => openCase(context, one, server, expected[one.model]));
  }
  for (const floor of context.options.references ? one.floors : []) {
    await attempt(floor, () => openFloor(context, one, floor, settings));
    floors.push({ id: floor, title: sides[floor]?.title ?? floor });
  }
  try {
    const taken = await inTurns(sides, context.options);
    const all = { rounds: taken.rounds, errors: { ...errors, ...taken.errors } };
    return rowsOf(one, [...others, ...floors], all).map((row) => {
      const error = all.errors[row.id.slice(one.id.length + 1)];
      return error instanceof Skipped ? { ...row, ok: null, skipped: true } : row;
    });
  } finally {
    for (const { id } of floors) await sides[id]?.close();
  }
}

async function runCases(context, cases, all) {
  const rows = [];
  for (const [index, one] of cases.entries()) {
    progress(`[${index + 1}/${cases.length}] ${one.title}`);
    if (context.elapsedSeconds() > context.options.limitSeconds) {
      const error = new Error(`not run: over the limit of ${context.options.limitSeconds} s`);
      rows.push(failedRow(one, { id: 'serval', title: 'Serval' }, error));
    } else rows.push(...(await runCase(context, one, all)));
  }
  return rows;
}

async function expectedOutputs(models) {
  const entries = Object.keys(MODELS).map(async (name) => {
    const { values, shape } = INPUTS[name];
    const file = join(models, name, '1', 'model.onnx');
    return [name, await expectedOutput(file, values, shape)];
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function main() {
  const options = parsePeerOptions(process.argv.slice(2));
  if (options.help) {
    print(HELP);
    return;
  }
  const peers = selectPeers(options.only);
  const cases = selectCases(options.cases);
  const inDocker = peers.filter(({ docker }) => docker).map(({ id }) => id);
  if (inDocker.length > 0) requireDocker(inDocker);
  const context = createContext(options);
  if (options.prepare) {
    await prepare(context, peers);
    return;
  }
  const machine = describeMachine(context.root);
  const cores = serverCores(context.cores, options.serverCores);
  const settings = { models: await makeModels(context), cores, workers: cores.length };
  const expected = await expectedOutputs(settings.models);
  const { servers, failures } = await openAll(context, peers, settings);
  try {
    const described = await describeServers(servers);
    const rows = await runCases(context, cases, { peers, servers, failures, expected, settings });
    const run = { machine, options, servers: described, rows };
    const path = join(RESULTS, `${options.save}.json`);
    writeFileSync(path, `${JSON.stringify(run, null, 1)}\n`);
    print(`\n${formatServers(described)}\n\n${formatRows(rows)}`);
    for (const text of [formatSkipped(rows), formatErrors(rows)]) if (text !== '') progress(text);
    print(`\nwritten: ${relative('.', path)}; ${Math.round(context.elapsedSeconds())} s`);
    process.exitCode = rows.some(({ error, skipped }) => error && !skipped) ? 1 : 0;
  } finally {
    for (const server of servers) await server.stop();
  }
}

main().then(
  () => process.exit(),
  (error) => {
    progress(`peers: ${error.message}`);
    process.exit(2);
  },
);
