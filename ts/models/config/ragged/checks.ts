// Checks ragged inputs, batch_input and batch_output. Control plane; pure. Source: Triton's
// ValidateBatchIO and its ONNX Runtime backend; v2-protocol.md 3.
import { echo } from '../../../base/text.js';
import { ENSEMBLE_PLATFORM, TABULAR_PLATFORMS } from '../../../model/platforms.js';
import { read, type MessageValue } from '../../../protobuf/schema.js';
import type { EnsembleNote } from '../ensembles/checks.js';
import { ANY_ROWS, isTrue, parameter } from '../parameters.js';
import type { TritonConfig } from '../types.js';
import { hasRagged } from './settings.js';

/** A problem of the member `name` of the message `of`. */
export type RaggedProblem = Omit<EnsembleNote, 'kind'>;

/** Backends without a graph that takes flat elements. */
const OTHER_BACKENDS = ['tabular', 'fil', 'serval_null', ENSEMBLE_PLATFORM];
const OTHER_PLATFORMS: readonly string[] = [...Object.values(TABULAR_PLATFORMS), ENSEMBLE_PLATFORM];
const COUNT_TYPES = ['TYPE_INT32', 'TYPE_FP32'];

export function raggedProblems(config: MessageValue): readonly RaggedProblem[] {
  if (!hasRagged(config)) return [];
  return [
    ...modelProblems(config),
    ...inputProblems(config),
    ...batchInputProblems(config),
    ...batchOutputProblems(config),
  ];
}

/** The first member that makes the model ragged. */
function placeOf(config: MessageValue): { readonly of: MessageValue; readonly name: string } {
  const input = read.children(config, 'input').find((one) => read.bool(one, 'allow_ragged_batch'));
  if (input !== undefined) return { of: input, name: 'allow_ragged_batch' };
  const computed = read.children(config, 'batch_input').length > 0;
  return { of: config, name: computed ? 'batch_input' : 'batch_output' };
}

function modelProblems(config: MessageValue): readonly RaggedProblem[] {
  const problem = (text: string): RaggedProblem => ({ ...placeOf(config), text });
  const problems: RaggedProblem[] = [];
  const [backend, platform] = [read.text(config, 'backend'), read.text(config, 'platform')];
  if (OTHER_BACKENDS.includes(backend) || OTHER_PLATFORMS.includes(platform)) {
    const got = backend === '' ? `platform ${platform}` : `backend ${backend}`;
    const expected = 'expected it for a model of tensors (ONNX, TensorFlow, TensorRT)';
    problems.push(problem(`${expected}, got ${got}`));
  }
  if (config['sequence_batching'] !== undefined) {
    problems.push(problem('expected it without sequence_batching, got both'));
  }
  const rows = parameter(config as TritonConfig, 'serval.allowed_rows') ?? ANY_ROWS;
  const pads = ['serval.split', 'serval.pad_inner'].filter((name) =>
    isTrue(parameter(config as TritonConfig, name)),
  );
  if (rows !== ANY_ROWS) pads.push('serval.allowed_rows');
  for (const name of pads) {
    const text = `expected none with ragged batches, whose requests are not padded or split`;
    problems.push({ of: read.child(config, 'parameters') ?? config, name, text });
  }
  return problems;
}

function inputProblems(config: MessageValue): readonly RaggedProblem[] {
  return read
    .children(config, 'input')
    .filter((one) => read.bool(one, 'allow_ragged_batch') && read.bool(one, 'optional'))
    .map((of) => {
      const text = 'expected false for an input that allows ragged batches, got true';
      return { of, name: 'optional', text };
    });
}

function namesOf(config: MessageValue, list: string): ReadonlySet<string> {
  return new Set(read.children(config, list).map((tensor) => read.text(tensor, 'name')));
}

function sourceProblems(of: MessageValue, config: MessageValue): readonly RaggedProblem[] {
  const name = 'source_input';
  const sources = read.texts(of, name).map(String);
  if (sources.length !== 1) {
    return [{ of, name, text: `expected one input, got ${sources.length}` }];
  }
  const inputs = namesOf(config, 'input');
  const [source = ''] = sources;
  if (inputs.has(source)) return [];
  const known = [...inputs].join(', ') || 'none';
  return [{ of, name, text: `expected one of the inputs, ${known}, got ${echo(source)}` }];
}

function targetProblems(
  of: MessageValue,
  seen: Set<string>,
  wrong: (target: string) => string | undefined,
): readonly RaggedProblem[] {
  const name = 'target_name';
  const targets = read.texts(of, name).map(String);
  if (targets.length === 0) return [{ of, name, text: 'expected a name, got none' }];
  return targets.flatMap((target, index) => {
    const text = seen.has(target) ? `${echo(target)} is listed twice` : wrong(target);
    seen.add(target);
    return text === undefined ? [] : [{ of, name, text, index }];
  });
}

function batchInputProblems(config: MessageValue): readonly RaggedProblem[] {
  const inputs = namesOf(config, 'input');
  const seen = new Set<string>();
  const sent = (target: string): string | undefined =>
    inputs.has(target)
      ? `expected an input that the server computes, got ${echo(target)}, which clients send`
      : undefined;
  return read.children(config, 'batch_input').flatMap((one) => {
    const type = read.text(one, 'data_type');
    const text = `expected ${COUNT_TYPES.join(' or ')}, got ${type === '' ? 'none' : type}`;
    return [
      ...targetProblems(one, seen, sent),
      ...(COUNT_TYPES.includes(type) ? [] : [{ of: one, name: 'data_type', text }]),
      ...sourceProblems(one, config),
    ];
  });
}

function batchOutputProblems(config: MessageValue): readonly RaggedProblem[] {
  const outputs = namesOf(config, 'output');
  const seen = new Set<string>();
  const unknown = (target: string): string | undefined => {
    if (outputs.has(target)) return undefined;
    return `expected one of the outputs, ${[...outputs].join(', ') || 'none'}, got ${echo(target)}`;
  };
  return read
    .children(config, 'batch_output')
    .flatMap((one) => [...targetProblems(one, seen, unknown), ...sourceProblems(one, config)]);
}
