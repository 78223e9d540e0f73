// Whatever other clients send at the same time, a request gets the response that it gets alone: for
// models with independent rows and for others, under every setting that batches, pads or splits.
// Source: docs/guides/batching.md.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { OnnxModel } from '../../../ts/importers/onnx/builder.js';
import {
  generator,
  joiningZoo,
  softmaxOverRows,
  timeFirstLstm,
  twoTowers,
  type ZooModel,
} from '../support/joining-zoo.js';
import { ModelFolders } from '../support/model-folders.js';
import { statistics } from '../support/operating.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const SEED = 20_260;
const CLIENTS = 8;
const DYNAMIC = 'dynamic_batching { max_queue_delay_microseconds: 500';
const parameter = (name: string, value: string): string =>
  `parameters { key: "serval.${name}" value { string_value: "${value}" } }\n`;

interface Setting {
  readonly config?: string;
  /** Batching is requested by name, which is only correct for models with independent rows. */
  readonly asked?: boolean;
  readonly rowsMax: number;
}

const SETTINGS: Readonly<Record<string, Setting>> = {
  plain: { rowsMax: 6 },
  never: { config: 'max_batch_size: 0\n', rowsMax: 3 },
  padded: { config: `max_batch_size: 8\n${parameter('allowed_rows', '2,4,8')}`, rowsMax: 5 },
  pieces: { config: `max_batch_size: 4\n${parameter('split', 'true')}`, rowsMax: 11 },
  ragged: { config: `max_batch_size: 8\n${parameter('pad_inner', 'true')}`, rowsMax: 3 },
  preferred: {
    config: `max_batch_size: 8\n${DYNAMIC} preferred_batch_size: [ 3, 6 ] }\n`,
    asked: true,
    rowsMax: 4,
  },
  everything: {
    config:
      `max_batch_size: 6\n${DYNAMIC} preferred_batch_size: [ 4 ] }\n` +
      parameter('allowed_rows', '3,6') +
      parameter('split', 'true'),
    asked: true,
    rowsMax: 15,
  },
};

interface Tensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string | boolean)[];
}

/** A request with random rows and inner dimensions. */
function request(model: OnnxModel, zoo: Partial<ZooModel>, rowsMax: number, random: () => number) {
  const rowsOf = (): number => 1 + Math.floor(random() * rowsMax);
  const pick = zoo.inner === undefined ? 0 : zoo.inner[Math.floor(random() * zoo.inner.length)];
  const rows = rowsOf();
  const inputs = model.graph.inputs.map(({ name, type, shape = [] }, i): Tensor => {
    const first = zoo.towers === true && i > 0 ? rowsOf() : rows;
    const dims = [first, ...shape.slice(1).map((dim) => Number(dim ?? pick))];
    const count = dims.reduce((product, dim) => product * dim, 1);
    const text = type === 'string';
    const data = Array.from({ length: count }, () =>
      text ? `w${Math.floor(random() * 1000)}` : Math.fround(random() * 4 - 2),
    );
    return { name, datatype: text ? 'BYTES' : 'FP32', shape: dims, data };
  });
  return JSON.stringify({ inputs });
}

async function ask(server: ServalProcess, model: string, body: string): Promise<readonly Tensor[]> {
  const url = `http://127.0.0.1:${server.httpPort}/v2/models/${model}/infer`;
  const answer = await fetch(url, { method: 'POST', body });
  const text = await answer.text();
  assert.equal(answer.status, 200, `${model}: ${text}`);
  return (JSON.parse(text) as { outputs: readonly Tensor[] }).outputs;
}

function same(a: readonly Tensor[], b: readonly Tensor[]): boolean {
  return a.every((one, i) => {
    const other = b[i];
    if (other === undefined || String(one.shape) !== String(other.shape)) return false;
    return one.data.every((value, k) => {
      const number = other.data[k];
      if (typeof value !== 'number' || typeof number !== 'number') return value === number;
      return Math.abs(value - number) <= 1e-4 + 1e-4 * Math.abs(value);
    });
  });
}

/**
 * The number of requests, sent by several clients at once, whose response differs from the one
 * alone.
 */
async function wrongAnswers(
  server: ServalProcess,
  model: string,
  bodies: readonly string[],
  clients = CLIENTS,
): Promise<number> {
  const alone: (readonly Tensor[])[] = [];
  for (const body of bodies) alone.push(await ask(server, model, body));
  let wrong = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let i = client; i < bodies.length; i += clients) {
        const answer = await ask(server, model, bodies[i] ?? '');
        if (!same(alone[i] ?? [], answer)) wrong += 1;
      }
    }),
  );
  return wrong;
}

async function configOf(server: ServalProcess, model: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/${model}/config`);
  return (await answer.json()) as Record<string, unknown>;
}

describe('requests of a repository without configurations', () => {
  const folders = new ModelFolders();
  const models: Readonly<Record<string, OnnxModel>> = {
    towers: twoTowers(),
    lstm: timeFirstLstm(),
    softmax: softmaxOverRows(),
  };
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('plain', []);
    for (const [name, model] of Object.entries(models)) {
      folders.add(repository, name, model);
      folders.add(repository, `${name}_never`, model);
      writeFileSync(join(repository, `${name}_never`, 'config.pbtxt'), 'max_batch_size: 0\n');
      folders.add(repository, `${name}_asked`, model);
      writeFileSync(
        join(repository, `${name}_asked`, 'config.pbtxt'),
        'max_batch_size: 4\ndynamic_batching { }\n',
      );
    }
    server = await startServer(['--model-repository', repository, '--exec-mode', 'queued']);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('are not joined where the first dim is no batch, and the configuration says so', async () => {
    const found: Record<string, unknown> = {};
    for (const [name, model] of Object.entries(models)) {
      const random = generator(SEED);
      const bodies = Array.from({ length: 160 }, () => request(model, { inner: [3] }, 1, random));
      for (const served of [name, `${name}_never`]) {
        const wrong = await wrongAnswers(server, served, bodies);
        const config = await configOf(server, served);
        found[served] = [wrong, config['max_batch_size'], config['dynamic_batching']];
      }
    }
    const right = Object.fromEntries(Object.keys(found).map((name) => [name, [0, 0, undefined]]));
    assert.deepEqual(found, right);
  });

  it('are joined as configured, and the log says what comes of it', () => {
    const warned = server.stderr
      .split('\n')
      .filter((line) => line.includes('"level":"warn"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((line) => line['finding'] !== undefined);
    assert.deepEqual(
      warned.map((line) => line['model']).sort(),
      ['lstm_asked', 'softmax_asked', 'towers_asked'],
      server.stderr,
    );
    for (const { finding } of warned) {
      assert.match(
        String(finding),
        /^output '\w+': 2 rows together return shape .* one row alone returns /,
      );
    }
  });
});

describe('random requests of a zoo of models', () => {
  const folders = new ModelFolders();
  const served: { readonly name: string; readonly zoo: ZooModel; readonly setting: Setting }[] = [];
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('zoo', []);
    for (const [kind, setting] of Object.entries(SETTINGS)) {
      for (const zoo of joiningZoo()) {
        if (setting.asked === true && !zoo.rowwise) continue;
        const name = `${zoo.name}.${kind}`;
        folders.add(repository, name, zoo.model);
        if (setting.config !== undefined) {
          writeFileSync(join(repository, name, 'config.pbtxt'), setting.config);
        }
        served.push({ name, zoo, setting });
      }
    }
    server = await startServer(['--model-repository', repository, '--exec-mode', 'queued']);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('are answered as alone, whatever comes with them', async () => {
    const random = generator(SEED);
    const wrong: string[] = [];
    for (const { name, zoo, setting } of served) {
      // With max_batch_size, the first dimensions of a request are one number.
      const towers = { ...zoo, towers: zoo.towers === true && setting === SETTINGS['plain'] };
      const bodies = Array.from({ length: 24 }, () =>
        request(zoo.model, towers, setting.rowsMax, random),
      );
      const count = await wrongAnswers(server, name, bodies);
      if (count > 0) wrong.push(`${name}: ${count} of ${bodies.length}`);
    }
    assert.deepEqual(wrong, [], `seed ${SEED}`);
  });

  it('run together where the rows keep to themselves, and only there', async () => {
    for (const { name, zoo, setting } of served) {
      const config = await configOf(server, name);
      const joins = zoo.rowwise && setting !== SETTINGS['never'];
      assert.equal(config['dynamic_batching'] !== undefined, joins, name);
      if (setting === SETTINGS['plain']) assert.equal(config['max_batch_size'], joins ? 4 : 0);
    }
    const { inference_count: rows, execution_count: runs } = await statistics(
      server,
      'matmul.preferred',
    );
    assert.ok(runs < rows / 2, `${runs} runs of ${rows} rows`);
  });
});
