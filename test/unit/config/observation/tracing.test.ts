// Flags of tracing, our own and Triton's, and OpenTelemetry's environment variables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServeConfig } from '../../../../ts/config/config.js';
import type { TraceConfig } from '../../../../ts/config/observation/tracing.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';

const CWD = '/somewhere';

async function parse(...args: string[]): Promise<TraceConfig> {
  const config = await parseServeConfig(['m.onnx', ...args], CWD);
  assert.ok(config);
  return config.tracing;
}

function withEnvironment<T>(values: Record<string, string>, run: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  Object.assign(process.env, values);
  return run().finally(() => {
    for (const name of Object.keys(values)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
}

test('nothing is traced unless it is asked for', async () => {
  const { levels, mode } = await parse('--trace-rate', '5');
  assert.deepEqual([levels, mode], [[], 'triton']);
  assert.equal((await parse('--trace-config', 'level=off')).levels.length, 0);
  assert.equal((await parse('--trace-config=level=false')).levels.length, 0);
});

test('a collector turns tracing on, and its URL says how it is spoken to', async () => {
  for (const [text, url, protocol] of [
    ['http://c:4318', 'http://c:4318/v1/traces', 'http'],
    ['c:4318', 'http://c:4318/v1/traces', 'http'],
    ['https://c/otlp/v1/traces', 'https://c/otlp/v1/traces', 'http'],
    ['grpc://c:4317', 'http://c:4317', 'grpc'],
    ['grpcs://c:4317', 'https://c:4317', 'grpc'],
  ] as const) {
    const { levels, mode, rate, otlp } = await parse('--trace-otlp', text);
    assert.deepEqual([levels, mode, rate], [['TIMESTAMPS'], 'opentelemetry', 1000]);
    assert.deepEqual([otlp.url, otlp.protocol], [url, protocol]);
  }
});

test("Triton's settings, of both modes", async () => {
  const otlp = await parse(
    ...['--trace-config', 'level=TIMESTAMPS', '--trace-config', 'mode=opentelemetry'],
    ...['--trace-config=rate=7', '--trace-config=count=9'],
    ...['--trace-config=opentelemetry,url=localhost:4318/v1/traces'],
    ...['--trace-config=opentelemetry,resource=service.name=mine'],
    ...['--trace-config=opentelemetry,resource=a=b=c'],
    ...['--trace-config=opentelemetry,bsp_max_queue_size=10'],
    ...['--trace-config=opentelemetry,bsp_schedule_delay=20'],
    ...['--trace-config=opentelemetry,bsp_max_export_batch_size=30'],
  );
  assert.deepEqual(
    [otlp.levels, otlp.mode, otlp.rate, otlp.count],
    [['TIMESTAMPS'], 'opentelemetry', 7, 9],
  );
  assert.deepEqual(otlp.otlp, {
    url: 'http://localhost:4318/v1/traces',
    protocol: 'http',
    resource: { 'service.name': 'mine', a: 'b=c' },
    waitingMax: 10,
    delayMs: 20,
    spansMax: 30,
  });
  assert.equal(otlp.options['bsp_max_queue_size'], '10');
  const file = await parse(
    ...['--trace-config=level=TIMESTAMPS', '--trace-config=triton,file=t.json'],
    ...['--trace-config=triton,log-frequency=50', '--trace-config=mode=triton'],
  );
  assert.deepEqual(
    [file.levels, file.mode, file.file, file.logFrequency],
    [['TIMESTAMPS'], 'triton', '/somewhere/t.json', 50],
  );
});

test("Triton's older flags", async () => {
  const { levels, mode, file, rate, count, logFrequency } = await parse(
    ...['--trace-file', '/t/x.json', '--trace-level', 'MAX', '--trace-rate=3'],
    ...['--trace-count=4', '--log-frequency=5'],
  );
  assert.deepEqual(
    [levels, mode, file, rate, count, logFrequency],
    [['TIMESTAMPS'], 'triton', '/t/x.json', 3, 4, 5],
  );
});

test('levels add up; OFF ends them', async () => {
  const levelsOf = async (...words: readonly string[]) => {
    const flags = words.map((word) => `--trace-config=level=${word}`);
    return (await parse('--trace-file=t.json', ...flags)).levels;
  };
  assert.deepEqual(await levelsOf('TENSORS'), ['TENSORS']);
  assert.deepEqual(await levelsOf('timestamps', 'TENSORS', 'MAX'), ['TIMESTAMPS', 'TENSORS']);
  assert.deepEqual(await levelsOf('TENSORS', 'OFF', 'TIMESTAMPS'), ['TIMESTAMPS']);
});

test("OpenTelemetry's environment names the collector where nothing else does", async () => {
  const on = ['--trace-config=level=TIMESTAMPS', '--trace-config=mode=opentelemetry'];
  const endpointOf = async (values: Record<string, string>, ...more: string[]) => {
    const { otlp } = await withEnvironment(values, () => parse(...on, ...more));
    return [otlp.url, otlp.protocol];
  };
  assert.deepEqual(await endpointOf({}), ['http://localhost:4318/v1/traces', 'http']);
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1/base/' };
  assert.deepEqual(await endpointOf(base), ['http://c:1/base/v1/traces', 'http']);
  const own = { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://d:2/x' };
  assert.deepEqual(await endpointOf(own), ['http://d:2/x', 'http']);
  const grpc = { ...base, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  assert.deepEqual(await endpointOf(grpc), ['http://c:1', 'grpc']);
  assert.deepEqual(await endpointOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), [
    'http://localhost:4317',
    'grpc',
  ]);
  assert.deepEqual(await endpointOf(own, '--trace-otlp=http://e:3'), [
    'http://e:3/v1/traces',
    'http',
  ]);
  await assert.rejects(endpointOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://c' }), /OTEL_EXPORTER/);
});

test('refuses invalid values with their place', async () => {
  for (const [args, text] of [
    [['--trace-config=level=TIMESTAMPS'], /--trace-config level: expected --trace-file FILE or/],
    [['--trace-level=TIMESTAMPS'], /--trace-level: expected --trace-file FILE or/],
    [['--trace-config=level=TENSORS', '--trace-otlp=c:1'], /TENSORS needs the mode triton/],
    [['--trace-level', 'loud'], /--trace-level: expected OFF, TIMESTAMPS or TENSORS, got "loud"/],
    [['--trace-config=rate=x'], /--trace-config rate: expected a whole number of 0 to/],
    [['--trace-config=count=-2'], /count: expected a whole number of -1 to/],
    [['--trace-config=mode=jaeger'], /mode: expected triton or opentelemetry, got "jaeger"/],
    [['--trace-config=triton,url=x'], /expected SETTING=VALUE of triton,file, triton,log-freq/],
    [['--trace-config=colour=red'], /expected SETTING=VALUE of level, rate, count, mode, got/],
    [['--trace-config=what'], /got "what"/],
    [['--trace-config=opentelemetry,resource=x'], /expected resource=NAME=VALUE/],
    [['--trace-config=opentelemetry,bsp_schedule_delay=0'], /a whole number of 1 to/],
    [['--trace-otlp=ftp://x'], /--trace-otlp: expected http:\/\/HOST:PORT/],
    [['--trace-otlp=http://'], /--trace-otlp: expected/],
    [['--trace-otlp=c:1', '--trace-config=mode=triton'], /expected opentelemetry, because/],
    [['--trace-file=x', '--trace-config=mode=opentelemetry'], /--trace-file: expected the mode/],
  ] as const) {
    await assert.rejects(parse(...args), (error: unknown) => {
      assert.ok(error instanceof ServalError);
      assert.equal(error.code, ErrorCode.InvalidArgument);
      assert.match(error.message, text);
      return true;
    });
  }
});
