// Preloaded into a server (NODE_OPTIONS): once the file SERVAL_TEST_LOADED is there, every thread
// says, as a line of JSON on stderr, which of Node's modules it has loaded. Looked for by a timer:
// a message or a signal would have Node load modules for it. Test time only.
'use strict';
const { existsSync, writeSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const LOOK_MS = 20;
const timer = setInterval(() => {
  if (!existsSync(process.env.SERVAL_TEST_LOADED)) return;
  clearInterval(timer);
  const modules = process.moduleLoadList
    .filter((each) => each.startsWith('NativeModule ') && !each.includes(' internal/'))
    .map((each) => each.slice('NativeModule '.length));
  writeSync(2, `${JSON.stringify({ thread: isMainThread ? 'main' : 'listener', modules })}\n`);
}, LOOK_MS);
timer.unref();
