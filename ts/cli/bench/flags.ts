// The flags of `serval bench`. Data only; control plane.
import { HEADER } from '../header-flag.js';
import { flag, TEXT, TEXT_LIST } from '../../config/values/flag-row.js';
import { type FlagRow } from '../../config/values/flag-row.js';
import { SERVE_FLAGS } from '../../config/flags.js';
import { MODEL_SETTINGS } from '../../library/settings.js';
import { BENCH_THREADS_MAX } from '../../base/limits.js';
import { TUNE_FLAGS } from './tune/flags.js';

const whole = (min: number, max: number) => ({ kind: 'int', min, max }) as const;
const OF_SERVERS = ['http-threads', 'http-listener', 'grpc-threads'];
/** Flags that the load controls itself. */
const NOT_TAKEN = ['log-level', 'log-format', 'model-config-name'];

export const PATHS = flag(
  'paths',
  'LIST',
  TEXT,
  '',
  'paths to measure: engine,rest-json,rest-binary,grpc (default), v1-json,grpc-predict',
);
export const CONCURRENCY = flag(
  'concurrency',
  'N,N,...',
  TEXT,
  '1,4,16',
  'closed loops: requests in flight',
);
export const RATE = flag(
  'rate',
  'R,R,...',
  TEXT,
  '30%,60%,90%',
  'open loops: requests per second, or percentages of the rate of closed loops; none',
);
export const BATCH = flag('batch', 'N,N,...', TEXT, '1', 'rows per request');
export const SECONDS = flag('seconds', 'S', TEXT, '2', 'duration of each measurement');
export const WARMUP = flag('warmup-seconds', 'S', TEXT, '0.5', 'warm-up before each, not counted');
export const ARRIVALS = flag(
  'arrivals',
  'KIND',
  { kind: 'choice', choices: ['poisson', 'constant'] },
  'poisson',
  'open loops: random arrivals as from independent callers, or even ones',
);
export const SEED = flag(
  'seed',
  'N',
  whole(0, 4_294_967_295),
  1,
  'seed of random values and arrivals',
);
export const LOAD_THREADS = flag(
  'load-threads',
  'N',
  whole(0, BENCH_THREADS_MAX),
  0,
  'threads that send; 0: one, or more on machines with 8 cores',
);

export const HTTP2 = flag(
  'http2',
  '',
  { kind: 'bool' },
  'false',
  'REST over HTTP/2: prior knowledge, ALPN with TLS',
);

/** Flags of `serval serve` and the library that are passed on. */
export const HANDED_ON: readonly FlagRow[] = SERVE_FLAGS.filter(
  ({ name }) =>
    (MODEL_SETTINGS.includes(name) && !NOT_TAKEN.includes(name)) || OF_SERVERS.includes(name),
);

export const BENCH_FLAGS: readonly FlagRow[] = [
  PATHS,
  CONCURRENCY,
  RATE,
  BATCH,
  SECONDS,
  WARMUP,
  ARRIVALS,
  flag('input', 'NAME=VALUE', TEXT_LIST, '', 'input as for `serval predict`; others are random'),
  flag('shape', 'NAME=N,N,...', TEXT_LIST, '', 'sizes of dynamic dimensions; may be repeated'),
  SEED,
  LOAD_THREADS,
  HTTP2,
  flag('json', 'FILE', TEXT, '', 'write the report as JSON; "-" is stdout, in place of the table'),
  flag('html', 'FILE', TEXT, '', 'write the report as one HTML page with plots'),
  ...TUNE_FLAGS,
  flag('model', 'NAME', TEXT, '', 'model name, if PATH or the URL has several'),
  flag('model-version', 'V', TEXT, '', 'version (default: the highest)'),
  flag(
    'signature',
    'NAME',
    TEXT,
    '',
    'signature for v1-json and grpc-predict (default: serving_default)',
  ),
  HEADER,
  flag('tls-ca', 'FILE', TEXT, '', 'CA certificates for the URL (PEM)'),
  ...HANDED_ON,
];
