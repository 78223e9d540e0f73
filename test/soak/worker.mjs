// One worker process of the soak: runs one kind of client until it is stopped, then reports its
// counts; the first failure ends it. Test time only.
//
//   worker.mjs KIND SEED PORTS ENTRY     the latter two as JSON; parent and child talk over IPC
import { runBadRequests } from './bad-requests.mjs';
import { runCancels } from './cancels.mjs';
import { runFloods } from './floods.mjs';
import { Connections } from './http.mjs';
import { runInfers } from './infers.mjs';
import { Random } from './options.mjs';
import { runSharedMemory } from './shared-memory.mjs';

const KINDS = {
  infers: runInfers,
  cancels: runCancels,
  floods: runFloods,
  'bad-requests': runBadRequests,
  'shared-memory': runSharedMemory,
};

const [kind, seed, ports, entry] = process.argv.slice(2);
const run = KINDS[kind];
if (run === undefined) throw new Error(`unknown kind of worker '${kind}'`);
const connections = new Connections(JSON.parse(ports), JSON.parse(entry));
let stop = false;
process.on('message', () => {
  stop = true;
});
process.on('disconnect', () => process.exit(1));

const report = (message) => process.send(message, () => process.exit(0));
run({ connections, random: new Random(Number(seed)), stopping: () => stop }).then(
  (counts) => report({ counts }),
  (error) => report({ failure: error.stack }),
);
