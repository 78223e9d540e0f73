// A GPU's results, compared with the CPU's in the same server: each provider, batches of several
// sizes, sequential and concurrent, with and without CUDA graphs. Test time only.
import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { infer, put } from '../e2e/support/operating.js';
import { exchange, jsonOf } from '../e2e/support/raw-http.js';
import { sharedModels } from './shared-models.js';
import { GpuServer, machineOf, ON_CPU, onGpu } from './machine.js';
import { randomOf, TABLE_ROWS, ZOO } from './zoo.js';

const machine = machineOf();
const ROWS = [1, 2, 3, 8, 17];
const GRAPHS = 'max_batch_size: 8 dynamic_batching { } optimization { cuda { graphs: true } }';
/** TensorFlow's own models, besides the project's. */
const SAVED = ['saved_model_half_plus_three', 'saved_model_half_plus_two_2_versions'];

interface Port {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}
interface Tensor extends Port {
  readonly data: readonly number[];
}

for (const provider of machine.providers) {
  describe(`answers of ${provider}`, () => {
    const gpu = new GpuServer();
    const saved = SAVED.filter((name) => existsSync(join(sharedModels(), name)));
    before(async () => {
      for (const { name, bytes } of ZOO) {
        gpu.add(`${name}_cpu`, bytes, ON_CPU);
        gpu.add(`${name}_gpu`, bytes, onGpu(provider, 'gpus: [ 0 ] count: 2'));
        gpu.add(`${name}_graphs`, bytes, `${onGpu('cuda')} ${GRAPHS}`);
      }
      for (const name of saved) {
        for (const [suffix, config] of [
          ['cpu', ON_CPU],
          ['gpu', onGpu(provider)],
        ] as const) {
          const folder = join(gpu.models, `${name}_${suffix}`);
          cpSync(join(sharedModels(), name), folder, { recursive: true });
          put(join(folder, 'config.pbtxt'), `platform: "tensorflow_savedmodel" ${config}`);
        }
      }
      await gpu.start();
    });
    after(() => gpu.stop());

    const inputsOf = async (model: string, rows: number, seed: number): Promise<Tensor[]> => {
      const response = await exchange(gpu.server.httpPort, 'GET', `/v2/models/${model}`);
      assert.equal(response.status, 200, response.body.toString());
      const { inputs } = jsonOf(response) as { inputs: readonly Port[] };
      const random = randomOf(seed);
      return inputs.map(({ name, datatype, shape }) => {
        const dims = shape.map((dim) => (dim < 0 ? rows : dim));
        const count = dims.reduce((product, dim) => product * dim, 1);
        const data = Array.from({ length: count }, () =>
          datatype === 'FP32' ? random() : Math.floor(((random() + 1) / 2) * TABLE_ROWS),
        );
        return { name, datatype, shape: dims, data };
      });
    };
    const answersOf = async (model: string, inputs: readonly Tensor[]): Promise<Tensor[]> => {
      const response = await infer(gpu.server, model, JSON.stringify({ inputs }));
      assert.equal(response.status, 200, `${model}: ${response.body.toString()}`);
      return (jsonOf(response) as { outputs: Tensor[] }).outputs;
    };
    const expectClose = (got: readonly Tensor[], wanted: readonly Tensor[], within: number) => {
      assert.equal(got.length, wanted.length);
      for (const [i, { name, shape, data }] of wanted.entries()) {
        const other = got[i];
        assert.deepEqual([other?.name, other?.shape], [name, shape]);
        const largest = data.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
        for (const [at, one] of data.entries()) {
          const off = Math.abs((other?.data[at] ?? NaN) - one);
          assert.ok(
            off <= within * largest + 1e-5,
            `${name}[${at}]: ${other?.data[at]}, CPU ${one}`,
          );
        }
      }
    };

    for (const { name, tolerance } of ZOO) {
      it(`${name}: batches of ${ROWS.join(', ')}`, async () => {
        for (const rows of ROWS) {
          const inputs = await inputsOf(`${name}_cpu`, rows, rows);
          const wanted = await answersOf(`${name}_cpu`, inputs);
          for (let again = 0; again < 3; again++) {
            expectClose(await answersOf(`${name}_gpu`, inputs), wanted, tolerance);
          }
        }
      });

      it(`${name}: many at once, each its own`, async () => {
        const sent = await Promise.all(
          Array.from({ length: 48 }, (_, i) => inputsOf(`${name}_cpu`, 1 + (i % 3), 100 + i)),
        );
        const wanted = await Promise.all(sent.map((one) => answersOf(`${name}_cpu`, one)));
        for (const model of [`${name}_gpu`, `${name}_graphs`]) {
          const got = await Promise.all(sent.map((one) => answersOf(model, one)));
          got.forEach((one, i) => expectClose(one, wanted[i] ?? [], tolerance));
        }
      });
    }

    it('TensorFlow models', async (context) => {
      if (saved.length === 0) return context.skip(`none in ${sharedModels()}`);
      for (const name of saved) {
        const inputs = await inputsOf(`${name}_cpu`, 5, 7);
        const wanted = await answersOf(`${name}_cpu`, inputs);
        expectClose(await answersOf(`${name}_gpu`, inputs), wanted, 1e-5);
      }
    });
  });
}
