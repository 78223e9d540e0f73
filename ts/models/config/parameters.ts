// The parameters of config.pbtxt: their texts, and the format that each must have. Control plane;
// pure. Source: v2-protocol.md 3; Triton's ONNX Runtime backend.
import { expectedLimit, limitValue } from '../../access/key-limits.js';
import { MODEL_THREADS_MAX, WEIGHT_MAX } from '../../base/limits.js';
import { VERIFICATION_MODES } from '../../model/platforms.js';
import { read } from '../../protobuf/schema.js';
import type { TritonConfig } from './types.js';

/** Text of a parameter; undefined if it is absent. */
export function parameter(config: TritonConfig, name: string): string | undefined {
  const found = read.entries(config, 'parameters').find(([key]) => key === name);
  return found === undefined ? undefined : read.text(found[1], 'string_value');
}

/** Value of a BOOL that has been checked. */
export function isTrue(text: string | undefined): boolean {
  return text === '1' || text?.toLowerCase() === 'true';
}

const BOOL_TEXT = /^(?:true|false|0|1)$/i;
/** Value of serval.allowed_rows: batches are never padded. */
export const ANY_ROWS = 'any';
/** Value of serval.allowed_rows: row counts. */
export const ROWS_TEXT = /^\s*\d{1,9}\s*(?:,\s*\d{1,9}\s*)*$/;

/** The largest `memory_priority`. */
const MEMORY_PRIORITY_MAX = 100;

/** The format of a text. */
export interface TextRule {
  readonly expected: string;
  readonly fits: (text: string) => boolean;
}

/** The format of each known parameter. Other parameters are kept for the backend. */
export const PARAMETER_RULES: Readonly<Record<string, TextRule>> = {
  intra_op_thread_count: whole(MODEL_THREADS_MAX),
  inter_op_thread_count: whole(MODEL_THREADS_MAX),
  execution_mode: oneOf('0', '1'),
  enable_mem_arena: bool(),
  enable_mem_pattern: bool(),
  cudnn_conv_algo_search: oneOf('0', '1', '2'),
  do_copy_in_default_stream: bool(),
  gpu_mem_limit: { expected: 'a number of bytes', fits: (text) => /^\d{1,15}$/.test(text) },
  arena_extend_strategy: oneOf('0', '1'),
  extended_v2: bool(),
  isolation: oneOf('none', 'process'),
  isolation_group: { expected: 'a name of 1 to 128 letters, digits, ., _ or -', fits: isGroup },
  'serval.split': bool(),
  'serval.pad_inner': bool(),
  'serval.allow_random': bool(),
  'serval.retry': bool(),
  'serval.done_output': { expected: "an output's name", fits: (text) => text !== '' },
  'serval.steps_max': whole(1_000_000, 1),
  load_mode: oneOf('eager', 'lazy'),
  pin: bool(),
  min_idle_seconds: whole(86_400),
  memory_priority: whole(MEMORY_PRIORITY_MAX),
  max_in_flight: limit('max_in_flight'),
  requests_per_second: limit('requests_per_second'),
  rows_per_second: limit('rows_per_second'),
  weight: whole(WEIGHT_MAX, 1),
  'serval.allowed_rows': {
    expected: 'row counts such as "1,2,4", or "any"',
    fits: (t) => t === ANY_ROWS || ROWS_TEXT.test(t),
  },
  verification: oneOf(...VERIFICATION_MODES),
};
/** The same for parameters that only the null backend has. */
export const NULL_PARAMETER_RULES: Readonly<Record<string, TextRule>> = {
  mode: oneOf('echo', 'delay', 'fail'),
  delay_us: whole(3_600_000_000),
};

function isGroup(text: string): boolean {
  return /^[\w.-]{1,128}$/.test(text);
}

function limit(name: Parameters<typeof limitValue>[0]): TextRule {
  return { expected: expectedLimit(name), fits: (text) => limitValue(name, text) !== undefined };
}

function whole(max: number, min = 0): TextRule {
  const fits = (text: string): boolean =>
    /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max;
  return { expected: `a whole number from ${min} to ${max}`, fits };
}

function oneOf(...words: readonly string[]): TextRule {
  return { expected: words.join(' or '), fits: (text) => words.includes(text) };
}

export function bool(): TextRule {
  return { expected: 'true, false, 1 or 0', fits: (text) => BOOL_TEXT.test(text) };
}
