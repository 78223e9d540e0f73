// `serval inspect` and `serval import` with TensorFlow models: their output and their files.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { importCommand } from '../../../../ts/cli/import/import-command.js';
import { inspectCommand } from '../../../../ts/cli/inspect/inspect-command.js';
import {
  type TensorFlowReport,
  tensorFlowText,
} from '../../../../ts/cli/inspect/tensorflow-report.js';
import { UsageError } from '../../../../ts/cli/usage.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { floats, xToY } from '../../importers/run/support.js';
import { attr, graph, info, savedModel, type Fill } from '../../importers/tensorflow/messages.js';
import { onnxText } from '../../importers/tensorflow/lower/support.js';
import { filledFolder } from '../../temp-folder.js';

const FLOAT = attr.type(1);

function outputOf(alias: string, tensor: string): Fill {
  return (writer) =>
    writer
      .message(1, (entry) => entry.string(1, 'x').message(2, info('x:0', 1, [2 ** 32 - 1, 3])))
      .message(2, (entry) => entry.string(1, alias).message(2, info(tensor, 1)))
      .string(3, 'tensorflow/serving/predict');
}

/** y = x + c; "bad" needs an unknown operator. */
const MODEL = savedModel([
  {
    tags: ['serve'],
    signatures: {
      serving_default: xToY,
      'the bad': outputOf('z', 'z:0'),
      the_bad: outputOf('n', 'n:0'),
    },
    graph: graph([
      { name: 'x', op: 'Placeholder', attributes: { dtype: FLOAT } },
      { name: 'c', op: 'Const', attributes: { dtype: FLOAT, value: floats(300) } },
      { name: 'y', op: 'AddV2', inputs: ['x', 'c'], attributes: { T: FLOAT } },
      { name: 'z', op: 'MapStage', inputs: ['x'] },
      { name: 'n', op: 'Neg', inputs: ['x'], attributes: { T: FLOAT } },
    ]),
  },
  { tags: ['serve', 'gpu'], signatures: {} },
]);

const UNTAGGED = savedModel([{ tags: ['serve'] }, {}]);

const modelFolder = (t: TestContext): string =>
  filledFolder(t, {
    'm/1/saved_model.pb': MODEL,
    'm/2/saved_model.pb': MODEL,
  });

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process and captures its output. */
async function run(
  t: TestContext,
  command: (args: readonly string[]) => Promise<number>,
  ...args: string[]
): Promise<Run> {
  const printed = { stdout: '', stderr: '' };
  const mocks = (['stdout', 'stderr'] as const).map((name) => {
    const { write } = process[name];
    return t.mock.method(process[name], 'write', (chunk: unknown, ...rest: never[]) => {
      if (typeof chunk !== 'string') return write.call(process[name], chunk as never, ...rest);
      printed[name] += chunk;
      return true;
    });
  });
  try {
    return { code: await command(args), ...printed };
  } finally {
    for (const { mock } of mocks) mock.restore();
  }
}

async function refused(promise: Promise<unknown>, type: typeof ServalError = ServalError) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof type, String(error));
    return error;
  }
  return assert.fail('expected an error');
}

test('inspect --json', async (t) => {
  const folder = modelFolder(t);
  const { code, stdout } = await run(t, inspectCommand, join(folder, 'm'), '--json');
  assert.equal(code, 0);
  const report = JSON.parse(stdout) as TensorFlowReport;
  const { signatures, operators, path, ...rest } = report;
  const { rows } = rest;
  const served = signatures.filter((one) => one.served).map(({ name }) => name);
  assert.deepEqual(
    rows.map(({ signature }) => signature),
    served,
  );
  assert.deepEqual(rest, {
    name: 'm',
    version: '2',
    versions: ['2', '1'],
    format: 'saved-model',
    tensorflowVersion: '2.0.0',
    tags: ['serve'],
    tagSets: [['serve'], ['serve', 'gpu']],
    states: [],
    weightBytes: 1200,
    warnings: [],
    rows: rows.map(({ signature }) => ({
      signature,
      verdict: 'unproved',
      text: "input 'x': its first dimension is not dynamic",
    })),
  });
  assert.equal(path, join(folder, 'm/2'));
  assert.deepEqual(
    signatures.map(({ name, served }) => [name, served]),
    [
      ['serving_default', true],
      ['the bad', false],
      ['the_bad', true],
    ],
  );
  assert.deepEqual(signatures[0]?.inputs, [
    { alias: 'x', tensor: 'x:0', dtype: 'DT_FLOAT', shape: 'none' },
  ]);
  assert.deepEqual(signatures[2]?.inputs[0]?.shape, `[${2 ** 32 - 1},3]`);
  assert.match(signatures[1]?.reason ?? '', /MapStage 'z': the operator is not supported/);
  assert.deepEqual(
    operators.filter((one) => !one.supported).map((one) => one.op),
    ['MapStage'],
  );
});

test('inspect for people', async (t) => {
  const folder = modelFolder(t);
  const { stdout } = await run(t, inspectCommand, join(folder, 'm'));
  const lines = stdout.split('\n');
  assert.deepEqual(lines.slice(0, 4), [
    'model       m',
    'version     2 of 2, 1',
    `path        ${folder}/m/2`,
    'format      SavedModel',
  ]);
  for (const line of [
    'written by  TensorFlow 2.0.0',
    'tag sets    serve; serve,gpu',
    'signature serving_default  tensorflow/serving/predict',
    '    x  DT_FLOAT  none  x:0',
    "  not served: signature 'the bad': MapStage 'z': the operator is not supported",
    '  AddV2  1',
    '  MapStage  1  not supported',
  ])
    assert.ok(lines.includes(line), `${line}\n${stdout}`);
  assert.ok(stdout.endsWith('\n') && !lines.includes('state'));
});

test('inspect of another meta graph, of an unknown one, of no model', async (t) => {
  const folder = join(modelFolder(t), 'm');
  const { stdout } = await run(
    t,
    inspectCommand,
    folder,
    '--saved-model-tags',
    'gpu, serve',
    '--json',
  );
  assert.deepEqual((JSON.parse(stdout) as TensorFlowReport).signatures, []);
  for (const none of [['--saved-model-tags', ''], ['--saved-model-tags=']]) {
    const untagged = join(filledFolder(t, { 'm/1/saved_model.pb': UNTAGGED }), 'm');
    const report = await run(t, inspectCommand, untagged, ...none, '--json');
    assert.deepEqual((JSON.parse(report.stdout) as TensorFlowReport).tags, []);
    const missing = await refused(run(t, inspectCommand, folder, ...none));
    assert.match(missing.message, /exactly the tags \{\}, got \{serve\} \{serve, gpu\}/);
  }
  const unknown = await refused(run(t, inspectCommand, folder, '--saved-model-tags=tpu'));
  assert.equal(unknown.code, ErrorCode.ModelInvalid);
  assert.match(unknown.message, /exactly the tags \{tpu\}, got \{serve\} \{serve, gpu\}/);
  const none = filledFolder(t, { 'm/1/model.keras': 'x', 'n/1/readme': 'x' });
  assert.equal(
    (await refused(run(t, inspectCommand, join(none, 'm')))).code,
    ErrorCode.Unimplemented,
  );
  assert.match((await refused(run(t, inspectCommand, join(none, 'n')))).message, /no model/);
});

test('a text without signatures, rows that are empty left out', () => {
  assert.equal(
    tensorFlowText({
      name: 'm',
      version: '1',
      versions: ['1'],
      path: '/m',
      format: 'frozen-graph',
      tags: [],
      tensorflowVersion: '',
      tagSets: [],
      signatures: [],
      operators: [],
      states: ['v', 'w'],
      weightBytes: 0,
      warnings: ['one', 'two'],
      rows: [],
    }),
    [
      'model      m',
      'version    1 of 1',
      'path       /m',
      'format     frozen GraphDef',
      'constants  0 bytes in files',
      'state      v, w',
      'warning    one',
      'warning    two',
      'operators',
      '  none',
      '',
    ].join('\n'),
  );
});

test('import writes one file per signature, the constants beside them; what is blocked is said', async (t) => {
  const folder = modelFolder(t);
  const out = join(folder, 'out.onnx');
  const { code, stdout, stderr } = await run(t, importCommand, join(folder, 'm'), '--out', out);
  assert.equal(code, 1);
  assert.match(stderr, /^serval: signature 'the bad': MapStage/);
  const files = [join(folder, 'out.serving_default.onnx'), join(folder, 'out.the_bad.onnx')];
  assert.equal(stdout, `${files[0]}  signature serving_default\n${files[1]}  signature the_bad\n`);
  assert.equal(readFileSync(`${out}.data`).length, 1200);
  const { inputs, outputs, initializers } = onnxText(readFileSync(files[0] ?? ''));
  assert.deepEqual([inputs, outputs, initializers], [['x'], ['y'], ['weight0']]);
  assert.ok(readFileSync(files[0] ?? '').includes('out.onnx.data'));
  assert.ok(!existsSync(out));
});

test('import of one signature is one file', async (t) => {
  const folder = modelFolder(t);
  const out = join(folder, 'y.onnx');
  const { code, stdout } = await run(
    t,
    importCommand,
    join(folder, 'm'),
    `--out=${out}`,
    '--signature=serving_default',
  );
  assert.deepEqual([code, stdout], [0, `${out}  signature serving_default\n`]);
  assert.deepEqual(readdirSync(folder), ['m', 'y.onnx', 'y.onnx.data']);
});

test('signatures whose names are alike get files of their own', async (t) => {
  const folder = filledFolder(t, {
    'm/1/saved_model.pb': savedModel([
      {
        tags: ['serve'],
        signatures: { 'a b': xToY, 'a/b': xToY, a_b: xToY },
        graph: graph([
          { name: 'x', op: 'Placeholder', attributes: { dtype: FLOAT } },
          { name: 'y', op: 'Neg', inputs: ['x'], attributes: { T: FLOAT } },
        ]),
      },
    ]),
  });
  await run(t, importCommand, join(folder, 'm'), '--out', join(folder, 'out.onnx'));
  assert.deepEqual(readdirSync(folder), ['m', 'out.a_b-2.onnx', 'out.a_b-3.onnx', 'out.a_b.onnx']);
});

test('import refuses what it cannot do', async (t) => {
  const folder = modelFolder(t);
  const model = join(folder, 'm');
  const out = join(folder, 'x.onnx');
  const refusal = async (...args: string[]): Promise<string> =>
    (await refused(run(t, importCommand, ...args))).message;
  assert.match(
    await refusal(model, '--out', out, '--signature', 'none'),
    /expected one of the signatures serving_default, the bad, the_bad, got none/,
  );
  assert.match(await refusal(join(folder, 'none'), '--out', out), /no such file or folder/);
  assert.match(
    await refusal(model, '--out', join(folder, 'no', 'x.onnx')),
    /expected a file in an existing folder, got .*no$/,
  );
  const wrong = [[model], ['--out', out], [model, model, '--out', out], [model, '--no-flag']];
  for (const args of wrong) {
    await refused(run(t, importCommand, ...args), UsageError);
  }
  const onnx = filledFolder(t, { 'o/1/model.onnx': 'x' });
  assert.match(await refusal(join(onnx, 'o'), '--out', out), /is onnx already/);
  assert.deepEqual(readdirSync(folder), ['m']);
});
