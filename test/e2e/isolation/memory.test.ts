// Memory of large requests to an isolated model: both processes keep it for the next request, and
// return it to the system when the requests stop.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelFolders } from '../support/model-folders.js';
import { exchange } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';
import { isolated, oneProcess } from './support.js';

const MB = 1_000_000;
/** Eight images of 3 x 224 x 224. */
const FLOATS = 1_204_224;
const REQUESTS = 20;

const statOf = (pid: number): readonly number[] => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
};
/** Minor page faults since the process started. */
const faultsOf = (pid: number): number => statOf(pid)[7] ?? 0;
/** Resident shared memory in bytes. */
const sharedOf = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssShmem:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) * 1024;
};
const residentOf = (pid: number): number => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) * 1024 + sharedOf(pid);
};

describe('memory of large requests to isolated models', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('isolated-memory', []);
    const port = (name: string) => ({ name, type: 'float', shape: ['n'] }) as const;
    folders.add(models, 'echo', {
      graph: {
        name: 'echo',
        inputs: [port('x')],
        outputs: [port('y')],
        initializers: [],
        nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
      },
    });
    writeFileSync(join(models, 'echo', 'config.pbtxt'), isolated());
  });
  after(() => folders.remove());

  it('is kept between requests and returned within 4 seconds after them', async (context) => {
    const server = await startServer([models]);
    context.after(() => server.stop());
    const child = await oneProcess(server);
    const parent = server.child.pid ?? 0;
    const head = JSON.stringify({
      inputs: [
        {
          name: 'x',
          datatype: 'FP32',
          shape: [FLOATS],
          parameters: { binary_data_size: 4 * FLOATS },
        },
      ],
      outputs: [{ name: 'y', parameters: { binary_data: true } }],
    });
    const values = Buffer.from(Float32Array.from({ length: FLOATS }, (_, i) => i).buffer);
    const body = Buffer.concat([Buffer.from(head), values]);
    const ask = async (): Promise<void> => {
      const response = await exchange(server.httpPort, 'POST', '/v2/models/echo/infer', body, [
        `Inference-Header-Content-Length: ${head.length}`,
      ]);
      assert.equal(response.status, 200, response.body.subarray(0, 200).toString());
      assert.ok(response.body.subarray(-values.length).equals(values));
    };
    const sharedBefore = sharedOf(parent) + sharedOf(child);
    const residentBefore = residentOf(parent) + residentOf(child);
    for (let i = 0; i < 5; i += 1) await ask();
    const faultsBefore = [faultsOf(parent), faultsOf(child)] as const;
    for (let i = 0; i < REQUESTS; i += 1) await ask();
    const perRequest = (pid: number, start: number): number => (faultsOf(pid) - start) / REQUESTS;
    const ofServer = perRequest(parent, faultsBefore[0]);
    const ofChild = perRequest(child, faultsBefore[1]);
    context.diagnostic(`page faults per request: server ${ofServer}, model's process ${ofChild}`);
    assert.ok(ofChild < 50, `${ofChild} page faults per request in the model's process`);
    assert.ok(ofServer < 200, `${ofServer} page faults per request in the server`);
    const sharedDuring = sharedOf(parent) + sharedOf(child);
    assert.ok(sharedDuring > sharedBefore + 9 * MB, `${sharedBefore} -> ${sharedDuring}`);
    await sleep(4000);
    const sharedLeft = sharedOf(parent) + sharedOf(child);
    const residentLeft = residentOf(parent) + residentOf(child);
    context.diagnostic(`shared ${sharedBefore} -> ${sharedDuring} -> ${sharedLeft}`);
    context.diagnostic(`resident ${residentBefore} -> ${residentLeft}`);
    // Each process maps 1 MiB of both areas for good.
    assert.ok(sharedLeft < sharedBefore + 5 * MB, `${sharedBefore} -> ${sharedLeft}`);
    assert.ok(residentLeft < residentBefore + 30 * MB, `${residentBefore} -> ${residentLeft}`);
  });
});
