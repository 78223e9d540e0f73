// Every flag of tensorflow_model_server and of tritonserver, through the real parser: it has the
// effect that the table states.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServeConfig, type Config } from '../../../../ts/config/config.js';
import { parseConfigText } from '../../../../ts/config/file.js';
import { findFlag } from '../../../../ts/config/flags.js';
import type { PeerFlag } from '../../../../ts/config/peers/row.js';
import { TENSORFLOW_SERVING_FLAGS } from '../../../../ts/config/peers/tensorflow-serving.js';
import { TRITON_FLAGS } from '../../../../ts/config/peers/triton.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';

const CWD = '/somewhere';
const ALL: readonly PeerFlag[] = [...TENSORFLOW_SERVING_FLAGS, ...TRITON_FLAGS];

async function parse(...args: string[]): Promise<Config> {
  const config = await parseServeConfig(args, CWD);
  assert.ok(config);
  return config;
}

async function refusal(...args: string[]): Promise<string> {
  const error: unknown = await parseServeConfig(args, CWD).then(
    () => assert.fail(`${args.join(' ')} was taken`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServalError);
  assert.equal(error.code, ErrorCode.InvalidArgument);
  return error.message;
}

const inState = (...states: readonly string[]): readonly PeerFlag[] =>
  ALL.filter((row) => states.includes(row.state));

/** A value of each kind, for rows whose value does not matter. */
const NUMBERS = ['N', 'PORT', 'MS', 'US', 'BYTES'];
const valueOf = ({ value, harmless }: PeerFlag): string => {
  if (value === 'BOOL') return harmless.includes('true') ? 'false' : 'true';
  return NUMBERS.includes(value) ? '3' : 'x';
};
const underscored = (name: string): string => `--${name.replaceAll('-', '_')}`;

/** Flags that need another flag, or do not accept 'x'. */
const WORKING: Readonly<Record<string, readonly string[]>> = {
  'rate-limit': ['--rate_limit=execution_count'],
  'rate-limit-resource': ['--rate_limit_resource=R:1:0', '--rate-limit-resource', 'R2:2'],
  'model-name': ['--model-base-path=/b', '--model-name=x'],
  'model-base-path': ['--model-base-path=/b'],
  'model-config-file': ['--model-config-file=/c'],
  'batching-parameters-file': ['--enable-batching', '--batching-parameters-file=/p'],
  'ssl-config-file': ['--ssl-config-file=/s'],
  'grpc-channel-arguments': ['--grpc-channel-arguments=grpc.max_connection_age_ms=3'],
  'log-format': ['--log-format=ISO8601'],
  'trace-config': ['--trace-config=triton,file=/t', '--trace-config=level=TIMESTAMPS'],
  'trace-level': ['--trace-file=/t', '--trace-level=TIMESTAMPS'],
  'model-control-mode': ['--model-control-mode=POLL'],
  'load-model': ['--model-control-mode=explicit', '--load-model=x'],
  'grpc-use-ssl': ['--grpc-use-ssl=false'],
  'grpc-use-ssl-mutual': ['--grpc-use-ssl-mutual=off'],
  'grpc-server-cert': ['--grpc-use-ssl=0', '--grpc-server-cert=/c'],
  'grpc-server-key': ['--grpc-use-ssl=0', '--grpc-server-key=/k'],
  'grpc-root-cert': ['--grpc-use-ssl=0', '--grpc-root-cert=/r'],
  'http-restricted-api': ['--http-restricted-api=model-repository:key=x'],
  'grpc-restricted-protocol': ['--grpc-restricted-protocol=model-repository:key=x'],
  'grpc-infer-response-compression-level': ['--grpc-infer-response-compression-level=High'],
};

test('no flag is listed twice, and notes are sentences without a full stop', () => {
  const names = ALL.map((row) => row.name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, state, note } of ALL) {
    assert.match(name, /^[a-z][a-z0-9-]*$/);
    assert.doesNotMatch(note, /\.$/);
    assert.equal(state === 'works' || note !== '', true, name);
  }
});

test('accepts supported flags silently', async () => {
  for (const row of inState('works')) {
    assert.ok(findFlag(row.name), row.name);
    const args = WORKING[row.name] ?? [`${underscored(row.name)}=${valueOf(row)}`];
    const { ignoredFlags } = await parse('m', ...args).catch((error: unknown) => {
      // models.config is given alone or with PATH, as is a base path.
      assert.fail(`${args.join(' ')}: ${String(error)}`);
    });
    assert.deepEqual(ignoredFlags, [], row.name);
  }
});

test('all others are none of ours', () => {
  for (const row of inState('mapped', 'no effect', 'not here')) {
    assert.equal(findFlag(row.name), undefined, row.name);
  }
});

test('accepts and reports flags without effect, with and without "="', async () => {
  for (const row of inState('no effect')) {
    const flag = underscored(row.name);
    const value = valueOf(row);
    const expected = [`${flag}: ${row.note}`];
    const joined = await parse('m', `${flag}=${value}`);
    assert.deepEqual(joined.ignoredFlags, expected);
    const spaced = await parse(flag, value, 'm');
    assert.deepEqual(spaced.ignoredFlags, expected);
    assert.deepEqual(spaced.sources.paths, ['/somewhere/m']);
  }
});

test('flags that are not here are refused by name, with what to do instead', async () => {
  for (const row of inState('not here')) {
    const flag = underscored(row.name);
    const message = await refusal('m', `${flag}=${valueOf(row)}`);
    assert.ok(message.startsWith(`${flag}: `), message);
    assert.ok(message.endsWith(`not here: ${row.note}`), message);
    assert.doesNotMatch(message, /did you mean/);
  }
});

test('accepts flags that state the default silently, in each spelling', async () => {
  for (const row of ALL) {
    for (const harmless of row.harmless) {
      const spelled = { true: ['true', 'True', 'on', '1'], false: ['false', 'False', 'off', '0'] };
      const isSwitch = row.value === 'BOOL' && (harmless === 'true' || harmless === 'false');
      for (const value of isSwitch ? spelled[harmless] : [harmless, harmless.toUpperCase()]) {
        const { ignoredFlags } = await parse('m', `--${row.name}=${value}`);
        assert.deepEqual(ignoredFlags, [], `${row.name}=${value}`);
      }
    }
  }
});

test('treats the argument after a lone switch as a path', async () => {
  const config = await parse('--enable_profiler', 'm');
  assert.deepEqual(config.sources.paths, ['/somewhere/m']);
  assert.match(
    await refusal('m', '--use_alts_credentials'),
    /expected false, got "true"; not here/,
  );
  assert.equal((await parse('--allow-grpc', 'm')).sources.paths.length, 1);
});

test("the stock runtimes' command lines are taken as they are", async () => {
  const triton = await parse(
    '--model-store=/mnt/models',
    '--grpc-port=9000',
    '--http-port=8080',
    '--allow-grpc=true',
    '--allow-http=true',
  );
  assert.deepEqual(triton.sources.modelRepositories, ['/mnt/models']);
  const serving = await parse(
    '--model_name=m',
    '--port=9000',
    '--rest_api_port=8080',
    '--model_base_path=/mnt/models',
    '--rest_api_timeout_in_ms=60000',
    '--use_alts_credentials=false',
  );
  assert.deepEqual(
    [triton, serving].flatMap((one) => one.ignoredFlags),
    [],
  );
  assert.equal(serving.restTimeoutMs, 60_000);
});

test("the log's switches are a level", async () => {
  const level = async (...args: string[]): Promise<string> => (await parse('m', ...args)).logLevel;
  assert.equal(await level('--log-verbose=1'), 'debug');
  assert.equal(await level('--log-verbose=0'), 'info');
  assert.equal(await level('--log-verbose', '2', '--log-info=True'), 'debug');
  assert.equal(await level('--log-info=false'), 'warn');
  assert.equal(await level('--log-info=off', '--log-warning=0'), 'error');
  assert.equal(await level('--log-info=0', '--log-warning=0', '--log-error=0'), 'off');
  assert.equal(await level('--log-verbose=1', '--log-level=error'), 'error');
  assert.match(
    await refusal('m', '--log-warning=false'),
    /^--log-warning: expected true, because "info"/,
  );
  assert.match(
    await refusal('m', '--log-verbose=1', '--log-error=0'),
    /^--log-error: expected true/,
  );
  assert.equal(
    await refusal('m', '--log-verbose=-1'),
    '--log-verbose: expected a whole number of 0 or more, got "-1"',
  );
  assert.equal(
    await refusal('m', '--log-info=maybe'),
    '--log-info: expected true or false, got "maybe"',
  );
});

test('session parallelism is that of the pool', async () => {
  assert.equal((await parse('m', '--tensorflow_session_parallelism=3')).model.intraOpThreads, 3);
  const both = await parse('m', '--tensorflow_session_parallelism=3', '--intra-op-threads=2');
  assert.equal(both.model.intraOpThreads, 2);
  assert.match(await refusal('m', '--tensorflow_session_parallelism'), /expected N after it/);
  assert.match(await refusal('m', '--tensorflow_session_parallelism=x'), /expected a whole number/);
});

test('settings of backends', async () => {
  const config = await parse(
    'm',
    '--backend-config=default-max-batch-size=7',
    '--backend-config=onnxruntime,intra_op_thread_count=2',
    '--backend-config=onnxruntime,inter-op-thread-count=3',
    '--backend-config=onnxruntime,enable-global-threadpool=1',
    '--backend-config=onnxruntime,no_such=1',
    '--backend-config=python,shm-default-byte-size=1',
  );
  assert.equal(config.batching.defaultMaxBatchSize, 7);
  assert.deepEqual([config.model.intraOpThreads, config.model.interOpThreads], [2, 3]);
  assert.deepEqual(config.ignoredFlags, [
    '--backend-config onnxruntime,no_such: there is no such setting here',
    '--backend-config python,shm-default-byte-size: that backend is not here',
  ]);
  assert.match(await refusal('m', '--backend-config=x'), /expected BACKEND,SETTING=VALUE/);
  assert.match(
    await refusal('m', '--backend-config=default-max-batch-size=x'),
    /^--backend-config default-max-batch-size: expected a whole number/,
  );
});

test("the size of Triton's local cache", async () => {
  const size = async (text: string): Promise<number> =>
    (await parse('m', `--cache-config=${text}`)).responseCacheBytes;
  assert.equal(await size('local,size=1048576'), 1_048_576);
  assert.equal((await parse('m', '--response-cache-byte-size=3')).responseCacheBytes, 3);
  for (const text of ['redis,host=a', 'local', 'local,size=1M', 'size=1', 'local,size=-1']) {
    assert.match(
      await refusal('m', `--cache-config=${text}`),
      /^--cache-config: expected local,size=BYTES, got "/,
    );
  }
});

test('settings of metrics', async () => {
  const metricsOf = async (
    ...settings: readonly string[]
  ): Promise<readonly [boolean, string, readonly string[]]> => {
    const { metrics, ignoredFlags } = await parse(
      'm',
      ...settings.map((one) => `--metrics-config=${one}`),
    );
    return [metrics.latencyCounters, metrics.summaryQuantiles, ignoredFlags];
  };
  assert.deepEqual(await metricsOf(), [true, '', []]);
  const off = ['counter_latencies=false', 'summary_latencies=false', 'histogram_latencies=false'];
  assert.deepEqual(await metricsOf(...off, 'summary_quantiles=0.5:0.05'), [
    false,
    '',
    [
      '--metrics-config histogram_latencies: they are always on',
      '--metrics-config summary_quantiles: no effect without summary_latencies=true',
    ],
  ]);
  assert.deepEqual(await metricsOf('counter_latencies=true', 'summary_latencies=true'), [
    true,
    '0.5,0.9,0.95,0.99,0.999',
    [],
  ]);
  const quantiles = 'summary_quantiles=0:0.1, .5:.05,1.0:0.001';
  assert.deepEqual(await metricsOf(quantiles, 'summary_latencies=1'), [true, '0,0.5,1', []]);
  const cases: readonly (readonly [string, RegExp])[] = [
    ['x=1', /^--metrics-config: expected SETTING=VALUE of counter_latencies, .*got "x=1"/],
    ['summary_latencies=maybe', /^--metrics-config summary_latencies: expected true or false, got/],
    [
      'summary_quantiles=0.5',
      /expected QUANTILE:ERROR,\.\.\. with different quantiles and numbers/,
    ],
    ['summary_quantiles=1.5:0.1', /got "1.5:0.1"/],
    ['summary_quantiles=0.5:1.1', /got "0.5:1.1"/],
    ['summary_quantiles=0.5:0.1,', /got "0.5:0.1,"/],
    ['summary_quantiles=0.5:0.1,0.50:0.1', /got "0.5:0.1,0.50:0.1"/],
  ];
  for (const [text, expected] of cases) {
    assert.match(await refusal('m', `--metrics-config=${text}`), expected);
  }
  for (const text of ['0.5,2', '0.5,0.50']) {
    const refused = await refusal('m', `--metrics-summary-quantiles=${text}`);
    const expected = 'expected different numbers from 0 to 1, such as 0.5,0.99';
    assert.equal(refused, `--metrics-summary-quantiles: ${expected}, got "${text}"`);
  }
});

test("keys of the file that are other servers' flags are refused, without a guess", async () => {
  for (const row of inState('mapped', 'no effect', 'not here')) {
    await assert.rejects(parseConfigText(`${row.name}: 1\n`, '/c/s.yaml'), (error: unknown) => {
      assert.ok(error instanceof ServalError);
      assert.ok(
        error.message.startsWith(`/c/s.yaml:1:1: ${row.name} is a flag of T`),
        error.message,
      );
      assert.ok(error.message.endsWith(row.note), error.message);
      return true;
    });
  }
});

test('a flag of nobody still names the nearest', async () => {
  assert.match(await refusal('m', '--grpc-prt=1', '--log-info=true'), /did you mean --grpc-port\?/);
});
