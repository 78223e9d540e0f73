// Golden models: folders that TensorFlow wrote, and its results for calls of their signatures.
// Format: DIR/models/<name>/{1/,cases.json}, made by test/fixtures/tensorflow.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportedModel } from '../../../../ts/importers/tensorflow/imported.js';
import { tensorNumbers, tensorStrings } from '../../../../ts/importers/tensorflow/lower/tensors.js';
import type { Tensor } from '../../../../ts/importers/tensorflow/types.js';
import { tensorDifference, TOLERANCE } from './compare-tensors.js';
import type { Classes, EngineRunner } from './engine-run.js';
import { type GoldenTensor, goldenTensor } from './golden-files.js';

/** One call; `cases.json` keeps the order in which they were made. */
export interface ModelCase {
  readonly signature: string;
  readonly method: 'predict' | 'classify' | 'regress';
  readonly inputs: Readonly<Record<string, GoldenTensor>>;
  /** null if TensorFlow reports an error. */
  readonly outputs: Readonly<Record<string, GoldenTensor | null>>;
  /** Classify or Regress of these serialized Examples (base64) returns the same. */
  readonly api?: 'examples';
  readonly examples?: readonly string[];
  readonly tolerance?: number;
  readonly expectError?: string;
  readonly note?: string;
}

/** Names of the models that have goldens, sorted. */
export function goldenModelNames(folder: string): string[] {
  const models = join(folder, 'models');
  return readdirSync(models)
    .filter((name) => existsSync(join(models, name, 'cases.json')))
    .sort();
}

/** The version's folder, as passed to a server. */
export const goldenModelPath = (folder: string, name: string): string =>
  join(folder, 'models', name, '1');

export function modelCases(folder: string, name: string): ModelCase[] {
  const path = join(folder, 'models', name, 'cases.json');
  return JSON.parse(readFileSync(path, 'utf8')) as ModelCase[];
}

/** Returns the difference in a call's results; undefined if there is none. */
export async function callDifference(
  engine: EngineRunner,
  imported: ImportedModel,
  one: ModelCase,
): Promise<string | undefined> {
  const differences = [await predictDifference(engine, imported, one)];
  if (one.api === 'examples') differences.push(await examplesDifference(engine, imported, one));
  const wrong = differences.filter((text) => text !== undefined);
  const note = one.note === undefined ? '' : ` (${one.note})`;
  return wrong.length === 0 ? undefined : `${one.signature}${note}: ${wrong.join('; ')}`;
}

async function predictDifference(
  engine: EngineRunner,
  imported: ImportedModel,
  one: ModelCase,
): Promise<string | undefined> {
  const graph = imported.graphs.find(({ signature }) => signature === one.signature);
  if (graph === undefined) return 'the signature is not served';
  const feeds = new Map(
    Object.entries(one.inputs).map(([alias, value]) => [alias, goldenTensor(value)]),
  );
  const got = await settled(engine.run(imported, graph, feeds));
  if (got instanceof Error || one.expectError !== undefined) return refusal(one, got);
  for (const [alias, value] of Object.entries(one.outputs)) {
    const output = got.get(alias);
    if (value === null || output === undefined) return `no output ${alias}`;
    const difference = tensorDifference(goldenTensor(value), output, one.tolerance);
    if (difference !== undefined) return `${alias}: ${difference}`;
  }
  return undefined;
}

async function examplesDifference(
  engine: EngineRunner,
  imported: ImportedModel,
  one: ModelCase,
): Promise<string | undefined> {
  const examples = (one.examples ?? []).map((text) => Buffer.from(text, 'base64'));
  const classifies = one.method === 'classify';
  const got = await settled<readonly Classes[] | readonly number[]>(
    classifies
      ? engine.classify(imported, one.signature, examples)
      : engine.regress(imported, one.signature, examples),
  );
  if (got instanceof Error || one.expectError !== undefined) return refusal(one, got);
  const want = classifies ? classesOf(one) : numbersOf(one, 'outputs');
  const tolerance = one.tolerance ?? TOLERANCE;
  return sameAnswers(want, got, tolerance)
    ? undefined
    : `${one.method}: expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`;
}

const settled = <T>(promise: Promise<T>): Promise<T | Error> =>
  promise.catch((error: unknown) => error as Error);

/** Any error matches: its message is the engine's own. */
function refusal(one: ModelCase, got: unknown): string | undefined {
  if (got instanceof Error === (one.expectError !== undefined)) return undefined;
  return got instanceof Error
    ? `expected an answer, got: ${got.message.slice(0, 400)}`
    : `expected the error "${one.expectError}", got none`;
}

const output = (one: ModelCase, alias: string): Tensor | undefined => {
  const value = one.outputs[alias];
  return value === undefined || value === null ? undefined : goldenTensor(value);
};

function numbersOf(one: ModelCase, alias: string): readonly number[] {
  const tensor = output(one, alias);
  return tensor === undefined ? [] : (tensorNumbers(tensor) ?? []);
}

/** The rows of `classes` and `scores`, one of which may be missing. */
function classesOf(one: ModelCase): Classes[] {
  const scores = numbersOf(one, 'scores');
  const classes = output(one, 'classes');
  const labels =
    classes === undefined
      ? []
      : (tensorStrings(classes) ?? []).map((label) => Buffer.from(label).toString());
  const rows = one.examples?.length ?? 0;
  const width = Math.max(scores.length, labels.length) / rows;
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: width }, (_, column) => {
      const at = row * width + column;
      return { label: labels[at] ?? '', score: scores[at] ?? 0 };
    }),
  );
}

function sameAnswers(
  want: readonly (number | Classes)[],
  got: readonly (number | Classes)[],
  tolerance: number,
): boolean {
  const close = (a: number, b: number): boolean =>
    Object.is(a, b) || Math.abs(a - b) <= tolerance * (1 + Math.abs(a));
  const same = (a: number | Classes, b: number | Classes | undefined): boolean => {
    if (typeof a === 'number' || typeof b === 'number' || b === undefined) {
      return typeof a === 'number' && typeof b === 'number' && close(a, b);
    }
    return (
      a.length === b.length &&
      a.every(({ label, score }, i) => label === b[i]?.label && close(score, b[i].score))
    );
  };
  return want.length === got.length && want.every((one, i) => same(one, got[i]));
}
