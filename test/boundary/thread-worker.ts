// A worker of threads.test.ts: sends requests to a model loaded by another thread, and reports how
// many responses were right.
import { parentPort, workerData } from 'node:worker_threads';
import { createEngine } from '../../ts/engine/engine.js';
import { V1_PREDICT } from '../../ts/model/request-kinds.js';
import { bytes, inferred } from './support.js';

const { handle, requests, stay } = workerData as {
  handle: number;
  requests: number;
  stay: boolean;
};
const engine = await createEngine({});
const all = Array.from({ length: requests }, (_, i) =>
  inferred(engine.link, V1_PREDICT, handle, bytes(`{"instances":[${i}]}`)),
);
if (stay) {
  parentPort?.postMessage(0);
} else {
  const answers = await Promise.all(all);
  const right = answers.filter((one, i) => one.text === `{"predictions":[${i}.0]}`);
  engine.close();
  parentPort?.postMessage(right.length);
}
