// Flags, aliases and their errors. The configuration file: file.test.ts.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ACCESS_FLAGS } from '../../../ts/config/access-flags.js';
import { TRACE_FLAGS } from '../../../ts/config/observation/trace-flags.js';
import { canonicalName, nearestFlag, SERVE_FLAGS } from '../../../ts/config/flags.js';
import { parseFlags } from '../../../ts/config/command-line.js';
import { type Config } from '../../../ts/config/config.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../../ts/listeners/grpc/settings.js';
import { CWD, parse, refuses } from './parsing.js';
import {
  DEFAULT_METRICS,
  GRPC_CONFIG,
  GRPC_VALUES,
  HTTP_VALUES,
  LISTENING_CONFIG,
  TLS_CONFIG,
} from './transport-values.js';

const DEFAULT_ACCESS: Config['access'] = {
  keyFile: undefined,
  keyHeader: '',
  openGroups: ['health', 'metrics'],
  httpRules: [],
  grpcRules: [],
  remoteControl: false,
  cors: undefined,
  clientShm: false,
  console: true,
  admin: undefined,
  adminTls: true,
  socketMode: 0o700,
  allowedHosts: [],
};

const NO_TRACING: Config['tracing'] = {
  levels: [],
  rate: 1000,
  count: -1,
  logFrequency: 0,
  mode: 'triton',
  file: '',
  otlp: {
    url: 'http://localhost:4318/v1/traces',
    protocol: 'http',
    resource: {},
    waitingMax: 2048,
    delayMs: 5000,
    spansMax: 512,
  },
  options: {},
};

test('defaults are those of the issue', async () => {
  assert.deepEqual(await parse('models'), {
    sources: {
      paths: ['/somewhere/models'],
      modelRepositories: [],
      baseModel: undefined,
      modelConfigFile: undefined,
    },
    model: {
      execMode: 'auto',
      inlineUsMax: 100,
      queueRequestsMax: 1024,
      instances: 1,
      intraOpThreads: 0,
      interOpThreads: 0,
      graphOptimization: 99,
      providers: [],
    },
    listeners: { http: true, grpc: true, reuseHttpPort: false, reuseGrpcPort: false },
    platformConfigFile: undefined,
    ...{ isolate: [], operatorLibraries: [] },
    ...{ isolateWaitMs: 5000, responseCacheBytes: 0, rateLimit: false, rateLimitResources: '' },
    cudaGraphs: true,
    host: '0.0.0.0',
    grpcHost: '0.0.0.0',
    httpPort: 8000,
    grpcPort: 8001,
    httpThreads: 'auto',
    httpListener: 'auto',
    httpIdleMs: 60_000,
    connectionsMax: 0,
    logLevel: 'info',
    logFormat: 'text',
    logFile: undefined,
    drainSeconds: 30,
    healthBody: 'json',
    strictReadiness: true,
    bodyBytesMax: 2147483647,
    tls: { shared: undefined, http: true, version: {} },
    grpc: {
      transport: {
        ...GRPC_CONNECTION_DEFAULTS,
        receiveBytesMax: 2147483647,
        sendBytesMax: 2147483647,
        unixPath: '',
        unixMode: 0o700,
        reusePort: false,
        compressionLevel: 0,
      },
      threads: 'auto',
      sslConfigFile: undefined,
      ignored: [],
    },
    jsonDepthMax: 512,
    memoryLimitBytes: 0,
    pinnedPoolBytes: 268_435_456,
    onnxruntimeLibrary: undefined,
    control: {
      mode: 'none',
      loadModels: [],
      repositoryPollSeconds: 15,
      modelConfigFilePollSeconds: 0,
      fileSystemPollSeconds: 1,
      settleMs: 1000,
      reloadChangedVersions: true,
      loadMode: 'eager',
      modelsMemoryBytes: 0,
      transition: 'availability',
      ...{ labelsForUnavailable: true, namespacing: false },
      loadRetries: 0,
      loadRetryMs: 60_000,
      loadsAtOnce: 0,
      exitOnError: false,
    },
    batching: {
      enabled: false,
      parametersFile: undefined,
      perModel: false,
      defaultMaxBatchSize: 4,
      autoComplete: true,
    },
    savedModelTags: ['serve'],
    allowRandom: true,
    modelCache: undefined,
    servingApi: { tensorContent: false, checkMethod: false },
    restTimeoutMs: 30_000,
    modelWarmup: true,
    warmupIterations: 0,
    metrics: DEFAULT_METRICS,
    accessLog: undefined,
    accessLogSettings: { oneIn: 1, errorsOnly: false, reasons: true },
    tracing: NO_TRACING,
    requestLog: {
      folder: undefined,
      sampling: 1,
      format: 'json',
      values: Number.POSITIVE_INFINITY,
      fileMb: 100,
      filesMax: 10,
    },
    access: DEFAULT_ACCESS,
    ignoredFlags: [],
  } satisfies Config);
});

/** Flags tested elsewhere: plain arguments, command line only, not with --model-base-path, TLS,
 * batching; access and tracing have their own files. */
const ELSEWHERE = new Set([
  ...['paths', 'config', 'model-config-file', 'ssl-config-file', 'platform-config-file'],
  ...[...ACCESS_FLAGS, ...TRACE_FLAGS].map((row) => row.name),
]);

const METRICS_CONFIG: Config['metrics'] = {
  allowed: false,
  host: '127.0.0.2',
  port: 22,
  monitoringConfigFile: '/somewhere/monitoring.txt',
  ...{ latencyCounters: false, summaryQuantiles: '0.5,0.99' },
};

test('accepts every flag with "=", with a space, with underscores', async () => {
  const values: Record<string, string> = {
    'model-repository': 'repo',
    'model-name': 'm',
    'model-config-name': 'h100',
    'model-base-path': '/base',
    host: '::1',
    'grpc-address': '127.0.0.1',
    'metrics-address': '127.0.0.2',
    ...HTTP_VALUES,
    ...GRPC_VALUES,
    'log-level': 'debug',
    'http-idle-seconds': '60',
    'max-connections': '40',
    'log-format': 'json',
    'log-file': 'serval.log',
    'drain-seconds': '4',
    'health-body': 'empty',
    'strict-readiness': 'false',
    'exec-mode': 'queued',
    'inline-us-max': '5',
    'queue-requests-max': '6',
    instances: '7',
    'intra-op-threads': '8',
    'inter-op-threads': '9',
    'graph-optimization': 'basic',
    providers: 'cuda:device_id=1;x=y,cpu',
    ...{ 'memory-limit': '256M', 'pinned-memory-pool-byte-size': '1048576' },
    ...{ 'body-bytes-max': '10', 'response-cache-byte-size': '7', 'json-depth-max': '12' },
    ...{ 'rate-limit': 'execution_count', 'rate-limit-resource': 'R:4:0' },
    'onnxruntime-library': 'lib.so',
    'model-config-file-poll-wait-seconds': '13',
    'file-system-poll-wait-seconds': '-1',
    'model-control-mode': 'explicit',
    'repository-poll-secs': '14',
    'load-model': 'half',
    'settle-ms': '15',
    'reload-changed-versions': 'false',
    'version-transition': 'resource',
    'allow-version-labels-for-unavailable-models': 'false',
    'max-num-load-retries': '16',
    'load-retry-interval-micros': '17000',
    'num-load-threads': '18',
    'exit-on-error': 'true',
    'enable-batching': 'true',
    'batching-parameters-file': 'batching.txt',
    'enable-per-model-batching-parameters': 'true',
    'default-max-batch-size': '19',
    'disable-auto-complete-config': 'true',
    'enable-model-warmup': 'false',
    'num-request-iterations-for-warmup': '20',
    'rest-api-timeout-in-ms': '21',
    'monitoring-config-file': 'monitoring.txt',
    ...{ 'allow-metrics': 'false', 'metrics-port': '22' },
    ...{ 'metrics-latency-counters': 'false', 'metrics-summary-quantiles': '0.5,0.99' },
    'access-log': 'access.log',
    'access-log-one-in': '23',
    'access-log-errors-only': 'true',
    'access-log-reasons': 'false',
    'request-log-dir': 'requests',
    'request-log-sampling': '0.25',
    'request-log-format': 'json',
    'request-log-values': '24',
    'request-log-max-mb': '25',
    'request-log-files': '26',
    'enable-serialization-as-tensor-content': 'true',
    'enable-signature-method-name-check': 'true',
    'saved-model-tags': 'serve,gpu',
    ...{ 'allow-random': 'false', 'model-cache': 'cache', 'model-namespacing': 'false' },
    ...{ isolate: 'a,b', 'isolate-wait-ms': '0', 'operator-libraries': 'ops' },
    ...{ 'cuda-graphs': 'false', 'model-load-mode': 'lazy', 'models-memory-limit': '2G' },
  };
  const untested = SERVE_FLAGS.map((row) => row.name).filter(
    (name) => !(name in values) && !ELSEWHERE.has(name),
  );
  assert.deepEqual(untested, []);
  const expected: Config = {
    sources: {
      paths: [],
      modelRepositories: ['/somewhere/repo'],
      baseModel: { name: 'm', path: '/base' },
      modelConfigFile: undefined,
      modelConfigName: 'h100',
    },
    model: {
      execMode: 'queued',
      inlineUsMax: 5,
      queueRequestsMax: 6,
      instances: 7,
      intraOpThreads: 8,
      interOpThreads: 9,
      graphOptimization: 1,
      providers: [
        { name: 'cuda', options: { device_id: '1', x: 'y' }, setByServer: ['device_id', 'x'] },
        { name: 'cpu', options: {} },
      ],
    },
    ...LISTENING_CONFIG,
    platformConfigFile: undefined,
    ...{ isolate: ['a', 'b'], isolateWaitMs: 0, cudaGraphs: false, responseCacheBytes: 7 },
    ...{ operatorLibraries: ['/somewhere/ops'], rateLimit: true, rateLimitResources: '4 0 R' },
    host: '::1',
    grpcHost: '127.0.0.1',
    httpIdleMs: 60_000,
    connectionsMax: 40,
    logLevel: 'debug',
    logFormat: 'json',
    logFile: '/somewhere/serval.log',
    drainSeconds: 4,
    healthBody: 'empty',
    strictReadiness: false,
    bodyBytesMax: 10,
    tls: TLS_CONFIG,
    grpc: GRPC_CONFIG,
    access: DEFAULT_ACCESS,
    ...{ memoryLimitBytes: 268_435_456, pinnedPoolBytes: 1_048_576 },
    jsonDepthMax: 12,
    onnxruntimeLibrary: '/somewhere/lib.so',
    control: {
      mode: 'explicit',
      loadModels: ['half'],
      repositoryPollSeconds: 14,
      modelConfigFilePollSeconds: 13,
      fileSystemPollSeconds: -1,
      settleMs: 15,
      reloadChangedVersions: false,
      loadMode: 'lazy',
      modelsMemoryBytes: 2 ** 31,
      transition: 'resource',
      ...{ labelsForUnavailable: false, namespacing: false }, // true: not in explicit mode
      loadRetries: 16,
      loadRetryMs: 17,
      loadsAtOnce: 18,
      exitOnError: true,
    },
    batching: {
      enabled: true,
      parametersFile: '/somewhere/batching.txt',
      perModel: true,
      defaultMaxBatchSize: 19,
      autoComplete: false,
    },
    savedModelTags: ['serve', 'gpu'],
    allowRandom: false,
    modelCache: '/somewhere/cache',
    servingApi: { tensorContent: true, checkMethod: true },
    restTimeoutMs: 21,
    modelWarmup: false,
    warmupIterations: 20,
    metrics: METRICS_CONFIG,
    accessLog: '/somewhere/access.log',
    accessLogSettings: { oneIn: 23, errorsOnly: true, reasons: false },
    tracing: NO_TRACING,
    requestLog: {
      folder: '/somewhere/requests',
      sampling: 0.25,
      format: 'json',
      values: 24,
      fileMb: 25,
      filesMax: 26,
    },
    ignoredFlags: GRPC_CONFIG.ignored,
  };
  const entries = Object.entries(values);
  assert.deepEqual(await parse(...entries.map(([name, value]) => `--${name}=${value}`)), expected);
  const spaced = entries.flatMap(([name, value]) => [`--${name}`, value]);
  assert.deepEqual(await parse(...spaced), expected);
  const snake = entries.map(([name, value]) => `--${name.replaceAll('-', '_')}=${value}`);
  assert.deepEqual(await parse(...snake), expected);
});

test("TensorFlow Serving's and Triton's spellings", async () => {
  const tf = await parse(
    '--rest_api_port=8501',
    '--port=8500',
    '--model_name=half',
    '--model_base_path=/models/half',
  );
  assert.equal(tf.httpPort, 8501);
  assert.equal(tf.grpcPort, 8500);
  assert.deepEqual(tf.sources.baseModel, { name: 'half', path: '/models/half' });
  const unnamed = await parse('--model_base_path=/models/half');
  assert.deepEqual(unnamed.sources.baseModel, { name: 'default', path: '/models/half' });
  const triton = await parse('--model-repository=/a', '--model-store', '/b', '--http_port=7');
  assert.deepEqual(triton.sources.modelRepositories, ['/a', '/b']);
  assert.equal(triton.httpPort, 7);
});

test('settings that go together or not at all', async () => {
  const file = await parse('--model_config_file=models.config');
  assert.equal(file.sources.modelConfigFile, '/somewhere/models.config');
  await refuses(
    ['--model-config-file=a', '--model-base-path=b'],
    '--model-config-file: expected either this or --model-base-path, got both',
  );
  await refuses(
    ['m', '--batching-parameters-file=a'],
    '--batching-parameters-file: expected --enable-batching with it',
  );
  await refuses(
    ['m', '--load-model=a'],
    '--load-model: expected --model-control-mode=explicit with it, got none',
  );
  await refuses(['m', '--metrics-port=8000'], /^--metrics-port: expected an unused port, got 8000/);
  assert.equal((await parse('m', '--access-log=-')).accessLog, '-');
  const apart = await parse('m', '--grpc-port=8000', '--grpc-address=127.0.0.1', '--host=::1');
  assert.deepEqual(
    [apart.grpcPort, apart.grpcHost, apart.metrics.host],
    [8000, '127.0.0.1', '::1'],
  );
});

test('several paths, "--" and repeated flags', async () => {
  const config = await parse('a', '--http-port', '1', 'b', '--http-port=2', '--', '--c', '-d');
  assert.deepEqual(
    config.sources.paths,
    ['a', 'b', '--c', '-d'].map((name) => join(CWD, name)),
  );
  assert.equal(config.httpPort, 2);
});

test("words in any case; Triton's names of log formats are our text", async () => {
  assert.equal((await parse('m', '--model-control-mode=EXPLICIT')).control.mode, 'explicit');
  assert.equal((await parse('m', '--log-format=ISO8601')).logFormat, 'text');
  assert.equal((await parse('m', '--log-format=default')).logFormat, 'text');
  assert.equal((await parse('m', '--log-format=JSON')).logFormat, 'json');
  await refuses(['m', '--log-format=xml'], '--log-format: expected text or json, got "xml"');
});

test('booleans', async () => {
  const strict = async (...args: string[]): Promise<boolean> =>
    (await parse('m', ...args)).strictReadiness;
  assert.equal(await strict('--strict-readiness=0'), false);
  assert.equal(await strict('--strict-readiness', 'false'), false);
  assert.equal(await strict('--strict_readiness=1'), true);
  for (const word of ['True', 'TRUE', 'on', 'On']) {
    assert.equal(await strict(`--strict-readiness=${word}`), true, word);
  }
  for (const word of ['False', 'off', 'OFF']) {
    assert.equal(await strict('--strict-readiness', word), false, word);
  }
  assert.equal(await strict('--strict-readiness', 'true'), true);
  assert.equal(await strict('--strict-readiness'), true);
  const followed = await parse('--strict-readiness', 'm');
  assert.deepEqual(followed.sources.paths, ['/somewhere/m']);
  await refuses(
    ['m', '--strict-readiness=yes'],
    '--strict-readiness: expected true (on, 1) or false (off, 0), got "yes"',
  );
});

test('wrong flags and values say where, expected and got', async () => {
  const cases: [string[], string | RegExp][] = [
    [['m', '--http-prt=1'], 'command line: unknown flag "--http-prt=1"; did you mean --http-port?'],
    [['m', '--hots', 'x'], /did you mean --host\?/],
    [['m', '-x'], /unknown flag "-x"/],
    [['m', '--paths=a'], /unknown flag/],
    [['m', '--http-port'], '--http-port: expected PORT after it'],
    [['m', '--http-port', '--host', 'x'], '--http-port: expected PORT after it'],
    [
      ['m', '--http-port=65536'],
      '--http-port: expected a whole number from 0 to 65535, got "65536"',
    ],
    [
      ['m', '--rest_api_port', '-1'],
      '--rest_api_port: expected a whole number from 0 to 65535, got "-1"',
    ],
    [['m', '--http-port='], /got ""/],
    [['m', '--http-port=1.5'], /got "1.5"/],
    [['m', '--http-port=0x10'], /got "0x10"/],
    [['m', '--http-port= 1'], /got " 1"/],
    [
      ['m', '--http-threads=0'],
      '--http-threads: expected auto or a whole number from 1 to 256, got "0"',
    ],
    [['m', '--grpc-threads=many'], /expected auto or a whole number from 1 to 256, got "many"/],
    [['m', '--body-bytes-max=2147483648'], /from 1 to 2147483647/],
    [['m', '--drain-seconds=99999999999999999999'], /whole number/],
    [['m', '--log-format=xml'], '--log-format: expected text or json, got "xml"'],
    [['m', '--exec-mode=fast'], /expected auto or inline or queued, got "fast"/],
    [['m', '--graph-optimization=3'], /expected none, basic, extended, all or 0, 1, 2, 99/],
    [['m', '--graph-optimization=constructor'], /got "constructor"/],
    [['m', '--providers=cuda,,cpu'], /expected provider names such as cuda,cpu, got ""/],
    [['m', '--providers=cpu,cpu'], /provider "cpu" is listed twice/],
    [['m', '--providers=cuda:device'], /expected key=value, got "device"/],
    [['m', '--host='], '--host: expected a value, got ""'],
    [['m', '--model-name=x'], /expected --model-base-path with it, got "x"/],
    [['m', '--http-port=5', '--grpc-port=5', '--http-listener=uws'], /expected native where HTTP/],
    [[], /nothing to serve/],
    [['m', '--config=/does/not/exist.yaml'], /\/does\/not\/exist.yaml: cannot read .*ENOENT/],
    [['m', `--${'x'.repeat(100_000)}`], /^.{0,250}$/],
  ];
  for (const [args, text] of cases) await refuses(args, text);
});

test('port 0 for both is no clash', async () => {
  const config = await parse('m', '--http-port=0', '--grpc-port=0');
  assert.deepEqual([config.httpPort, config.grpcPort], [0, 0]);
});

test('names are found however they are written', () => {
  assert.equal(canonicalName('restApiPort'), 'rest-api-port');
  assert.equal(canonicalName('REST_api-Port'), 'rest-api-port');
  assert.equal(nearestFlag('grpc_prot'), 'grpc-port');
  const names = SERVE_FLAGS.flatMap((row) => [row.name, ...row.aliases]);
  assert.equal(new Set(names).size, names.length);
});

test('parseFlags knows only the rows it is given', () => {
  const rows = SERVE_FLAGS.filter((row) => row.name === 'onnxruntime-library');
  assert.throws(() => parseFlags(['--http-port=1'], CWD, rows), /unknown flag "--http-port=1"/);
});
