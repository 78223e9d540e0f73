// The operator's actions while the clients work: loads, unloads and reloads; versions that are
// added, replaced and removed; scrapes. Every step is checked to have had its effect. Test time
// only.
import { checkHistograms, checkMonotone, parseMetrics } from './metrics.mjs';
import { pause } from './options.mjs';
import { COMING, MOVING, STEADY } from './repository.mjs';

const EFFECT_MS = 60_000;
const TRY_MS = 100;
/** Methods that JavaScript answers. */
const FORWARDED = [
  '/inference.GRPCInferenceService/ServerMetadata',
  '/inference.GRPCInferenceService/ModelStatistics',
  '/inference.GRPCInferenceService/RepositoryIndex',
  '/grpc.health.v1.Health/Check',
];

/** Calls `probe` until it returns ''; throws its last result when that takes too long. */
async function until(what, probe) {
  const limit = performance.now() + EFFECT_MS;
  for (;;) {
    const missing = await probe();
    if (missing === '') return;
    if (performance.now() > limit) throw new Error(`${what}: after ${EFFECT_MS} ms: ${missing}`);
    await pause(TRY_MS);
  }
}

/** Loads, unloads and reloads until `stopping()`. Resolves to {loads}. */
export async function runLoads({ connections, random, stopping }) {
  let loads = 0;
  const post = (model, verb) => connections.json(`/v2/repository/models/${model}/${verb}`, '{}');
  while (!stopping()) {
    const model = random.pick(COMING);
    for (let times = random.int(1, 3); times > 0; times -= 1) await post(model, 'load');
    const ready = await connections.send(`/v2/models/${model}/ready`);
    if (ready.status !== 200) throw new Error(`${model} is loaded and not ready: ${ready.body}`);
    await pause(random.int(0, 50));
    await post(model, 'unload');
    const gone = await connections.send(`/v2/models/${model}/ready`);
    if (gone.status === 200) throw new Error(`${model} is unloaded and still ready`);
    const index = await connections.json('/v2/repository/index', '');
    const entry = index.find(({ name }) => name === model);
    if (entry === undefined || entry.state === 'READY') {
      throw new Error(`index after the unload of ${model}: ${JSON.stringify(entry)}`);
    }
    loads += 1;
    await pause(random.int(0, 100));
  }
  return { loads };
}

/** The constant that the newest version adds, or why there is no response. */
async function answerOf(connections) {
  const body = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [0] }],
  });
  const answer = await connections.send(`/v2/models/${MOVING}/infer`, body);
  if (answer.status !== 200) return answer.body.toString('utf8', 0, 300);
  return JSON.parse(answer.body.toString()).outputs[0].data[0];
}

/** Adds, replaces and removes versions until `stopping()`. Resolves to {versions}. */
export async function runVersions({ connections, random, stopping, repository }) {
  // The latest two of these are served.
  const present = repository.versions();
  let changes = 0;
  const answers = (what, constant) =>
    until(what, async () => {
      const got = await answerOf(connections);
      return got === constant ? '' : `expected x + ${constant}, got ${got}`;
    });
  while (!stopping()) {
    const newest = present.at(-1);
    const step = random.int(0, 3);
    if (step === 0) {
      present.push(newest + 1);
      repository.addVersion(newest + 1, newest + 1);
      await answers(`version ${newest + 1} added`, newest + 1);
    } else if (step === 1) {
      repository.replaceVersion(newest, newest + 0.5);
      await answers(`version ${newest} replaced in place`, newest + 0.5);
      repository.replaceVersion(newest, newest);
      await answers(`version ${newest} put back`, newest);
    } else if (step === 2 && present.length > 1) {
      present.pop();
      repository.removeVersion(newest);
      await answers(`version ${newest} removed`, present.at(-1));
    } else if (step === 3 && present.length > 3) {
      repository.removeVersion(present.shift());
    }
    changes += 1;
    await pause(random.int(0, 500));
  }
  return { versions: changes };
}

/** Makes one scrape and checks it. */
export async function scrape(connections, before) {
  const { status, body } = await connections.send('/metrics');
  if (status !== 200) throw new Error(`/metrics: ${status} ${body.toString('utf8', 0, 300)}`);
  const now = parseMetrics(body.toString());
  checkHistograms(now);
  if (before !== undefined) checkMonotone(before, now, STEADY);
  return now;
}

/** Scrapes and reads statistics until `stopping()`. Resolves to {scrapes}. */
export async function runScrapes({ connections, random, stopping }) {
  let before;
  let scrapes = 0;
  while (!stopping()) {
    before = await scrape(connections, before);
    await connections.json('/v2/models/stats');
    await connections.json('/v2/repository/index', '{"ready":true}');
    for (const method of FORWARDED) {
      const { code, details } = await connections.call(method, Buffer.alloc(0));
      if (code !== 0) throw new Error(`${method}: ${code} ${details}`);
    }
    scrapes += 1;
    await pause(random.int(100, 2000));
  }
  return { scrapes };
}
