// Checks the configuration of an ensemble: what it must have, what it must not have, its steps and
// the tensors between them. Control plane; pure. Source: Triton's
// ValidateEnsembleSchedulingConfig; v2-protocol.md 3.
import { echo } from '../../../base/text.js';
import { SESSION_PREFIX, TRITON_PARAMETERS } from '../../../config/peers/triton-parameters.js';
import { ENSEMBLE_PLATFORM } from '../../../model/platforms.js';
import { read, type MessageValue } from '../../../protobuf/schema.js';
import { flowProblems, stepName } from './flow.js';
import { ensembleSteps, isEnsemble, linksOf, stepMessages } from './steps.js';

/** A note about the member `name` of the message `of`. */
export interface EnsembleNote {
  readonly kind: 'problem' | 'warning';
  readonly of: MessageValue;
  readonly name: string;
  readonly text: string;
  readonly index?: number;
}

/** Parameters that also have an effect on an ensemble. */
const OWN_PARAMETERS = ['extended_v2', 'max_in_flight', 'requests_per_second', 'rows_per_second'];
/** Parameters that say when a model is loaded. */
const LOAD_PARAMETERS = ['load_mode', 'pin', 'min_idle_seconds', 'memory_priority'];
/** Values that ask for nothing. */
const HARMLESS: Readonly<Record<string, string>> = { isolation: 'none', load_mode: 'eager' };

/** `ownName`: the model's name, if it is known. */
export function ensembleNotes(
  config: MessageValue,
  ownName: string | undefined,
): readonly EnsembleNote[] {
  const hasSteps = config['ensemble_scheduling'] !== undefined;
  if (!isEnsemble(config)) {
    if (!hasSteps) return [];
    const got = read.text(config, 'platform') || read.text(config, 'backend') || 'none';
    const text = `expected it with platform ${ENSEMBLE_PLATFORM} only, got platform ${echo(got)}`;
    return [{ kind: 'problem', of: config, name: 'ensemble_scheduling', text }];
  }
  const name = read.text(config, 'platform') === ENSEMBLE_PLATFORM ? 'platform' : 'backend';
  if (!hasSteps) {
    const text = `expected ensemble_scheduling with ${ENSEMBLE_PLATFORM}, got none`;
    return [{ kind: 'problem', of: config, name, text }];
  }
  const notes = [...memberNotes(config), ...parameterNotes(config), ...stepNotes(config, ownName)];
  return notes.some(({ kind }) => kind === 'problem') ? notes : [...notes, ...flowNotes(config)];
}

function memberNotes(config: MessageValue): readonly EnsembleNote[] {
  const notes: EnsembleNote[] = [];
  for (const name of ['input', 'output']) {
    if (read.children(config, name).length > 0) continue;
    notes.push({ kind: 'problem', of: config, name, text: `expected every ${name}, got none` });
  }
  const refused = [
    ...(read.children(config, 'instance_group').length > 0 ? ['instance_group'] : []),
    ...(config['optimization'] === undefined ? [] : ['optimization']),
    ...(config['model_operations'] === undefined ? [] : ['model_operations']),
  ];
  for (const name of refused) {
    const text = 'expected none in an ensemble: set it in the configurations of its steps';
    notes.push({ kind: 'problem', of: config, name, text });
  }
  if (read.text(config, 'default_model_filename') !== '') {
    const text = 'no effect: an ensemble has no file';
    notes.push({ kind: 'warning', of: config, name: 'default_model_filename', text });
  }
  return notes;
}

/** Notes about known parameters; others are reported for every backend. */
function parameterNotes(config: MessageValue): readonly EnsembleNote[] {
  const of = read.child(config, 'parameters') ?? {};
  const notes: EnsembleNote[] = [];
  for (const [name, value] of read.entries(config, 'parameters')) {
    const isKnown = Object.hasOwn(TRITON_PARAMETERS, name) || name.startsWith(SESSION_PREFIX);
    const text = read.text(value, 'string_value');
    if (!isKnown || OWN_PARAMETERS.includes(name) || HARMLESS[name] === text) continue;
    if (name === 'isolation') {
      const refused = 'expected none in an ensemble: its steps can be isolated';
      notes.push({ kind: 'problem', of, name, text: refused });
      continue;
    }
    const why = LOAD_PARAMETERS.includes(name)
      ? 'it is loaded with its steps'
      : 'set it in the configurations of its steps';
    notes.push({ kind: 'warning', of, name, text: `no effect in an ensemble: ${why}` });
  }
  return notes;
}

function stepNotes(config: MessageValue, ownName: string | undefined): readonly EnsembleNote[] {
  const steps = ensembleSteps(config);
  const messages = stepMessages(config);
  if (messages.length === 0) {
    const of = read.child(config, 'ensemble_scheduling') ?? {};
    return [{ kind: 'problem', of, name: 'step', text: 'expected at least one step, got none' }];
  }
  return messages.flatMap((step, i) => {
    const where = stepName({ steps }, i);
    const problem = (name: string, text: string): EnsembleNote => ({
      kind: 'problem',
      of: step,
      name,
      text: `${where}: ${text}`,
    });
    const notes: EnsembleNote[] = [];
    const model = read.text(step, 'model_name');
    if (model === '') notes.push(problem('model_name', 'expected the name of a model, got none'));
    else if ([ownName, read.text(config, 'name')].includes(model)) {
      notes.push(problem('model_name', 'expected another model, got the ensemble itself'));
    }
    const version = step['model_version'];
    if (version === undefined || Number(version) < -1) {
      const expected = 'expected -1 (the newest version) or the number of a version';
      const got = version === undefined ? 'none' : String(version as string | number);
      notes.push(problem('model_version', `${expected}, got ${got}`));
    }
    for (const list of ['input_map', 'output_map']) notes.push(...mapNotes(step, list, problem));
    return notes;
  });
}

function mapNotes(
  step: MessageValue,
  list: string,
  problem: (name: string, text: string) => EnsembleNote,
): readonly EnsembleNote[] {
  const links = linksOf(step, list);
  if (links.length === 0) return [problem(list, 'expected at least one tensor, got none')];
  return links.flatMap(({ name, tensor }) => {
    if (name === '') return [problem(list, "expected the name of the model's tensor, got none")];
    if (tensor !== '') return [];
    return [problem(list, `${echo(name)}: expected the name of an ensemble tensor, got none`)];
  });
}

function flowNotes(config: MessageValue): readonly EnsembleNote[] {
  const names = (list: string): readonly string[] =>
    read.children(config, list).map((tensor) => read.text(tensor, 'name'));
  const steps = ensembleSteps(config);
  const flow = { inputs: names('input'), outputs: names('output'), steps };
  const messages = stepMessages(config);
  return flowProblems(flow).map(({ step, list, index = 0, text }) => {
    if (step === undefined) {
      return { kind: 'problem', of: config, name: list, text, index };
    }
    const of = messages[step] ?? config;
    return { kind: 'problem', of, name: list, text: `${stepName(flow, step)}: ${text}` };
  });
}
