// Memory that a run allocated inside the runtime: it returns to the system some seconds after the
// last long run, while short requests go on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { floatBytes } from '../../../ts/importers/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer } from '../support/operating.js';
import { startServer } from '../support/serval-process.js';

const MIB = 2 ** 20;
const LARGE = 2 ** 26;
const WAIT_MS = 10_000;

const residentOf = (pid: number): number =>
  Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe('memory that runs allocate', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('arena', []);
    folders.add(models, 'ones', {
      graph: {
        name: 'ones',
        inputs: [{ name: 'count', type: 'int64', shape: [1] }],
        outputs: [{ name: 'y', type: 'float', shape: [] }],
        initializers: [{ name: 'one', type: 'float', dims: [], data: floatBytes([1]) }],
        nodes: [
          { op: 'ConstantOfShape', inputs: ['count'], outputs: ['zeros'] },
          { op: 'Add', inputs: ['zeros', 'one'], outputs: ['ones'] },
          {
            op: 'ReduceSum',
            inputs: ['ones'],
            outputs: ['y'],
            attributes: { keepdims: { int: 0 } },
          },
        ],
      },
    });
  });
  after(() => folders.remove());

  it('returns to the system within 10 seconds after a long run', async (context) => {
    const server = await startServer([models]);
    context.after(() => server.stop());
    const pid = server.child.pid ?? 0;
    const sum = async (count: number): Promise<void> => {
      const inputs = [{ name: 'count', datatype: 'INT64', shape: [1], data: [count] }];
      const response = await infer(server, 'ones', JSON.stringify({ inputs }));
      assert.equal(response.status, 200, response.body.toString());
    };
    for (let i = 0; i < 10; i += 1) await sum(10);
    const idle = residentOf(pid);
    await sum(LARGE);
    const busy = residentOf(pid);
    assert.ok(busy > idle + 200 * MIB, `${idle} -> ${busy}`);
    const end = Date.now() + WAIT_MS;
    while (Date.now() < end) {
      await sum(10);
      await sleep(100);
    }
    const left = residentOf(pid);
    context.diagnostic(`${idle / MIB} MiB -> ${busy / MIB} MiB -> ${left / MIB} MiB`);
    assert.ok(left < 1.3 * idle + 24 * MIB, `${idle} -> ${busy} -> ${left}`);
  });
});
