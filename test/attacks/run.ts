// The attacks on memory, one after another, each on a new server: compares peak resident memory
// with idle + the limit + 20 %, checks that others were served meanwhile, and what is left
// afterwards. Exit status 1 if something exceeds its limit. Test time only.
//
//   make attacks [ARGS="--memory-limit 512M --only http-bodies"]
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { parseArgs } from 'node:util';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { metric } from '../e2e/support/operating.js';
import { SteadyLoad } from '../e2e/support/polling.js';
import { exchange } from '../e2e/support/raw-http.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import {
  ATTACKS,
  INFER,
  MIB,
  NARROW_ELEMENTS,
  SMALL_BODY,
  WIDE_BODY,
  WIDE_ELEMENTS,
  type Attack,
} from './attacks.js';
import { framed, framedCall, inferMessage, wideModel } from './grpc-frames.js';

/** The memory of V8, grpc-js and the model runtime that is not counted in the budget. */
const BESIDE = 64 * MIB;
const OVER_PART = 1.2;
const AFTER_PART = 1.3;
const AFTER_BESIDE = 24 * MIB;
const AFTER_MS = 10_000;
/**
 * The time between two checks; after several checks without a change the attack has reached its
 * peak.
 */
const LOOK_MS = 250;
const QUIET_LOOKS = 12;
const ATTACK_MS_MAX = 120_000;

interface Outcome {
  readonly before: number;
  readonly peak: number;
  readonly after: number;
  readonly refused: number;
  readonly served: number;
  readonly failures: readonly string[];
  readonly seconds: number;
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
const mib = (bytes: number): string => `${Math.round(bytes / MIB)}`;

class Watched {
  constructor(readonly server: ServalProcess) {}

  status(key: string): number {
    const text = readFileSync(`/proc/${this.server.ready?.pid ?? 0}/status`, 'utf8');
    return Number(new RegExp(`^${key}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  }

  /** Resets the peak of resident memory. */
  clearPeak(): void {
    writeFileSync(`/proc/${this.server.ready?.pid ?? 0}/clear_refs`, '5');
  }

  /** Runs each path once, so that it allocates the memory that it keeps. */
  async warm(): Promise<void> {
    const { httpPort, grpcPort } = this.server;
    const post = (path: string, body: string) => exchange(httpPort, 'POST', path, body);
    for (let i = 0; i < 3; i += 1) {
      await post('/v2/models/wide/infer', WIDE_BODY);
      await post('/v2/models/narrow/infer', WIDE_BODY);
      await post(INFER, SMALL_BODY);
    }
    const session = connect(`http://127.0.0.1:${grpcPort}`);
    for (let i = 0; i < 3; i += 1) {
      const one = framedCall(session, framed(inferMessage('wide', 'x', [0.5], [1])));
      one.stream.resume();
      await one.status;
    }
    session.destroy();
    await pause(3000);
  }

  /** Settles when resident memory and the used budget no longer change. */
  async settled(): Promise<void> {
    const end = performance.now() + ATTACK_MS_MAX;
    let last = '';
    for (let quiet = 0; quiet < QUIET_LOOKS && performance.now() < end; ) {
      await pause(LOOK_MS);
      const used = await metric(this.server, 'serval_memory_used_bytes');
      const now = `${Math.round(this.status('RssAnon') / (8 * MIB))} ${Math.round(used / MIB)}`;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  }
}

async function measure(attack: Attack, repository: string, limit: string): Promise<Outcome> {
  const before: readonly string[] =
    attack.addressBytes === undefined ? [] : ['prlimit', `--as=${attack.addressBytes}`];
  const server = await startServer(
    [repository, '--memory-limit', limit, '--log-level', 'warn'],
    {},
    before,
  );
  try {
    const watched = new Watched(server);
    await watched.warm();
    const idle = watched.status('RssAnon');
    const load = new SteadyLoad(
      server.httpPort,
      '/v1/models/half_plus_three:predict',
      '{"instances":[1.0,2.0,5.0]}',
    );
    watched.clearPeak();
    const began = performance.now();
    const end = await attack.run(server, () => watched.settled());
    await load.more(20);
    const seconds = (performance.now() - began) / 1000;
    // Minus the pages of code, which are mapped meanwhile.
    const peak = watched.status('VmHWM') - watched.status('RssFile');
    const refused = await metric(server, 'serval_memory_refused_total');
    await load.stop();
    end();
    await pause(AFTER_MS);
    return {
      before: idle,
      peak,
      after: watched.status('RssAnon'),
      refused,
      seconds,
      served: load.answered,
      failures: load.failures,
    };
  } catch (error) {
    print(server.stderr.slice(-2000));
    throw error;
  } finally {
    await server.stop();
  }
}

function problems(outcome: Outcome, limitBytes: number): readonly string[] {
  const { before, peak, after, failures } = outcome;
  return [
    ...(peak - before > limitBytes * OVER_PART + BESIDE ? ['over the limit'] : []),
    ...(after > before * AFTER_PART + AFTER_BESIDE ? ['memory did not go back'] : []),
    ...failures.slice(0, 1),
  ];
}

const bytesOf = (text: string): number => {
  const [, number = '', unit = ''] = /^(\d+)([MG]?)$/.exec(text) ?? [];
  return Number(number) * (unit === 'G' ? 1024 * MIB : unit === 'M' ? MIB : 1);
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      'memory-limit': { type: 'string', default: '512M' },
      only: { type: 'string' },
    },
  });
  const limit = values['memory-limit'];
  const chosen = ATTACKS.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.length === 0) throw new Error(`--only: no attack '${values.only ?? ''}'`);
  const folders = new ModelFolders();
  const repository = folders.repository('attacked', ['half_plus_three', 'identity_fp32']);
  folders.add(repository, 'wide', wideModel('wide', WIDE_ELEMENTS));
  folders.add(repository, 'narrow', wideModel('narrow', NARROW_ELEMENTS));
  let bad = 0;
  print(`MiB resident under --memory-limit ${limit}; others' requests; seconds`);
  print(`${'attack'.padEnd(18)} before   peak  grown  after  refused  served     s`);
  for (const attack of chosen) {
    const outcome = await measure(attack, repository, limit);
    const wrong = problems(outcome, bytesOf(limit));
    const note = wrong.length > 0 && attack.known !== undefined ? ` (${attack.known})` : '';
    bad += wrong.length > 0 && attack.known === undefined ? 1 : 0;
    const { before, peak, after, refused, served, seconds } = outcome;
    const columns = [
      mib(before).padStart(6),
      mib(peak).padStart(6),
      mib(peak - before).padStart(6),
      mib(after).padStart(6),
      String(refused).padStart(8),
      String(served).padStart(7),
      seconds.toFixed(1).padStart(5),
    ];
    print(`${attack.name.padEnd(18)} ${columns.join(' ')}  ${wrong.join('; ')}${note}`);
  }
  folders.remove();
  return bad === 0 ? 0 : 1;
}

process.exitCode = await main();
