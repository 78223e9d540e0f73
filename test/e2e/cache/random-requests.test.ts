// Random requests to cached models, many at once and over both protocols, get the answers of equal
// models without a cache, also while a small cache evicts. A failure prints the seed that repeats
// its choices. Source: docs/guides/response-cache.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { metric, put, statistics } from '../support/operating.js';
import { randomOf, workOff, type Random } from '../support/random/choices.js';
import {
  inferGrpc,
  inferRest,
  type Datatype,
  type Tensor,
  type Tensors,
} from '../support/random/tensors.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const REQUESTS = 1500;
const DISTINCT = 150;
const IN_FLIGHT = 16;

const float = (name: string) => ({ name, type: 'float', shape: ['n', 'm'] }) as const;

/** Three outputs of two inputs, which one request may want in any order. */
const NUMBERS: OnnxModel = {
  graph: {
    name: 'numbers',
    inputs: [float('a'), float('b')],
    outputs: [float('sum'), float('product'), float('same')],
    nodes: [
      { op: 'Add', inputs: ['a', 'b'], outputs: ['sum'] },
      { op: 'Mul', inputs: ['a', 'b'], outputs: ['product'] },
      { op: 'Identity', inputs: ['a'], outputs: ['same'] },
    ],
  },
};

const TEXTS: OnnxModel = {
  graph: {
    name: 'texts',
    inputs: [{ name: 'a', type: 'string', shape: ['n', 'm'] }],
    outputs: [{ name: 'same', type: 'string', shape: ['n', 'm'] }],
    nodes: [{ op: 'Identity', inputs: ['a'], outputs: ['same'] }],
  },
};

const MODELS = [
  { name: 'numbers', model: NUMBERS, inputs: ['a', 'b'], outputs: ['sum', 'product', 'same'] },
  { name: 'texts', model: TEXTS, inputs: ['a'], outputs: ['same'] },
] as const;

/** Values that a careless key would take for each other. */
const VALUES: Readonly<Record<'FP32' | 'BYTES', readonly (number | string)[]>> = {
  FP32: [0, -0, 1, -1, 2 ** -149, 16_777_216],
  BYTES: ['', 'a', 'aa', 'b', '\u0000', 'ü'],
};

interface Request {
  readonly model: (typeof MODELS)[number];
  readonly inputs: Tensors;
  readonly outputs: readonly string[] | undefined;
}

function randomRequest(random: Random): Request {
  const { below, one, shuffled } = random;
  const model = one(MODELS);
  const datatype: Datatype & keyof typeof VALUES = model.name === 'texts' ? 'BYTES' : 'FP32';
  // The same values in several shapes.
  const shape = one([
    [1, 2],
    [2, 1],
    [1, 4],
    [2, 2],
    [4, 1],
  ]);
  const count = (shape[0] ?? 1) * (shape[1] ?? 1);
  const tensorOf = (): Tensor => ({
    ...{ datatype, shape },
    data: Array.from({ length: count }, () => one(VALUES[datatype])),
  });
  const outputs = shuffled(model.outputs).slice(0, 1 + below(model.outputs.length));
  return {
    model,
    inputs: Object.fromEntries(shuffled(model.inputs).map((name) => [name, tensorOf()])),
    outputs: below(2) === 0 ? undefined : outputs,
  };
}

describe('random requests to cached models', () => {
  const folders = new ModelFolders();
  let repository: string;
  before(() => {
    repository = folders.repository('cached', []);
    for (const { name, model } of MODELS) {
      put(join(repository, name, '1', 'model.onnx'), encodeModel(model));
      put(join(repository, `cached_${name}`, '1', 'model.onnx'), encodeModel(model));
      put(join(repository, `cached_${name}`, 'config.pbtxt'), 'response_cache { enable: true }');
    }
  });
  after(() => folders.remove());

  const check = async (server: ServalProcess, grpc: RawClient, random: Random): Promise<void> => {
    const distinct = Array.from({ length: DISTINCT }, () => randomRequest(random));
    const requests = Array.from({ length: REQUESTS }, () => random.one(distinct));
    await workOff(requests, IN_FLIGHT, async ({ model, inputs, outputs }) => {
      const call = (name: string): Promise<Tensors> =>
        random.below(2) === 0
          ? inferRest(server, name, inputs, outputs)
          : inferGrpc(grpc, name, inputs, outputs);
      const [cached, fresh] = await Promise.all([call(`cached_${model.name}`), call(model.name)]);
      const where = `${random.where}: ${JSON.stringify({ inputs, outputs })}`;
      assert.deepEqual(cached, fresh, where);
      assert.deepEqual(Object.keys(cached), Object.keys(fresh), where);
    });
  };

  for (const { bytes, evicts } of [
    { bytes: 1_048_576, evicts: false },
    { bytes: 16_384, evicts: true },
  ]) {
    it(`are answered as by the model, with a cache of ${bytes} bytes`, async (t) => {
      const random = randomOf(t);
      const server = await startServer([
        ...['--model-repository', repository, `--cache-config=local,size=${bytes}`],
      ]);
      const grpc = new RawClient(server.grpcPort);
      try {
        await check(server, grpc, random);
        let hits = 0;
        for (const { name } of MODELS) {
          const { inference_stats: stats } = await statistics(server, `cached_${name}`);
          hits += Number(stats['cache_hit']?.count);
        }
        const evicted = await metric(server, 'serval_response_cache_evicted_total');
        t.diagnostic(`${hits} of ${REQUESTS} requests were hits, ${evicted} responses left`);
        assert.equal(evicted > 0, evicts);
        assert.ok(hits > 0);
        if (!evicts) assert.ok(hits >= REQUESTS - DISTINCT, 'each distinct request runs once');
      } finally {
        grpc.close();
        await server.stop();
      }
    });
  }
});
