// The rows for the HTTP listener other than small requests: a fixed rate, HTTP/2, threads, events,
// the other listener.
import { generate } from './generate.mjs';
import { http2 } from './http2.mjs';
import { listeners } from './listeners.mjs';
import { httpOpenLoops } from './open-loop.mjs';
import { httpThreads } from './threads.mjs';

export const http = [...httpOpenLoops, ...http2, ...httpThreads, ...generate, ...listeners];
