// Memory goes back when a model is unloaded: loads and unloads repeat while another model answers
// until resident memory stops growing. V8's heaps grow by some 15 MB first, for as many cycles as
// the version of Node decides; a leak never stops.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import {
  begun,
  control,
  infer,
  metric,
  putDelayModel,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { SteadyLoad } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

/** Cycles per window. The lowest sample of a window excludes garbage that awaits collection. */
const WINDOW = 100;
/** A plateau: this many windows in a row, none of which grows by more than PLATEAU_BYTES. */
const PLATEAU_WINDOWS = 3;
/** 10 KB a cycle: less than a leaked session, log line buffer or thread costs. */
const PLATEAU_BYTES = WINDOW * 10_000;
const WINDOWS_MAX = 20;
const SIZE = 1024;
const DELAY_MS = 2000;

/** y = x W with W = 2 I, 4 MB. */
function doubling(): OnnxModel {
  const weights = new Float32Array(SIZE * SIZE);
  for (let i = 0; i < SIZE; i += 1) weights[i * SIZE + i] = 2;
  const port = (name: string) => ({ name, type: 'float', shape: ['batch', SIZE] }) as const;
  const data = floatBytes([...weights]);
  return {
    graph: {
      name: 'doubling',
      inputs: [port('x')],
      outputs: [port('y')],
      initializers: [{ name: 'w', type: 'float', dims: [SIZE, SIZE], data }],
      nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
    },
  };
}

function residentBytes(server: ServalProcess): number {
  const status = readFileSync(`/proc/${server.ready?.pid ?? 0}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe('memory', () => {
  const folders = new ModelFolders();
  const body = JSON.stringify({
    inputs: [
      {
        name: 'x',
        datatype: 'FP32',
        shape: [1, SIZE],
        data: Array.from({ length: SIZE }, (_, i) => i),
      },
    ],
  });
  let server: ServalProcess;
  before(async () => {
    const repository = folders.repository('memory', ['half_plus_three']);
    folders.add(repository, 'large', doubling());
    putDelayModel(repository, 'waiting', DELAY_MS);
    server = await startServer([
      '--model-repository',
      repository,
      '--log-level',
      'warn',
      '--model-control-mode',
      'explicit',
      '--load-model',
      'half_plus_three',
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  /** Returns resident memory after the unload, in bytes. */
  const cycle = async (): Promise<number> => {
    await control(server, '/v2/repository/models/large/load');
    const values = v2Values(await infer(server, 'large', body));
    assert.deepEqual([values.length, values[1], values[SIZE - 1]], [SIZE, 2, 2 * (SIZE - 1)]);
    await control(server, '/v2/repository/models/large/unload');
    return residentBytes(server);
  };

  const windowFloor = async (): Promise<number> => {
    let lowest = Infinity;
    for (let i = 0; i < WINDOW; i += 1) lowest = Math.min(lowest, await cycle());
    return lowest;
  };

  it('stops growing while a model is loaded and unloaded under load', async (context) => {
    const load = new SteadyLoad(
      server.httpPort,
      '/v1/models/half_plus_three:predict',
      '{"instances":[1.0,2.0,5.0]}',
    );
    const floors = [await windowFloor()];
    let flat = 0;
    while (flat < PLATEAU_WINDOWS && floors.length < WINDOWS_MAX) {
      const before = Math.max(...floors);
      floors.push(await windowFloor());
      flat = Number(floors.at(-1)) <= before + PLATEAU_BYTES ? flat + 1 : 0;
    }
    await load.more(1);
    await load.stop();
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, ['{"predictions":[3.5,4,5.5]}']);
    const cycles = floors.length * WINDOW;
    assert.ok(load.answered > cycles, `${load.answered} responses during ${cycles} cycles`);
    const text = `lowest resident bytes of each ${WINDOW} cycles: ${floors.join(', ')}`;
    context.diagnostic(text);
    assert.ok(flat >= PLATEAU_WINDOWS, text);
    assert.equal(await metric(server, 'nv_inference_request_success', 'model="large"'), 0);
    const ready = await exchange(server.httpPort, 'GET', '/v2/models/large/ready');
    assert.notEqual(ready.status, 200);
  });

  it('is not given back under a request that still runs', async () => {
    await control(server, '/v2/repository/models/waiting/load');
    const running = await begun(server, 'waiting', v2Body('x', [7]));
    const beganMs = performance.now();
    await control(server, '/v2/repository/models/waiting/unload');
    const settledMs = performance.now() - beganMs;
    assert.deepEqual(v2Values(await running.response()), [7]);
    assert.ok(settledMs >= DELAY_MS / 2, `the unload settled after ${settledMs} ms`);
    assert.notEqual((await infer(server, 'waiting', v2Body('x', [7]))).status, 200);
  });
});
