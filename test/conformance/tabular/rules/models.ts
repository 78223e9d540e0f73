// The models for the rules of tabular.md: small ones of all three formats, generated here, and an
// ONNX model, which is not tabular. Test time only.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { type OnnxModel, encodeModel } from '../../../../ts/importers/onnx/builder.js';
import { type NodeOf, filesOf, texts } from '../../../unit/importers/mleap/memory-bundle.js';
import { dictionary, document } from '../../../unit/importers/pmml/documents.js';
import {
  modelFiles,
  pipeline,
  type StageSketch,
} from '../../../unit/importers/spark/support/model.js';
import { assembler, stringIndexer } from '../../../unit/importers/spark/support/stages.js';
import { sparkFolder } from '../../../unit/importers/plan/spark-folder.js';
import { startServer } from '../../../e2e/support/serval-process.js';
import { Asking } from './asking.js';

export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A pipeline of one statement, whose fields have any type unless a schema declares another. */
export const statement = (text: string): Record<string, string> =>
  sparkFolder([{ kind: 'feature.SQLTransformer', params: { statement: text } }]);

/** Stages that consist of parameters only. */
export const stages = (...all: readonly (readonly [string, object])[]): Record<string, string> =>
  sparkFolder(all.map(([kind, params]) => ({ kind, params })));

export const spark = (...all: readonly StageSketch[]): Files =>
  Object.fromEntries(modelFiles(pipeline(...all)));

/** A schema file: "x INT32 [-1]" for each input. */
export function schemaOf(...inputs: readonly string[]): Record<string, string> {
  const tensors = inputs.map((one) => {
    const [name, datatype, shape = '[-1]', precision, scale] = one.split(' ');
    const tensor = { name, datatype, shape: JSON.parse(shape) as number[] };
    return precision === undefined ? tensor : { ...tensor, parameters: { precision, scale } };
  });
  return { 'schema.json': JSON.stringify({ inputs: tensors }) };
}

/** y equals the request's x. */
const ECHO = statement('SELECT *, x AS y FROM __THIS__');
const TWO = statement('SELECT *, a AS ya, b AS yb FROM __THIS__');

/** Bundles whose files are objects, as MLeap writes them in JSON. */
export const bundle = (nodes: Readonly<Record<string, NodeOf>>): Files =>
  Object.fromEntries(
    Object.entries(filesOf(nodes)).map(([name, value]) => [name, JSON.stringify(value)]),
  );

const OUTPUTS = [
  ['i', 'integer'],
  ['f', 'float'],
  ['x', 'double'],
  ['s', 'string'],
  ['d', 'date'],
  ['t', 'dateTime'],
  ['b', 'boolean'],
] as const;

/** z = x, and each field is also an output with its name in capitals. */
const PMML_ECHO = document(`
${dictionary(`${OUTPUTS.map(([name, type]) => `${name}:${type}`).join(' ')} c:string(p|q) z:double`)}
<RegressionModel functionName="regression">
  <MiningSchema>
    ${OUTPUTS.map(([name]) => `<MiningField name="${name}"/>`).join('')}
    <MiningField name="c"/><MiningField name="z" usageType="target"/>
  </MiningSchema>
  <Output>
    ${OUTPUTS.map(
      ([name, type]) =>
        `<OutputField name="${name.toUpperCase()}" dataType="${type}" feature="transformedValue">` +
        `<FieldRef field="${name}"/></OutputField>`,
    ).join('\n')}
  </Output>
  <RegressionTable intercept="0"><NumericPredictor name="x" coefficient="1"/></RegressionTable>
</RegressionModel>`);

const ONNX: OnnxModel = {
  graph: {
    name: 'texts',
    inputs: [{ name: 'x', type: 'string', shape: ['batch'] }],
    outputs: [{ name: 'y', type: 'string', shape: ['batch'] }],
    initializers: [],
    nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
  },
};

const bucketizer = (handleInvalid: string): Files =>
  stages([
    'feature.Bucketizer',
    { inputCol: 'x', outputCol: 'y', splits: [0, 1, 2], handleInvalid },
  ]);

/** Models whose only field x has a type. */
const TYPES: Readonly<Record<string, string>> = {
  bool: 'x BOOL',
  int8: 'x INT8',
  int16: 'x INT16',
  int32: 'x INT32',
  int64: 'x INT64',
  fp32: 'x FP32',
  fp64: 'x FP64',
  string: 'x STRING',
  date: 'x DATE',
  timestamp: 'x TIMESTAMP',
  decimal: 'x FP64 [-1] 10 2',
  list: 'x STRING [-1,1,-1]',
  dates: 'x DATE [-1,1,-1]',
};

const MODELS: Readonly<Record<string, Files>> = {
  echo: ECHO,
  ...Object.fromEntries(
    Object.entries(TYPES).map(([name, field]) => [name, { ...ECHO, ...schemaOf(field) }]),
  ),
  binary: statement('SELECT *, CAST(x AS BINARY) AS y FROM __THIS__'),
  two: TWO,
  two_ints: { ...TWO, ...schemaOf('a INT32', 'b INT32') },
  two_texts: { ...TWO, ...schemaOf('a STRING', 'b STRING') },
  shape_field: statement('SELECT *, a AS ya, a_shape AS yb FROM __THIS__'),
  quoted: statement('SELECT *, `a,b` AS ya, ` say "hi" ` AS yb FROM __THIS__'),
  norm: stages(['feature.Normalizer', { inputCol: 'v', outputCol: 'unit', p: 1 }]),
  norm2: {
    ...stages(['feature.Normalizer', { inputCol: 'v', outputCol: 'unit', p: 1 }]),
    ...schemaOf('v VECTOR [-1,2]'),
  },
  two_norms: stages(
    ['feature.Normalizer', { inputCol: 'v', outputCol: 'V', p: 1 }],
    ['feature.Normalizer', { inputCol: 'w', outputCol: 'W', p: 1 }],
  ),
  pairs: stages(['feature.NGram', { inputCol: 'words', outputCol: 'pairs', n: 2 }]),
  two_pairs: stages(
    ['feature.NGram', { inputCol: 'a', outputCol: 'A', n: 2 }],
    ['feature.NGram', { inputCol: 'b', outputCol: 'B', n: 2 }],
  ),
  skip: bucketizer('skip'),
  keep: bucketizer('keep'),
  error: bucketizer('error'),
  indexer: spark(stringIndexer('s', 'y', ['p', 'q'])),
  steps: spark(stringIndexer('s', 'i', ['p', 'q']), assembler(['i', 'x'], 'features')),
  labels: bundle({
    index: {
      op: 'string_indexer',
      attributes: {
        labels: texts('p', 'q'),
        nullable_input: { boolean: false },
        handle_invalid: { string: 'error' },
      },
      inputs: { input: 's' },
      outputs: { output: 'y' },
    },
  }),
  pmml: { 'model.pmml': PMML_ECHO },
  onnx: { 'model.onnx': encodeModel(ONNX) },
};

/** Writes files below a folder. */
export function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** A folder of models with one version each; remove() deletes it. */
export class Repository {
  readonly folder = mkdtempSync(join(tmpdir(), 'serval-rules-'));

  constructor(models: Readonly<Record<string, Files>>) {
    for (const [name, files] of Object.entries(models)) {
      writeFiles(join(this.folder, name, '1'), files);
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A server with the models above; the surrounding suite starts and stops it. */
export class RulesServer {
  #asking: Asking | undefined;
  #repository: Repository | undefined;

  constructor(
    flags: readonly string[] = [],
    names: readonly (keyof typeof MODELS)[] = Object.keys(MODELS),
  ) {
    before(() => this.#start(flags, names));
    after(() => this.#stop());
  }

  get asking(): Asking {
    assert.ok(this.#asking !== undefined, 'the server runs in tests only');
    return this.#asking;
  }

  readonly answers = (...all: Parameters<Asking['answers']>): ReturnType<Asking['answers']> =>
    this.asking.answers(...all);

  readonly refuses = (...all: Parameters<Asking['refuses']>): ReturnType<Asking['refuses']> =>
    this.asking.refuses(...all);

  async #start(flags: readonly string[], names: readonly (keyof typeof MODELS)[]): Promise<void> {
    const chosen = names.map((name) => [name, MODELS[name] ?? {}] as const);
    this.#repository = new Repository(Object.fromEntries(chosen));
    this.#asking = new Asking(await startServer([this.#repository.folder, ...flags]));
  }

  async #stop(): Promise<void> {
    this.#asking?.client.close();
    await this.#asking?.server.stop();
    this.#repository?.remove();
  }
}
