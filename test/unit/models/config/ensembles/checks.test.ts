// The checks of an ensemble's configuration: members, steps, and the flow of tensors between them.
// Source: Triton's ValidateEnsembleSchedulingConfig.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ensembleSteps } from '../../../../../ts/models/config/ensembles/steps.js';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';

const IO = `input { name: "a" data_type: TYPE_FP32 dims: 1 }
output { name: "z" data_type: TYPE_FP32 dims: 1 }`;

/** A step of model "m": pairs of its tensor and the ensemble's. */
function step(inputs: string, outputs: string, model = 'm', version = '-1'): string {
  const maps = (list: string, pairs: string): string =>
    pairs
      .split(' ')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [key = '', value = ''] = pair.split('=');
        return `${list} { key: "${key}" value: "${value}" }`;
      })
      .join(' ');
  const number = version === '' ? '' : `model_version: ${version}`;
  return `step { model_name: "${model}" ${number}
    ${maps('input_map', inputs)} ${maps('output_map', outputs)} }`;
}

const read = (steps: string, rest = IO): ReturnType<typeof parseTritonConfig> =>
  parseTritonConfig(`platform: "ensemble"\n${rest}\nensemble_scheduling { ${steps} }`, 'f', 'e');
const problems = (steps: string, rest = IO): readonly string[] =>
  read(steps, rest).problems.map(({ message }) => message);

test('steps are read in their order', () => {
  const { config } = read(`${step('x=b', 'y=z', 'n', '3')} ${step('x=a', 'y=b')}`);
  assert.deepEqual(ensembleSteps(config), [
    {
      model: 'n',
      version: '3',
      inputs: [{ name: 'x', tensor: 'b' }],
      outputs: [{ name: 'y', tensor: 'z' }],
    },
    {
      model: 'm',
      version: '',
      inputs: [{ name: 'x', tensor: 'a' }],
      outputs: [{ name: 'y', tensor: 'b' }],
    },
  ]);
});

test('members that an ensemble needs, or must not have', () => {
  const good = step('x=a', 'y=z');
  assert.deepEqual(problems(good), []);
  const one = (rest: string, expected: RegExp): void => {
    const found = problems(good, rest);
    assert.ok(found.length > 0, rest);
    assert.match(found.join('\n'), expected);
  };
  one(IO.split('\n')[1] ?? '', /input: expected every input, got none/);
  one(IO.split('\n')[0] ?? '', /output: expected every output, got none/);
  one(`${IO} instance_group { count: 2 }`, /instance_group: expected none in an ensemble/);
  one(`${IO} optimization { priority: PRIORITY_MAX }`, /optimization: expected none/);
  assert.deepEqual(problems(''), ['step: expected at least one step, got none']);
  const scheduled = parseTritonConfig(`${IO} ensemble_scheduling { ${good} }`, 'f').problems;
  assert.match(scheduled[0]?.message ?? '', /expected it with platform ensemble only/);
});

test('each step is complete', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [step('x=a', 'y=z', ''), /model_name: step 1: expected the name of a model, got none/],
    [step('x=a', 'y=z', 'e'), /expected another model, got the ensemble itself/],
    [step('x=a', 'y=z', 'm', ''), /model_version: .*expected -1 .* or the number of a version/],
    [step('x=a', 'y=z', 'm', '-2'), /model_version: .*got -2/],
    [step('', 'y=z'), /input_map: step 1 \(model "m"\): expected at least one tensor/],
    [step('x=a', ''), /output_map: step 1 \(model "m"\): expected at least one tensor/],
    [step('x=', 'y=z'), /"x": expected the name of an ensemble tensor, got none/],
  ];
  for (const [text, expected] of cases) assert.match(problems(text).join('\n'), expected, text);
});

test('each tensor is written once, and read', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [step('x=q', 'y=z'), /expected an input of the ensemble or an output of another step, got "q"/],
    [step('x=a', 'y=b'), /output: expected an output of a step, got "z", which no step writes/],
    [`${step('x=a', 'y=z')} ${step('x=a', 'y=z')}`, /which is an output of step 1 \(model "m"\)/],
    [step('x=a', 'y=a v=z'), /which is an input of the ensemble/],
    [step('x=a', 'y=z v=b'), /output "v": .*got "b", which is not used/],
  ];
  for (const [text, expected] of cases) assert.match(problems(text).join('\n'), expected, text);
  const unread = `${IO} input { name: "u" data_type: TYPE_FP32 dims: 1 }`;
  assert.match(problems(step('x=a', 'y=z'), unread).join('\n'), /input: .*got "u", .*not used/);
});

test('a cycle is named', () => {
  const steps = [step('x=a v=c', 'y=b'), step('x=b', 'y=c', 'n'), step('x=c', 'y=z')];
  assert.deepEqual(
    problems(steps.join(' ')).map((one) => one.replace(/^.*?: /, '')),
    [
      'step 1 (model "m"): expected steps without a cycle: step 1 (model "m") needs step 2 (model ' +
        '"n") needs step 1 (model "m")',
    ],
  );
});
