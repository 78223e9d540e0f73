// Preloaded into a server (NODE_OPTIONS): a named signal throws on the main thread or, through it,
// on the listeners' threads. Test time only.
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const channel = new BroadcastChannel('serval-test-uncaught');
channel.unref();
const fail = () => {
  setImmediate(() => {
    throw new Error('thrown by the test');
  });
};
if (isMainThread) {
  process.on('SIGUSR2', () => {
    if (process.env.SERVAL_TEST_UNCAUGHT === 'main') fail();
    else channel.postMessage('throw');
  });
} else {
  channel.onmessage = fail;
}
