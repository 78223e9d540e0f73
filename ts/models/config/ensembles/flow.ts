// The flow of tensors between the steps of an ensemble: who writes each tensor, who reads it, and
// whether an order of the steps exists. Control plane; pure. Source: Triton's
// ValidateEnsembleSchedulingConfig.
import { echo } from '../../../base/text.js';
import type { EnsembleStep } from './steps.js';

export interface Flow {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly steps: readonly EnsembleStep[];
}

/** `step`: index of the step that the problem is of; else `list` and `index` name the tensor. */
export interface FlowProblem {
  readonly step?: number;
  readonly list: 'input' | 'output' | 'input_map' | 'output_map';
  readonly index?: number;
  readonly text: string;
}

/** "step 2 (model 'm')" */
export function stepName({ steps }: Pick<Flow, 'steps'>, index: number): string {
  const model = steps[index]?.model ?? '';
  return `step ${index + 1}${model === '' ? '' : ` (model ${echo(model)})`}`;
}

/** Every contradiction; a cycle is reported only if there is no other one. */
export function flowProblems(flow: Flow): readonly FlowProblem[] {
  const writers = new Map<string, number>();
  const read = new Set(flow.steps.flatMap(({ inputs }) => inputs.map(({ tensor }) => tensor)));
  const problems = [
    ...writerProblems(flow, writers),
    ...readerProblems(flow, writers),
    ...unusedProblems(flow, read),
  ];
  return problems.length > 0 ? problems : cycleProblems(flow, writers);
}

/** Fills in `writers`: tensor -> index of its step. */
function writerProblems(flow: Flow, writers: Map<string, number>): readonly FlowProblem[] {
  const problems: FlowProblem[] = [];
  flow.steps.forEach(({ outputs }, step) => {
    for (const { name, tensor } of outputs) {
      const first = writers.get(tensor);
      const other =
        first !== undefined
          ? `an output of ${stepName(flow, first)}, too`
          : flow.inputs.includes(tensor) && 'an input of the ensemble';
      if (other === false) writers.set(tensor, step);
      else {
        const text = `output ${echo(name)}: expected a tensor that nothing else writes, got ${echo(tensor)}, which is ${other}`;
        problems.push({ step, list: 'output_map', text });
      }
    }
  });
  return problems;
}

function readerProblems(flow: Flow, writers: ReadonlyMap<string, number>): FlowProblem[] {
  const problems: FlowProblem[] = [];
  flow.steps.forEach(({ inputs }, step) => {
    for (const { name, tensor } of inputs) {
      if (writers.has(tensor) || flow.inputs.includes(tensor)) continue;
      const expected = 'expected an input of the ensemble or an output of another step';
      const text = `input ${echo(name)}: ${expected}, got ${echo(tensor)}`;
      problems.push({ step, list: 'input_map', text });
    }
  });
  flow.outputs.forEach((output, index) => {
    if (writers.has(output)) return;
    const text = `expected an output of a step, got ${echo(output)}, which no step writes`;
    problems.push({ list: 'output', index, text });
  });
  return problems;
}

function unusedProblems(flow: Flow, read: ReadonlySet<string>): FlowProblem[] {
  const problems: FlowProblem[] = [];
  flow.inputs.forEach((input, index) => {
    if (read.has(input)) return;
    const text = `expected a tensor that a step reads, got ${echo(input)}, which is not used`;
    problems.push({ list: 'input', index, text });
  });
  flow.steps.forEach(({ outputs }, step) => {
    for (const { name, tensor } of outputs) {
      if (read.has(tensor) || flow.outputs.includes(tensor)) continue;
      const expected = 'expected an output of the ensemble or an input of another step';
      const text = `output ${echo(name)}: ${expected}, got ${echo(tensor)}, which is not used`;
      problems.push({ step, list: 'output_map', text });
    }
  });
  return problems;
}

/** Removes steps whose inputs are written until none is left, or only steps that wait. */
function cycleProblems(flow: Flow, writers: ReadonlyMap<string, number>): readonly FlowProblem[] {
  const sources = flow.steps.map(
    ({ inputs }) => new Set(inputs.flatMap(({ tensor }) => writers.get(tensor) ?? [])),
  );
  const waiting = new Set(flow.steps.keys());
  for (let before = -1; before !== waiting.size; ) {
    before = waiting.size;
    for (const step of waiting) {
      if (![...(sources[step] ?? [])].some((one) => waiting.has(one))) waiting.delete(step);
    }
  }
  const [first] = waiting;
  if (first === undefined) return [];
  // Each waiting step has a source that waits, so this walk comes back to a step.
  const walk = [first];
  for (;;) {
    const last = walk.at(-1) ?? first;
    const next = [...(sources[last] ?? [])].find((one) => waiting.has(one)) ?? first;
    const at = walk.indexOf(next);
    walk.push(next);
    if (at < 0) continue;
    const names = walk.slice(at).map((one) => stepName(flow, one));
    const text = `expected steps without a cycle: ${names.join(' needs ')}`;
    return [{ step: next, list: 'input_map', text }];
  }
}
