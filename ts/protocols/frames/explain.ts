// KServe's V1 explain over REST: POST /v1/models/NAME[/versions/V]:explain answers with the Shapley
// values of a model of trees. A thin layer: the instances become a V2 request for the outputs that
// explain. The listener's thread. Source: KServe's V1 protocol, "Explain".
import { JSON_TYPE } from '../../base/media-types.js';
import { INFERENCE } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { ofCall, type Route } from '../../listeners/http/listener.js';
import { EXPECTED_VALUE, SHAP_VALUES } from '../../model/explanation-names.js';
import type {
  ListenerSnapshots,
  RegistrySnapshot,
  SignatureInfo,
  TableDoc,
  TensorInfo,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { seenVersion } from '../needs-load.js';
import type { Answer } from '../rest/body-route.js';
import { lookUp } from '../v2/lookup.js';
import {
  askEngine,
  rewrittenRoute,
  type Question,
  type RewriteContext,
} from '../v2/rest-rewritten.js';
import { decodedName, wrongMethod } from '../v2/rest-replies.js';
import { exactText, ExactNumber, parseExact, type ExactValue } from './exact-json.js';
import {
  type AnswerColumn,
  answerColumns,
  memberOf,
  type RequestColumn,
  requestText,
} from './tensors.js';

const EXPLAIN_URL = /^\/v1\/models\/([^/:]+)(?:\/versions\/([^/:]+))?:explain$/;
const ECHOED_MAX = 256;

/** undefined: the URL is not this route's. */
export function explainRoute(
  context: RewriteContext,
  { snapshot }: ListenerSnapshots,
  method: string,
  path: string,
): Route | undefined {
  const match = EXPLAIN_URL.exec(path);
  if (match === null) return undefined;
  const name = decodedName(match[1] ?? '');
  const version = match[2] === undefined ? undefined : decodedName(match[2]);
  const found = (now: RegistrySnapshot): VersionSnapshot => explained(now, name, version);
  const make = (text: string, question: Question): Promise<Answer> =>
    explain(context, text, question);
  const post = (): Route => rewrittenRoute(context, snapshot, found, make);
  return ofCall(INFERENCE, method === 'POST' ? post() : wrongMethod({ POST: post }, method));
}

/**
 * Errors: those of lookUp(); ModelNotReady; NeedsLoad; InvalidArgument: the model has no trees that
 * can be explained.
 */
function explained(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
): VersionSnapshot {
  const { version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  const seen = seenVersion(name, version);
  if (seen.table?.extra.includes(SHAP_VALUES) === true) return seen;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `model '${name.slice(0, ECHOED_MAX)}' cannot be explained: only models of decision trees and ` +
      `linear models can (they have the output '${SHAP_VALUES}')`,
  );
}

const NO_SIGNATURE: SignatureInfo = { name: '', inputs: [], outputs: [] };

async function explain(
  { link }: RewriteContext,
  text: string,
  question: Question,
): Promise<Answer> {
  const { signatures, table } = question.version;
  const [signature = NO_SIGNATURE] = signatures;
  const columns = columnsOf(instancesOf(parseExact(text)), signature.inputs, table);
  const request = requestText(columns, [SHAP_VALUES, EXPECTED_VALUE]);
  const answer = answerColumns(await askEngine(link, question, request));
  const fields = [neededOf(signature.inputs, table), signature.inputs];
  const names = table?.features
    ? [table.features]
    : fields.map((list) => list.map((one) => one.name));
  return { contentType: JSON_TYPE, body: explanationText(answer, names) };
}

function refused(what: string): ServalError {
  return new ServalError(ErrorCode.InvalidArgument, `explain: ${what}`);
}

/** Errors: InvalidArgument: no list of instances. */
function instancesOf(body: ExactValue): readonly ExactValue[] {
  const instances = memberOf(body, 'instances');
  if (Array.isArray(instances) && instances.length > 0) return instances as readonly ExactValue[];
  throw refused("expected an object with 'instances', a list of rows");
}

/** A matrix of all features, or a vector of a known size. */
const isWide = ({ shape }: TensorInfo): boolean => shape.length === 2 && (shape[1] ?? -1) > 1;

/**
 * Instances are objects by field, lists in the order of the fields that explanations need or of all
 * fields, or the values of the only field. Errors: InvalidArgument naming the row.
 */
function columnsOf(
  instances: readonly ExactValue[],
  inputs: readonly TensorInfo[],
  table: TableDoc | undefined,
): readonly RequestColumn[] {
  const needed = neededOf(inputs, table);
  const [only] = needed;
  const isOne = needed.length === 1 && only !== undefined;
  const rows = instances.map((instance, row): Cells => {
    if (instance instanceof Map) return fieldsOf(instance, inputs, row);
    const isWideValue =
      isOne && isWide(only) && !(Array.isArray(instance) && instance.some(isCompound));
    const isRow = Array.isArray(instance) && inputs.length > 1 && instance.length === inputs.length;
    if (isOne && (isWideValue || !isRow)) {
      const isWhole = isWide(only) || !Array.isArray(instance);
      return new Map([[only.name, isWhole ? instance : onlyOf(instance, only)]]);
    }
    if (!Array.isArray(instance)) {
      throw refused(`row ${row}: expected an object or a list of ${needed.length} values`);
    }
    const fields = instance.length === inputs.length ? inputs : needed;
    if (instance.length !== fields.length) {
      throw refused(
        `row ${row}: expected a list of ${needed.length} values, one per field, got ` +
          `${instance.length}`,
      );
    }
    const values = instance as readonly ExactValue[];
    return new Map(fields.map(({ name }, at) => [name, values[at]]));
  });
  return inputs.flatMap((input) => {
    const cells = rows.map((row) => row.get(input.name));
    const missing = cells.indexOf(undefined);
    if (cells.every((cell) => cell === undefined)) return [];
    if (missing >= 0) throw refused(`row ${missing}: missing field '${input.name}'`);
    return [columnOf(input, cells, table)];
  });
}

type Cells = ReadonlyMap<string, ExactValue | undefined>;

/** The inputs that explanations need. */
function neededOf(
  inputs: readonly TensorInfo[],
  table: TableDoc | undefined,
): readonly TensorInfo[] {
  const { explained } = table ?? {};
  return explained === undefined ? inputs : inputs.filter(({ name }) => explained.includes(name));
}

/** Errors: InvalidArgument: it has other fields than the model. */
function fieldsOf(
  instance: ReadonlyMap<string, ExactValue>,
  inputs: readonly TensorInfo[],
  row: number,
): Cells {
  const names = new Set(inputs.map(({ name }) => name));
  const odd = [...instance.keys()].find((name) => !names.has(name));
  if (odd !== undefined) throw refused(`row ${row}: unknown field '${odd.slice(0, ECHOED_MAX)}'`);
  return instance;
}

/** A list of one value for a field of scalars is that value. */
function onlyOf(instance: ExactValue, { shape }: TensorInfo): ExactValue | undefined {
  const list = instance as readonly ExactValue[];
  return shape.length === 1 && list.length === 1 ? list[0] : instance;
}

function columnOf(
  input: TensorInfo,
  given: readonly (ExactValue | undefined)[],
  table: TableDoc | undefined,
): RequestColumn {
  const { name, shape } = input;
  const cells = given.map((cell) => cell ?? null);
  if (isWide(input)) {
    const [, width = 1] = shape;
    cells.forEach((cell, row) => {
      if (Array.isArray(cell) && cell.length === width && !cell.some(isCompound)) return;
      const got = Array.isArray(cell) ? `${cell.length}` : exactText(cell, false).slice(0, 100);
      throw refused(`row ${row}, ${name}: expected a list of ${width} values, got ${got}`);
    });
    return { name, datatype: input.datatype, isList: false, width, cells: cells.flat() };
  }
  const isList = shape.length > 1;
  cells.forEach((cell, row) => {
    const values: readonly ExactValue[] = isList && Array.isArray(cell) ? cell : [cell];
    const odd = values.find(isCompound);
    if (odd === undefined) return;
    throw refused(
      `row ${row}, ${name}: expected a value, got ${exactText(odd, false).slice(0, 100)}`,
    );
  });
  const datatype = table?.untyped.includes(name) === true ? datatypeOf(cells) : input.datatype;
  return { name, datatype, isList, cells };
}

const isCompound = (value: ExactValue): boolean => Array.isArray(value) || value instanceof Map;

/** The datatype of a field that the model says nothing of. */
function datatypeOf(cells: readonly ExactValue[]): string {
  const known = cells.filter((cell) => cell !== null);
  if (known.every((cell) => cell instanceof ExactNumber)) return 'FP64';
  return known.every((cell) => typeof cell === 'boolean') ? 'BOOL' : 'STRING';
}

/**
 * {"explanations": [{"shap_values": ..., "expected_value": ...}], "feature_names": [...]}, with the
 * first list of names that has one for each feature.
 */
function explanationText(
  answer: readonly AnswerColumn[],
  names: readonly (readonly string[])[],
): string {
  const columnNamed = (name: string): AnswerColumn => {
    const found = answer.find((column) => column.name === name);
    if (found !== undefined) return found;
    throw new ServalError(ErrorCode.Internal, `explain: the response has no '${name}'`);
  };
  const [values, expected] = [columnNamed(SHAP_VALUES), columnNamed(EXPECTED_VALUE)];
  const scores = Math.max(1, expected.length ?? 1);
  const features = (values.length ?? 0) / scores;
  const rows = values.cells.map((cell, row) => {
    const own = scores === 1 ? cell : grouped(cell, scores);
    const base = expected.cells[row] ?? null;
    const [first = null] = Array.isArray(base) ? (base as readonly ExactValue[]) : [base];
    return (
      `{"${SHAP_VALUES}":${exactText(own, false)},` +
      `"${EXPECTED_VALUE}":${exactText(scores === 1 ? first : base, false)}}`
    );
  });
  const fitting = names.find(({ length }) => length === features);
  const named = fitting === undefined ? '' : `,"feature_names":${JSON.stringify(fitting)}`;
  return `{"explanations":[${rows.join(',')}]${named}}`;
}

/** A list for each feature, of its values by score. */
function grouped(cell: ExactValue, scores: number): ExactValue {
  if (!Array.isArray(cell)) return cell;
  const values = cell as readonly ExactValue[];
  return Array.from({ length: values.length / scores }, (_, at) =>
    values.slice(at * scores, (at + 1) * scores),
  );
}
