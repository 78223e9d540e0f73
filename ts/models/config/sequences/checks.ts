// Checks sequence_batching: its controls, its states and its strategy. Control plane; pure. Source:
// Triton's ValidateModelConfig; v2-protocol.md 3.
import { echo } from '../../../base/text.js';
import { UINT32_MAX } from '../../../base/limits.js';
import { TABULAR_PLATFORMS } from '../../../model/platforms.js';
import { read, type MessageValue } from '../../../protobuf/schema.js';
import type { EnsembleNote } from '../ensembles/checks.js';
import { isTrue, parameter } from '../parameters.js';
import type { TritonConfig } from '../types.js';
import {
  controlKind,
  DONE_PARAMETER,
  FALSE_TRUE,
  ID_TYPES,
  isIdControl,
  isIterative,
  STEPS_PARAMETER,
} from './settings.js';

/** A problem of the member `name` of the message `of`. */
export type SequenceProblem = Omit<EnsembleNote, 'kind'>;

const SLOTS_MAX = 1_048_576;

export function sequenceProblems(config: MessageValue): readonly SequenceProblem[] {
  const sequences = read.child(config, 'sequence_batching');
  if (!isIterative(config)) {
    const unused = unusedProblems(config);
    if (unused.length > 0) return unused;
  }
  if (sequences === undefined) return [];
  const names = new Set<string>();
  return [
    ...modelProblems(config),
    ...controlProblems(sequences, config, names),
    ...stateProblems(sequences, config, names),
    ...strategyProblems(sequences, read.int(config, 'max_batch_size')),
    ...iterativeProblems(sequences, config),
  ];
}

/** Parameters of iterative sequences in another model. */
function unusedProblems(config: MessageValue): readonly SequenceProblem[] {
  const of = read.child(config, 'parameters') ?? {};
  return [DONE_PARAMETER, STEPS_PARAMETER]
    .filter((name) => parameter(config as TritonConfig, name) !== undefined)
    .map((name) => ({
      ...{ of, name },
      text: 'expected it with sequence_batching { iterative_sequence: true } only',
    }));
}

function iterativeProblems(
  sequences: MessageValue,
  config: MessageValue,
): readonly SequenceProblem[] {
  if (!isIterative(config)) return [];
  const problems: SequenceProblem[] = [];
  const refuse = (of: MessageValue, name: string, text: string): void => {
    problems.push({ of, name, text });
  };
  if (parameter(config as TritonConfig, DONE_PARAMETER) === undefined) {
    const expected = `expected the parameter ${DONE_PARAMETER} with it`;
    const what = 'the output (BOOL, INT32 or INT64) that is true after the last step';
    refuse(sequences, 'iterative_sequence', `${expected}: ${what}; got none`);
  }
  if (read.children(sequences, 'state').length === 0) {
    refuse(sequences, 'iterative_sequence', 'expected a state with it, got none');
  }
  for (const input of read.children(sequences, 'control_input')) {
    const ends = read
      .children(input, 'control')
      .find((one) => controlKind(one) === 'CONTROL_SEQUENCE_END');
    if (ends === undefined) continue;
    const text = 'expected no CONTROL_SEQUENCE_END with iterative_sequence: the model ends itself';
    refuse(ends, 'kind', text);
  }
  const policy = read.child(config, 'model_transaction_policy');
  if (policy !== undefined && read.bool(policy, 'decoupled')) {
    const text = 'expected false with iterative_sequence, which has one response for each request';
    refuse(policy, 'decoupled', text);
  }
  return problems;
}

function modelProblems(config: MessageValue): readonly SequenceProblem[] {
  const problem = (text: string): SequenceProblem[] => [
    { of: config, name: 'sequence_batching', text },
  ];
  const platform = read.text(config, 'platform');
  const isTabular =
    Object.values<string>(TABULAR_PLATFORMS).includes(platform) ||
    ['tabular', 'fil'].includes(read.text(config, 'backend'));
  if (isTabular) return problem('expected it for a model of tensors, got a tabular model');
  if (isTrue(parameter(config as TritonConfig, 'extended_v2'))) {
    return problem('expected it without the parameter extended_v2, got both');
  }
  return [];
}

/** Adds the names of the inputs to `names`. */
function controlProblems(
  sequences: MessageValue,
  config: MessageValue,
  names: Set<string>,
): readonly SequenceProblem[] {
  const problems: SequenceProblem[] = [];
  const kinds = new Set<string>();
  for (const input of read.children(sequences, 'control_input')) {
    problems.push(...inputProblems(input, 'name', config, names));
    const controls = read.children(input, 'control');
    const [control] = controls;
    if (control === undefined || controls.length > 1) {
      const text = `expected one control for an input, got ${controls.length}`;
      problems.push({ of: input, name: 'control', text });
      continue;
    }
    const kind = controlKind(control);
    if (kinds.has(kind)) {
      problems.push({ of: control, name: 'kind', text: `expected one ${kind}, got another` });
    }
    kinds.add(kind);
    problems.push(...valueProblems(control, kind));
  }
  return problems;
}

/** An input that the server fills: named once, and not also an input of clients. */
function inputProblems(
  of: MessageValue,
  member: string,
  config: MessageValue,
  names: Set<string>,
): readonly SequenceProblem[] {
  const name = read.text(of, member);
  if (name === '') {
    return [{ of, name: member, text: "expected the name of the model's input, got none" }];
  }
  if (names.has(name)) return [{ of, name: member, text: `${echo(name)} is listed twice` }];
  names.add(name);
  const inputs = read.children(config, 'input').map((input) => read.text(input, 'name'));
  if (!inputs.includes(name)) return [];
  const text = `expected an input that is not in "input": the server fills it; got ${echo(name)}`;
  return [{ of, name: member, text }];
}

function valueProblems(control: MessageValue, kind: string): readonly SequenceProblem[] {
  const given = Object.keys(FALSE_TRUE).filter((name) => read.ints(control, name).length > 0);
  if (isIdControl(control)) {
    const type = read.text(control, 'data_type');
    if (given[0] !== undefined) {
      return [{ of: control, name: given[0], text: `expected none with ${kind}, got one` }];
    }
    if (Object.hasOwn(ID_TYPES, type)) return [];
    const expected = Object.keys(ID_TYPES).join(', ');
    const text = `expected one of ${expected} with ${kind}, got ${type || 'none'}`;
    return [{ of: control, name: 'data_type', text }];
  }
  const [name] = given;
  if (name === undefined || given.length > 1) {
    const text = `expected one of ${Object.keys(FALSE_TRUE).join(', ')}, got ${given.length}`;
    return [{ of: control, name: 'kind', text }];
  }
  const count = read.ints(control, name).length;
  if (count === 2) return [];
  const text = `expected two values, for false and true, got ${count}`;
  return [{ of: control, name, text }];
}

function stateProblems(
  sequences: MessageValue,
  config: MessageValue,
  names: Set<string>,
): readonly SequenceProblem[] {
  const problems: SequenceProblem[] = [];
  const outputs = new Set<string>();
  for (const state of read.children(sequences, 'state')) {
    problems.push(...inputProblems(state, 'input_name', config, names));
    const output = read.text(state, 'output_name');
    if (output === '' || outputs.has(output)) {
      const text =
        output === ''
          ? "expected the name of the model's output, got none"
          : `${echo(output)} is listed twice`;
      problems.push({ of: state, name: 'output_name', text });
    }
    outputs.add(output);
    const type = read.text(state, 'data_type');
    if (type === '' || type === 'TYPE_INVALID') {
      problems.push({
        of: state,
        name: 'data_type',
        text: 'expected the type of the state, got none',
      });
    }
    problems.push(...sizeProblems(state, -1), ...initialProblems(state));
  }
  return problems;
}

function sizeProblems(of: MessageValue, least: number): readonly SequenceProblem[] {
  return read.ints(of, 'dims').flatMap((size, index) => {
    if (size >= 1 || size === least) return [];
    const dynamic = least === -1 ? ', or -1 for a dynamic dim' : '';
    const text = `expected 1 or more${dynamic}, got ${size}`;
    return [{ of, name: 'dims', text, index }];
  });
}

function initialProblems(state: MessageValue): readonly SequenceProblem[] {
  const given = read.children(state, 'initial_state');
  const [initial] = given;
  if (initial === undefined) return [];
  if (given.length > 1) {
    const text = `expected at most one initial state, got ${given.length}`;
    return [{ of: state, name: 'initial_state', text }];
  }
  const problems: SequenceProblem[] = [...sizeProblems(initial, 0)];
  const [type, expected] = [read.text(initial, 'data_type'), read.text(state, 'data_type')];
  if (type !== expected) {
    const text = `expected ${expected}, the type of the state, got ${type || 'none'}`;
    problems.push({ of: initial, name: 'data_type', text });
  }
  const [dims, all] = [read.ints(initial, 'dims'), read.ints(state, 'dims')];
  const fits =
    dims.length === all.length && dims.every((dim, i) => [dim, -1].includes(all[i] ?? 0));
  if (!fits) {
    const text = `expected dims of the state, [${all.join(', ')}], got [${dims.join(', ')}]`;
    problems.push({ of: initial, name: 'dims', text });
  }
  const file = read.text(initial, 'data_file');
  if (file === '' && !read.bool(initial, 'zero_data')) {
    const text = 'expected zero_data: true or data_file, got neither';
    problems.push({ of: state, name: 'initial_state', text });
  }
  return problems;
}

function strategyProblems(
  sequences: MessageValue,
  maxBatchSize: number,
): readonly SequenceProblem[] {
  const problems: SequenceProblem[] = [];
  const inRange = (of: MessageValue, name: string, least: number, most: number): void => {
    const value = read.int(of, name);
    if (value >= least && value <= most) return;
    problems.push({ of, name, text: `expected ${least} to ${most}, got ${value}` });
  };
  const direct = read.child(sequences, 'direct');
  if (direct !== undefined) {
    inRange(direct, 'minimum_slot_utilization', 0, 1);
    inRange(direct, 'max_queue_delay_microseconds', 0, UINT32_MAX);
  }
  const oldest = read.child(sequences, 'oldest');
  if (oldest === undefined) return problems;
  inRange(oldest, 'max_candidate_sequences', 1, SLOTS_MAX);
  inRange(oldest, 'max_queue_delay_microseconds', 0, UINT32_MAX);
  read.ints(oldest, 'preferred_batch_size').forEach((size, index) => {
    if (size >= 1 && size <= maxBatchSize) return;
    const range =
      maxBatchSize > 0 ? `1 to max_batch_size, ${maxBatchSize}` : 'none where max_batch_size is 0';
    const text = `expected ${range}, got ${size}`;
    problems.push({ of: oldest, name: 'preferred_batch_size', text, index });
  });
  return problems;
}
