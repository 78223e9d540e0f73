// Random ensembles answer exactly as a client that calls their steps one by one: many at once over
// both protocols, while a step gets a new version, and while other clients cancel. A failure prints
// the seed that repeats its choices. Source: docs/guides/coming-from-triton.md, Ensembles.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { control, metric, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { randomOf, workOff, type Random } from '../support/random/choices.js';
import { RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import {
  grpcMessage,
  INFER,
  inferGrpc,
  inferRest,
  restBody,
  type Tensors,
} from '../support/random/tensors.js';
import {
  configOf,
  oneByOne,
  putZoo,
  randomEnsemble,
  randomInputs,
  shiftModel,
  type RandomEnsemble,
  type ZooModel,
} from './random-zoo.js';

const ENSEMBLES = 60;
/** The last ones may have the others as steps. */
const NESTED = 10;
const INPUTS = 4;
const IN_FLIGHT = 16;
const SLOW_MS = 3;

interface Job {
  readonly ensemble: RandomEnsemble;
  readonly inputs: Tensors;
  readonly expected: Tensors;
  /** undefined: all. */
  readonly outputs?: readonly string[];
}

describe('random ensembles', () => {
  const folders = new ModelFolders();
  let repository: string;
  let zoo: readonly ZooModel[];
  let server: ServalProcess;
  let grpc: RawClient;
  before(async () => {
    repository = folders.repository('random', []);
    zoo = putZoo(repository, SLOW_MS);
    server = await startServer([
      ...['--model-repository', repository, '--model-control-mode=explicit', '--load-model=*'],
    ]);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
    folders.remove();
  });

  const loaded = async (ensemble: RandomEnsemble, random: Random): Promise<RandomEnsemble> => {
    put(join(repository, ensemble.name, '1', '.keep'), '');
    put(join(repository, ensemble.name, 'config.pbtxt'), configOf(ensemble, random));
    await control(server, `/v2/repository/models/${ensemble.name}/load`);
    return ensemble;
  };
  const call = (model: string, inputs: Tensors): Promise<Tensors> =>
    inferRest(server, model, inputs);
  const jobOf = async (ensemble: RandomEnsemble, random: Random): Promise<Job> => {
    const inputs = randomInputs(ensemble, random);
    return { ensemble, inputs, expected: await oneByOne(ensemble, inputs, call) };
  };
  const answerOf = ({ ensemble, inputs, outputs }: Job, random: Random): Promise<Tensors> =>
    random.below(2) === 0
      ? inferRest(server, ensemble.name, inputs, outputs)
      : inferGrpc(grpc, ensemble.name, inputs, outputs);
  const told = ({ ensemble, inputs }: Job, { where }: Random): string =>
    `${where}: ${JSON.stringify(ensemble.steps)} of ${JSON.stringify(inputs)}`;

  it('answer as their steps do, 16 at once, all outputs or some', async (t) => {
    const random = randomOf(t);
    const ensembles: RandomEnsemble[] = [];
    for (let i = 0; i < ENSEMBLES; i += 1) {
      const models = i < ENSEMBLES - NESTED ? zoo : [...zoo, ...ensembles];
      ensembles.push(await loaded(randomEnsemble(random, `random${i}`, models), random));
    }
    const made: Job[] = [];
    const wanted = ensembles.flatMap((one) => Array.from({ length: INPUTS }, () => one));
    await workOff(wanted, IN_FLIGHT, async (ensemble) => {
      made.push(await jobOf(ensemble, random));
    });
    const jobs = made.flatMap((job): readonly Job[] => {
      const names = random.shuffled(Object.keys(job.expected));
      const outputs = names.slice(0, 1 + random.below(names.length));
      const some = outputs.map((name) => [name, job.expected[name]] as const);
      return [job, job, { ...job, outputs, expected: Object.fromEntries(some) as Tensors }];
    });
    await workOff(random.shuffled(jobs), IN_FLIGHT, async (job) => {
      assert.deepEqual(await answerOf(job, random), job.expected, told(job, random));
    });
    t.diagnostic(`${ensembles.length} ensembles, ${jobs.length} requests`);
  });

  it('answer with one version of a step that is replaced, without a failed request', async (t) => {
    const random = randomOf(t);
    const ensembles: RandomEnsemble[] = [];
    const shiftsOf = ({ steps }: RandomEnsemble): number =>
      steps.filter(({ model }) => model === 'shift').length;
    while (ensembles.length < 6) {
      const next = randomEnsemble(random, `shifted${ensembles.length}`, [
        ...zoo,
        ...zoo.filter(({ name }) => name === 'shift'),
      ]);
      if (shiftsOf(next) >= 2) ensembles.push(await loaded(next, random));
    }
    const old = await Promise.all(ensembles.map((ensemble) => jobOf(ensemble, random)));
    const seen = old.map((): Tensors[] => []);
    let isDone = false;
    const client = async (): Promise<void> => {
      while (!isDone) {
        const at = random.below(old.length);
        const job = old[at];
        if (job !== undefined) seen[at]?.push(await answerOf(job, random));
      }
    };
    const traffic = Promise.all(Array.from({ length: IN_FLIGHT }, client));
    put(join(repository, 'shift', '2', 'model.onnx'), shiftModel(1000));
    await control(server, '/v2/repository/models/shift/load');
    const now = await Promise.all(
      old.map(async ({ ensemble, inputs }) => oneByOne(ensemble, inputs, call)),
    );
    await until('all answers are of the new version', () =>
      seen.every((answers, at) => JSON.stringify(answers.at(-1)) === JSON.stringify(now[at])),
    );
    isDone = true;
    await traffic;
    let differ = 0;
    for (const [at, answers] of seen.entries()) {
      const job = old[at];
      if (job === undefined) continue;
      const allowed = [job.expected, now[at]].map((one) => JSON.stringify(one));
      if (allowed[0] !== allowed[1]) differ += 1;
      const others = answers.filter((answer) => !allowed.includes(JSON.stringify(answer)));
      assert.deepEqual(others, [], told(job, random));
    }
    assert.ok(differ > 0, `${random.where}: the new version shows`);
  });

  it('answer while requests beside them are cancelled', async (t) => {
    const random = randomOf(t);
    const slow = zoo.filter(({ name }) =>
      ['slow', 'halve', 'spread', 'sums', 'add'].includes(name),
    );
    const ensembles: RandomEnsemble[] = [];
    while (ensembles.length < 8) {
      const next = randomEnsemble(random, `cancelled${ensembles.length}`, slow);
      if (next.steps.some(({ model }) => model === 'slow'))
        ensembles.push(await loaded(next, random));
    }
    const jobs = await Promise.all(ensembles.map((ensemble) => jobOf(ensemble, random)));
    const rest = async ({ ensemble, inputs }: Job): Promise<void> => {
      const path = `/v2/models/${ensemble.name}/infer`;
      const connection = await RawConnection.open(server.httpPort);
      await connection.write(requestBytes('POST', path, restBody(inputs)));
      await setTimeout(random.below(2 * SLOW_MS));
      connection.close();
    };
    const unary = async ({ ensemble, inputs }: Job): Promise<void> => {
      const message = grpcMessage(ensemble.name, inputs);
      const milliseconds = random.below(2 * SLOW_MS);
      const { code, details } = await grpc.unary(INFER, message, {}, (begun) => {
        void setTimeout(milliseconds).then(() => begun.cancel());
      });
      assert.ok(code === 0 || code === 1, details);
    };
    const all = Array.from({ length: 600 }, (_, i) => [random.one(jobs), i % 3] as const);
    await workOff(all, IN_FLIGHT, async ([job, kind]) => {
      if (kind === 0) await rest(job);
      else if (kind === 1) await unary(job);
      else assert.deepEqual(await answerOf(job, random), job.expected, told(job, random));
    });
    for (const job of jobs) {
      assert.deepEqual(await answerOf(job, random), job.expected, told(job, random));
    }
    const name = 'nv_inference_pending_request_count';
    await until('no request is left', async () => (await metric(server, name)) === 0);
    assert.ok((await metric(server, 'nv_inference_request_failure', 'CANCELED')) > 0);
  });
});
