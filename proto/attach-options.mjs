// The options of attach(): the engine's settings that TypeScript sets when a thread attaches. One
// row per option; proto/generate.mjs writes TypeScript's type and the addon's reader from the rows.
// Build time only.

/**
 * `part`: the C++ struct that has the member (engine: EngineOptions, serve: ServeSettings, thread:
 * the link); the struct has the default. `member`: its name there, if it is not `name` in
 * snake_case.
 */
const ROWS = [
  {
    name: 'onnxruntimeLibrary',
    type: 'string',
    part: 'engine',
    about: 'Path of libonnxruntime; empty: there is none.',
  },
  {
    name: 'intraOpThreads',
    type: 'number',
    part: 'engine',
    about: "Threads of the pool that all models share; 0 = the process's cores.",
  },
  {
    name: 'loadThreads',
    type: 'number',
    part: 'engine',
    about: 'Threads that load and unload models.',
  },
  {
    name: 'unloadMsMax',
    type: 'number',
    part: 'engine',
    about: 'How long an unload waits for running requests before it ends them.',
  },
  {
    name: 'memoryLimitBytes',
    type: 'number',
    part: 'engine',
    member: 'memory_limit',
    about: 'Bytes that all requests together may hold; default: unlimited.',
  },
  {
    name: 'pinnedPoolBytes',
    type: 'number',
    part: 'engine',
    about: 'Host memory pinned for GPUs; 0 = none.',
  },
  {
    name: 'isolateWaitMs',
    type: 'number',
    part: 'engine',
    about: "How long a request waits for its model's process to return; 0 = not at all.",
  },
  {
    name: 'responseCacheBytes',
    type: 'number',
    part: 'engine',
    about: 'Size of the response cache; 0 = none.',
  },
  {
    name: 'rateLimit',
    type: 'boolean',
    part: 'engine',
    about: "Whether Triton's rate limiter schedules the runs.",
  },
  {
    name: 'rateLimitResources',
    type: 'string',
    part: 'engine',
    about: 'Its counts, a line each: "COUNT DEVICE NAME"; device -1 = every device.',
  },
  {
    name: 'metrics',
    type: 'boolean',
    part: 'engine',
    member: 'records',
    about: 'Whether requests are counted and timed.',
  },
  {
    name: 'latencyCounters',
    type: 'boolean',
    part: 'engine',
    member: 'latency_metrics.counters',
    about: "Whether Triton's metrics have counters of latencies.",
  },
  {
    name: 'summaryQuantiles',
    type: 'string',
    part: 'engine',
    member: 'latency_metrics.summary_quantiles',
    about: "Quantiles of the summaries of Triton's metrics, '0.5,0.99'; empty: no summaries.",
  },
  {
    name: 'bodyBytesMax',
    type: 'number',
    part: 'serve',
    about: 'Largest request body after inflation.',
  },
  {
    name: 'inflatedBytesMax',
    type: 'number',
    part: 'serve',
    about: 'Largest size that a compressed REST body may inflate to.',
  },
  { name: 'responseBytesMax', type: 'number', part: 'serve', about: 'Largest response.' },
  { name: 'jsonDepthMax', type: 'number', part: 'serve', about: 'Deepest nesting of JSON.' },
  {
    name: 'inFlightMax',
    type: 'number',
    part: 'serve',
    about: 'Requests of one listener that may be in flight.',
  },
  {
    name: 'restTimeoutUs',
    type: 'number',
    part: 'serve',
    about: 'Time limit of a REST request; 0 = none.',
  },
  {
    name: 'tfTensorContent',
    type: 'boolean',
    part: 'serve',
    about: "Whether TensorFlow Serving's gRPC responses carry tensors as raw bytes.",
  },
  {
    name: 'tfCheckMethod',
    type: 'boolean',
    part: 'serve',
    about: "Whether classify and regress check a signature's method name.",
  },
  {
    name: 'keepsProcess',
    type: 'boolean',
    part: 'thread',
    about: 'Whether the process stays alive while this thread is attached; default true.',
  },
];

const ORIGIN = 'Generated from proto/attach-options.mjs by proto/generate.mjs.';
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns TypeScript's type of the options. */
export function writeAttachModule() {
  const members = ROWS.map(
    ({ name, type, about }) => `  /** ${about} */\n  readonly ${name}?: ${type} | undefined;\n`,
  );
  return (
    `// The options of attach(). Types only; any thread. ${ORIGIN}\n` +
    '/** An absent or undefined option has the default of the engine. The options of the first\n' +
    ' * thread that attaches count for the engine. */\n' +
    `export interface AttachOptions {\n${members.join('')}}\n`
  );
}

/** Returns the addon's visitor of the options and the members that hold them. */
export function writeAttachHeader() {
  const visits = ROWS.map(
    ({ name, part, member }) => `  visit("${name}", ${part}.${member ?? snake(name)});\n`,
  );
  return (
    `// ${ORIGIN}\n#pragma once\n\nnamespace serval {\n\n` +
    '// Calls visit(name, member) for every option of attach().\n' +
    'template <typename Engine, typename Serve, typename Thread, typename Visit>\n' +
    'void each_attach_option(Engine& engine, Serve& serve, Thread& thread, Visit visit) {\n' +
    `${visits.join('')}}\n\n}  // namespace serval\n`
  );
}
