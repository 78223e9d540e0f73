// The metadata file of a Spark stage: one line of JSON. Importer's worker thread.
import { own, Params } from './params.js';
import { need, shown, StageProblem } from './problem.js';

type Json = Readonly<Record<string, unknown>>;

export interface Metadata {
  /** The class name in the file: org.apache.spark.ml.feature.StringIndexerModel. */
  readonly className: string;
  /** The class's own name where it is one of Spark's, "StringIndexerModel"; else className. */
  readonly type: string;
  readonly uid: string;
  readonly sparkVersion: string;
  readonly params: Params;
  /** Returns another member of the metadata: numClasses, numFeatures, labelMetadata, ... */
  extra(name: string): unknown;
}

// Pipelines that hold a OneVsRest or a tuning wrapper are written by Python with its own class
// names. Source: tabular.md 10
const SPARK_CLASS =
  /^(?:org\.apache\.spark\.ml|pyspark\.ml)\.(?:[A-Za-z0-9_$]+\.)*([A-Za-z0-9_$]+)$/;

/** Errors: StageProblem where it is no metadata of Spark 2 or later. */
export function parseMetadata(text: string, file: string): Metadata {
  const line = text.split('\n').find((candidate) => candidate.trim() !== '');
  const json = parseObject(need(line, `${file} is empty`), file);
  const className = textOf(json, 'class', file);
  const sparkVersion = textOf(json, 'sparkVersion', file);
  const major = Number(/^(\d+)\./.exec(sparkVersion)?.[1] ?? Number.NaN);
  if (!(major >= 2)) {
    throw new StageProblem(`${file}: written by Spark '${sparkVersion}': expected 2.0 or later`);
  }
  return {
    className,
    type: SPARK_CLASS.exec(className)?.[1] ?? className,
    uid: textOf(json, 'uid', file),
    sparkVersion,
    params: new Params(
      objectOf(json, 'paramMap', file),
      own(json, 'defaultParamMap') === undefined ? {} : objectOf(json, 'defaultParamMap', file),
    ),
    extra: (name) => own(json, name),
  };
}

/** The version as numbers, for what changed between versions. */
export function isBefore(sparkVersion: string, major: number, minor: number): boolean {
  const [have = 0, haveMinor = 0] = sparkVersion
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return have < major || (have === major && haveMinor < minor);
}

const NUMBER_OF_PYTHON = /-?\bInfinity\b|\bNaN\b/;
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

/** Quotes the numbers that Python writes outside JSON's grammar, as Scala does. */
function withoutNumbersOfPython(line: string): string {
  return line.replace(TEXT_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`));
}

function parseObject(line: string, file: string): Json {
  let json: unknown;
  try {
    json = JSON.parse(NUMBER_OF_PYTHON.test(line) ? withoutNumbersOfPython(line) : line);
  } catch (error) {
    throw new StageProblem(`${file} is not JSON: ${(error as Error).message}`);
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Json;
  throw new StageProblem(`${file}: expected a JSON object, got ${shown(json)}`);
}

function textOf(json: Json, name: string, file: string): string {
  const value = own(json, name);
  if (typeof value === 'string') return value;
  throw new StageProblem(`${file}: '${name}': expected a string, got ${shown(value)}`);
}

function objectOf(json: Json, name: string, file: string): Json {
  const value = own(json, name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new StageProblem(`${file}: '${name}': expected an object, got ${shown(value)}`);
}
