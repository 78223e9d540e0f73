// A row that the model refuses fails its own request and none of those batched with it: Spark's
// handleInvalid="error", and an index of TensorFlow's gather without an element. Source:
// docs/guides/batching.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NORM_PIPELINE } from '../../unit/importers/plan/spark-folder.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, put, statistics, v2Values } from '../support/operating.js';
import { errorOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const REQUESTS = 6;
const DELAYED = `max_batch_size: ${REQUESTS}
dynamic_batching { max_queue_delay_microseconds: 2000000 }
`;
const GATHER = `
node { name: "ids" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 1 } } } } }
node { name: "table" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } }
  float_val: 10 float_val: 20 float_val: 30 } } } }
node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "y" op: "GatherV2" input: "table" input: "ids" input: "axis"
  attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } }
  attr { key: "Taxis" value { type: DT_INT32 } } }
`;
const GATHER_CONFIG = `platform: "tensorflow_graphdef"
input { name: "ids" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ 1 ] }
`;
// The refused row is the second of its request.
const REFUSED = {
  gather: /indices\[1,0\] = 7 is not in \[0, 3\)/,
  spark: /row 1: column 'b' is missing/,
};

type Model = keyof typeof REFUSED;

/** Two rows, whose results `answerOf` gives; the second one is refused. */
function bodyOf(model: Model, i: number, bad: boolean): string {
  const inputs =
    model === 'gather'
      ? [{ name: 'ids', datatype: 'INT32', shape: [2, 1], data: [i % 3, bad ? 7 : 2] }]
      : [
          { name: 'a', datatype: 'FP64', shape: [2], data: [3 * (i + 1), 0] },
          { name: 'b', datatype: 'FP64', shape: [2], data: [4 * (i + 1), bad ? null : 5] },
        ];
  const outputs = [{ name: model === 'gather' ? 'y' : 'norm' }];
  return JSON.stringify({ inputs, outputs });
}

const answerOf = (model: Model, i: number): readonly number[] =>
  model === 'gather' ? [10 * (1 + (i % 3)), 30] : [0.6, 0.8, 0, 1];

/** Sends `count` requests at once, of which `bad` are refused. */
async function askAll(server: ServalProcess, model: Model, count: number, bad: readonly number[]) {
  const all = Array.from({ length: count }, (_, i) => i);
  const answers = await Promise.all(
    all.map((i) => infer(server, model, bodyOf(model, i, bad.includes(i)))),
  );
  for (const [i, answer] of answers.entries()) {
    if (bad.includes(i)) {
      assert.equal(answer.status, 400, `request ${i}`);
      assert.match(errorOf(answer), REFUSED[model]);
      continue;
    }
    assert.equal(answer.status, 200, `request ${i}: ${answer.body}`);
    assert.deepEqual(v2Values(answer), answerOf(model, i), `request ${i}`);
  }
}

function fill(repository: string, config: string): void {
  put(join(repository, 'gather', '1', 'model.graphdef'), GATHER);
  for (const [path, text] of Object.entries(NORM_PIPELINE)) {
    put(join(repository, 'spark', '1', path), text);
  }
  if (config === '') return;
  put(join(repository, 'gather', 'config.pbtxt'), GATHER_CONFIG + config);
  put(join(repository, 'spark', 'config.pbtxt'), config);
}

describe('a request that is refused in a batch', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  describe('with a model that batches by its configuration', () => {
    let server: ServalProcess;
    before(async () => {
      const repository = folders.repository('asked', []);
      fill(repository, DELAYED.replace(`${REQUESTS}`, `${2 * REQUESTS}`));
      server = await startServer([repository]);
    });
    after(() => server.stop());

    for (const model of ['gather', 'spark'] as const) {
      it(`does not affect the other requests of ${model}`, async () => {
        await askAll(server, model, REQUESTS, []);
        const joined = await statistics(server, model);
        assert.deepEqual([joined.inference_count, joined.execution_count], [12, 1]);
        for (const bad of [[0], [3], [REQUESTS - 1], [1, 4]]) {
          await askAll(server, model, REQUESTS, bad);
        }
        await askAll(server, model, REQUESTS, []);
        const after = await statistics(server, model);
        // Every batch with a bad request was repeated one by one, and later ones are batched again.
        assert.equal(after.execution_count, 1 + 5 + 5 + 5 + 4 + 1);
      });
    }
  });

  it('does not affect the other requests of a model that batches by itself', async () => {
    const repository = folders.repository('auto', []);
    fill(repository, '');
    const server = await startServer([repository, '--exec-mode=queued']);
    try {
      for (const model of ['gather', 'spark'] as const) {
        for (let round = 0; round < 5; round += 1) await askAll(server, model, 24, [round, 11, 20]);
      }
    } finally {
      await server.stop();
    }
  });
});
