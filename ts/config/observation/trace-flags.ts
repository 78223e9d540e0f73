// The flags of tracing: rows of the table of settings. Control plane, start-up only. Data only.
// Names are Triton's where Triton has the flag.
import { flag, type FlagType } from '../values/flag-row.js';

const COUNT: FlagType = { kind: 'int', min: 0, max: 2_147_483_647 };

export const TRACE_FLAGS = [
  flag(
    'trace-otlp',
    'URL',
    { kind: 'text' },
    '',
    'send traces to this OpenTelemetry collector: http://HOST:4318 or grpc://HOST:4317',
  ),
  flag(
    'trace-config',
    'SETTING',
    { kind: 'text-list' },
    '',
    "Triton's level=, rate=, count=, mode= and MODE,SETTING=VALUE; may be repeated",
  ),
  flag(
    'trace-level',
    'LEVEL',
    { kind: 'text-list' },
    '',
    'OFF or TIMESTAMPS (with --trace-otlp TIMESTAMPS)',
  ),
  flag(
    'trace-rate',
    'N',
    COUNT,
    1000,
    'trace one request in N; 0: only requests that their callers trace',
  ),
  flag(
    'trace-count',
    'N',
    { kind: 'int', min: -1, max: 2_147_483_647 },
    -1,
    'maximum number of traces; -1: unlimited',
  ),
  flag('trace-file', 'FILE', { kind: 'path' }, '', "write traces here, in Triton's JSON"),
  flag(
    'trace-log-frequency',
    'N',
    COUNT,
    0,
    'start a new file (FILE.0, FILE.1, ...) after this many traces; 0: one file',
    { aliases: ['log-frequency'] },
  ),
];
