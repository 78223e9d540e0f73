// A process of threads.test.ts: ends in the named way while requests run and wait.
import { createEngine } from '../../ts/engine/engine.js';
import { V1_PREDICT } from '../../ts/model/request-kinds.js';
import { bytes, inferred, nullModel } from './support.js';

const engine = await createEngine({});
const spec = nullModel('m', { execMode: 'queued', nullMode: 'delay', nullDelayUs: 5_000_000 });
const { handle } = await engine.control.load(spec);
for (let i = 0; i < 4; i += 1) {
  void inferred(engine.link, V1_PREDICT, handle, bytes('{"instances":[1]}'));
}
switch (process.argv[2]) {
  case 'exit':
    process.exit(7);
    break;
  case 'exitNow':
    engine.link.native.exitNow(7);
    break;
  default:
    throw new Error('on purpose');
}
