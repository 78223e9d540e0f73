// A thousand small models: the cost of a start grows linearly with their number, and idle ones have
// no threads and little text on the metrics page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { index, infer, metric, plusModel, put, v2Body, v2Values } from '../support/operating.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const FEW = 250;
const MANY = 1000;
/** 4 would be linear; it was 7 when each load published everything. */
const CPU_RATIO_MAX = 5.5;
const THREADS_MAX = 60;
/** Bytes of /metrics per idle model. */
const PAGE_BYTES_MAX = 1500;

const nameOf = (index: number): string => `m${String(index).padStart(4, '0')}`;

/** User and system time so far, in the kernel's ticks. */
function cpuTicks(server: ServalProcess): number {
  const stat = readFileSync(`/proc/${server.ready?.pid ?? 0}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function threads(server: ServalProcess): number {
  const status = readFileSync(`/proc/${server.ready?.pid ?? 0}/status`, 'utf8');
  return Number(/^Threads:\s*(\d+)$/m.exec(status)?.[1]);
}

describe('many models', () => {
  const folders = new ModelFolders();
  const repository = (count: number): string => {
    const folder = join(folders.folder, `of-${count}`);
    for (let i = 0; i < count; i += 1) {
      put(join(folder, nameOf(i), '1', 'model.onnx'), plusModel(i));
    }
    return folder;
  };
  const start = (count: number): Promise<ServalProcess> =>
    startServer(['--model-repository', repository(count), '--log-level', 'warn']);
  let server: ServalProcess;
  let manyTicks = 0;
  before(async () => {
    server = await start(MANY);
    manyTicks = cpuTicks(server);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  it('a start costs in proportion to them', async (context) => {
    const ticks = [];
    for (const count of [1, FEW]) {
      const other = await start(count);
      ticks.push(cpuTicks(other));
      await other.stop();
    }
    const [one = 0, few = 0] = ticks;
    const ratio = (manyTicks - one) / (few - one);
    context.diagnostic(`${one}, ${few}, ${manyTicks} ticks; ratio ${ratio.toFixed(1)}`);
    assert.ok(ratio <= CPU_RATIO_MAX, `${MANY} models cost ${ratio} times what ${FEW} do`);
  });

  it('idle ones have no threads and no histograms', async () => {
    assert.ok(threads(server) < THREADS_MAX, `${threads(server)} threads`);
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    assert.ok(page.length < MANY * PAGE_BYTES_MAX, `${page.length} bytes`);
    assert.equal(await metric(server, 'nv_inference_request_success', 'model="m0007"'), 0);
    assert.equal(page.includes('_bucket{model='), false);
  });

  it('all are ready when the server says so, and each answers as itself', async () => {
    const entries = await index(server);
    assert.equal(entries.filter(({ state }) => state === 'READY').length, MANY);
    for (const number of [0, 1, MANY / 2, MANY - 1]) {
      const answer = await infer(server, nameOf(number), v2Body('x', [0.5]));
      assert.deepEqual(v2Values(answer), [number + 0.5]);
    }
    const count = 'serval_request_duration_seconds_count';
    assert.equal(await metric(server, count, `model="${nameOf(1)}"`), 1);
    assert.equal(await metric(server, count), 4);
  });
});
