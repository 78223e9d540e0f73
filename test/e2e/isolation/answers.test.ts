// A model in a separate process gives the same responses as in the server, byte by byte: all
// datatypes, strings, no rows, shapes of several signatures, outputs larger than a slot. Failed
// loads report the same errors.
import assert from 'node:assert/strict';
import { readFileSync, readlinkSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { descriptorsOf, isThere, processesOf } from './support.js';

interface TensorDoc {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** A value of each datatype, the i-th. */
function valueOf(datatype: string, i: number): unknown {
  if (datatype === 'BOOL') return i % 3 === 0;
  if (datatype === 'BYTES') return `text ${i} \u00e9`.repeat(i % 4);
  if (datatype.startsWith('FP') || datatype === 'BF16') return (i % 50) / 4 - 3;
  return i % 100;
}

/** A request whose free dimensions are `free`. */
function bodyOf(inputs: readonly TensorDoc[], free: number): string {
  return JSON.stringify({
    inputs: inputs.map(({ name, datatype, shape }) => {
      const dims = shape.map((dim) => (dim < 0 ? free : dim));
      const count = dims.reduce((product, dim) => product * dim, 1);
      const data = Array.from({ length: count }, (_, i) => valueOf(datatype, i));
      return { name, datatype, shape: dims, data };
    }),
  });
}

describe('isolated models answer as others', () => {
  const folders = new ModelFolders();
  let plain: ServalProcess;
  let isolated: ServalProcess;
  before(async () => {
    plain = await startServer([folders.models]);
    isolated = await startServer([folders.models, '--isolate', 'all']);
  });
  after(async () => {
    await Promise.all([plain.stop(), isolated.stop()]);
    folders.remove();
  });

  const inputsOf = async (model: string): Promise<readonly TensorDoc[]> => {
    const doc = jsonOf(await exchange(plain.httpPort, 'GET', `/v2/models/${model}`));
    return (doc as { inputs: readonly TensorDoc[] }).inputs;
  };
  const models = async (): Promise<readonly string[]> => {
    const response = await exchange(plain.httpPort, 'POST', '/v2/repository/index', '{}');
    return (jsonOf(response) as readonly { name: string }[]).map(({ name }) => name);
  };

  it('with every fixture model, of all datatypes and sizes', async () => {
    let answered = 0;
    const names = await models();
    assert.ok(names.length > 20);
    for (const name of names.filter((one) => one !== 'slow')) {
      const inputs = await inputsOf(name);
      for (const free of [0, 1, 3, 190]) {
        const [path, body] = [`/v2/models/${name}/infer`, bodyOf(inputs, free)];
        const here = await exchange(plain.httpPort, 'POST', path, body);
        const there = await exchange(isolated.httpPort, 'POST', path, body);
        assert.equal(there.body.toString(), here.body.toString(), `${name}, ${free}`);
        assert.equal(there.status, here.status);
        if (here.status === 200) answered += 1;
      }
    }
    assert.ok(answered > 60, `${answered} answers`);
  });

  it('with answers and requests of megabytes, and small ones again', async () => {
    const path = '/v2/models/half_plus_three/infer';
    for (const count of [2, 40_000, 600_000, 2]) {
      const body = bodyOf([{ name: 'x', datatype: 'FP32', shape: [-1] }], count);
      const here = await exchange(plain.httpPort, 'POST', path, body);
      const there = await exchange(isolated.httpPort, 'POST', path, body);
      assert.equal(here.status, 200);
      assert.ok(there.body.equals(here.body), `${count} elements`);
    }
  });

  it('in processes that have no descriptor of the server', async () => {
    const pids = processesOf(isolated);
    assert.equal(pids.length, (await models()).length);
    const all = descriptorsOf(isolated.child.pid ?? 0);
    // which the processes write to as well
    const log = readlinkSync(`/proc/${isolated.child.pid}/fd/2`);
    const sockets = new Set(all.filter((text) => text.startsWith('socket:') && text !== log));
    for (const pid of pids) {
      const shared = descriptorsOf(pid).filter((text) => sockets.has(text));
      assert.deepEqual(shared, []);
      assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '500');
    }
  });

  it('leaves no files or processes after it is drained', async () => {
    const pids = processesOf(isolated);
    isolated.signal('SIGTERM');
    assert.equal((await isolated.ended).code, 0);
    await until('all processes to be gone', () => !pids.some(isThere));
  });
});
