// The flags of `serval bench --tune`. Data, plus a check whether it is requested; control plane.
import type { ParsedFlags } from '../../../config/command-line.js';
import { flag, type FlagRow, TEXT } from '../../../config/values/flag-row.js';
import { boolValue } from '../../../config/values/values.js';

export const TUNE = flag(
  'tune',
  '',
  { kind: 'bool' },
  'false',
  'search for the best instances, threads, batches and queue delay; prints a config.pbtxt',
);
export const LATENCY_BOUND = flag(
  'latency-bound',
  'TIME',
  TEXT,
  '',
  '--tune: p99 must stay below this (10ms, 500us, 1s)',
);
export const TUNE_SECONDS = flag(
  'tune-seconds',
  'S',
  { kind: 'int', min: 1, max: 86_400 },
  300,
  '--tune: seconds after which nothing new is tried',
);
export const CONFIG_OUT = flag(
  'config-out',
  'FILE',
  TEXT,
  '',
  '--tune: write config.pbtxt to this file',
);
export const BATCHING_OUT = flag(
  'batching-parameters-out',
  'FILE',
  TEXT,
  '',
  "--tune: write TensorFlow Serving's --batching_parameters_file",
);

export const TUNE_FLAGS: readonly FlagRow[] = [
  TUNE,
  LATENCY_BOUND,
  TUNE_SECONDS,
  CONFIG_OUT,
  BATCHING_OUT,
];

export function isTuning({ settings }: ParsedFlags): boolean {
  const written = settings.get(TUNE.name);
  return written !== undefined && boolValue(written);
}
