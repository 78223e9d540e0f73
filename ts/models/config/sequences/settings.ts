// Maps sequence_batching to engine settings. Control plane; pure. Source: Triton's
// ModelSequenceBatching; v2-protocol.md 3.
import type {
  ModelSpec,
  SequenceControl,
  SequenceSpec,
  SequenceState,
} from '../../../model/engine-api.js';
import type { Datatype } from '../../../model/snapshot.js';
import { datatypeOfConfig } from '../../../model/datatype.js';
import { read, type MessageValue } from '../../../protobuf/schema.js';
import { NO_BATCHING } from '../batching-parameters.js';
import { parameter } from '../parameters.js';
import type { TritonConfig } from '../types.js';

/** Contents of the files with initial states, by the name of the state's input. */
export type InitialStates = ReadonlyMap<string, Uint8Array>;

/** Types of CONTROL_SEQUENCE_CORRID. */
export const ID_TYPES: Readonly<Record<string, Datatype>> = {
  TYPE_UINT64: 'UINT64',
  TYPE_INT64: 'INT64',
  TYPE_UINT32: 'UINT32',
  TYPE_INT32: 'INT32',
  TYPE_STRING: 'BYTES',
};

interface FalseTrue {
  readonly datatype: Datatype;
  element(value: number): Uint8Array;
}

/** Members of a control with its two values. */
export const FALSE_TRUE: Readonly<Record<string, FalseTrue>> = {
  int32_false_true: {
    datatype: 'INT32',
    element: (value) => new Uint8Array(Int32Array.of(value).buffer),
  },
  fp32_false_true: {
    datatype: 'FP32',
    element: (value) => new Uint8Array(Float32Array.of(value).buffer),
  },
  bool_false_true: { datatype: 'BOOL', element: (value) => Uint8Array.of(value) },
};

/** The parameter that names the output which is true after the last step of a request. */
export const DONE_PARAMETER = 'serval.done_output';
export const STEPS_PARAMETER = 'serval.steps_max';
const STEPS_MAX = 1024;

const IDLE_US = 1_000_000;
const SIGNALS: Readonly<Record<string, SequenceControl['signal']>> = {
  CONTROL_SEQUENCE_START: 'start',
  CONTROL_SEQUENCE_READY: 'ready',
  CONTROL_SEQUENCE_END: 'end',
  CONTROL_SEQUENCE_CORRID: 'id',
};

export function controlKind(control: MessageValue): string {
  return read.text(control, 'kind') || 'CONTROL_SEQUENCE_START';
}

export function isIdControl(control: MessageValue): boolean {
  return SIGNALS[controlKind(control)] === 'id';
}

export function hasSequences(config: MessageValue | undefined): boolean {
  return config?.['sequence_batching'] !== undefined;
}

/** Whether a request is a sequence of steps, which the server runs until the model says so. */
export function isIterative(config: MessageValue): boolean {
  return read.bool(read.child(config, 'sequence_batching') ?? {}, 'iterative_sequence');
}

/** Names of a configuration's state files, by the name of the state's input. */
export function stateFiles(config: MessageValue): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const state of read.children(read.child(config, 'sequence_batching'), 'state')) {
    const file = read.text(read.children(state, 'initial_state')[0], 'data_file');
    if (file !== '') files.set(read.text(state, 'input_name'), file);
  }
  return files;
}

/** `config` has been checked. */
export function sequenceSettings(
  config: TritonConfig,
  initialStates: InitialStates,
): Partial<ModelSpec> {
  const sequences = read.child(config, 'sequence_batching');
  if (sequences === undefined) return {};
  const max = read.int(config, 'max_batch_size');
  const oldest = read.child(sequences, 'oldest');
  const direct = read.child(sequences, 'direct');
  const utilization = read.int(direct, 'minimum_slot_utilization');
  const preferred = new Set(read.ints(oldest, 'preferred_batch_size'));
  const sequence: SequenceSpec = {
    strategy: oldest === undefined ? 'direct' : 'oldest',
    idleUs: read.int(sequences, 'max_sequence_idle_microseconds') || IDLE_US,
    slots: read.int(oldest, 'max_candidate_sequences'),
    rowsMin: Math.ceil(utilization * Math.max(1, max)),
    controls: read.children(sequences, 'control_input').flatMap(controlsOf),
    states: read.children(sequences, 'state').map((state) => stateOf(state, initialStates)),
    doneOutput: isIterative(config) ? (parameter(config, DONE_PARAMETER) ?? '') : '',
    stepsMax: Number(parameter(config, STEPS_PARAMETER) ?? STEPS_MAX),
  };
  return {
    sequence,
    batchDim: max > 0,
    batch: {
      ...NO_BATCHING,
      rowsMax: max,
      preferredRows: [...preferred].sort((a, b) => a - b),
      delayUs: read.int(oldest ?? direct, 'max_queue_delay_microseconds'),
      preserveOrdering: read.bool(oldest, 'preserve_ordering'),
    },
  };
}

function controlsOf(input: MessageValue): readonly SequenceControl[] {
  const name = read.text(input, 'name');
  return read.children(input, 'control').map((control): SequenceControl => {
    const signal = SIGNALS[controlKind(control)] ?? 'start';
    const none = new Uint8Array();
    if (signal === 'id') {
      const datatype = ID_TYPES[read.text(control, 'data_type')] ?? 'UINT64';
      return { input: name, signal, datatype, off: none, on: none };
    }
    for (const [member, { datatype, element }] of Object.entries(FALSE_TRUE)) {
      const [off, on] = read.ints(control, member);
      if (off === undefined || on === undefined) continue;
      return { input: name, signal, datatype, off: element(off), on: element(on) };
    }
    return { input: name, signal, datatype: 'BOOL', off: none, on: none };
  });
}

/** Without an initial state it has zeros, and one element where a dim is dynamic, as in Triton. */
function stateOf(state: MessageValue, initialStates: InitialStates): SequenceState {
  const input = read.text(state, 'input_name');
  const [initial] = read.children(state, 'initial_state');
  const dims = read.ints(initial ?? state, 'dims').map((dim) => (dim === -1 ? 1 : dim));
  return {
    input,
    output: read.text(state, 'output_name'),
    datatype: datatypeOfConfig(read.text(state, 'data_type')) ?? 'BYTES',
    dims,
    initial: initialStates.get(input) ?? new Uint8Array(),
  };
}
