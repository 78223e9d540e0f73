// ModelVerification: the records of a document with the expected results of its model. Importer's
// worker thread; pure. Source: the PMML standard's "Model Verification"; JPMML's
// Evaluator.verify().
import type { Plan } from '../plan/generated/plan.js';
import type { Verification, VerifiedOutput } from '../plan/verification.js';
import { placeOf } from './document.js';
import { type XmlElement, child, children, localName } from './xml/reader.js';

const PRECISION = 1e-6;
const ZERO_THRESHOLD = 1e-16;

export interface FoundVerification {
  readonly verification?: Verification;
  readonly warnings: readonly string[];
}

interface VerifiedField extends VerifiedOutput {
  readonly column: string;
}

function tolerance(element: XmlElement, name: string, fallback: number): number {
  const text = element.attributes[name];
  const value = text === undefined ? fallback : Number(text.trim() === '' ? Number.NaN : text);
  if (value >= 0) return value;
  throw new RangeError(`${placeOf(element)}: ${name}="${text}": expected a number of 0 or more`);
}

function fieldOf(element: XmlElement): VerifiedField {
  const name = element.attributes['field'];
  if (name === undefined) throw new RangeError(`${placeOf(element)}: has no field`);
  return {
    name,
    column: localName(element.attributes['column'] ?? name),
    precision: tolerance(element, 'precision', PRECISION),
    zeroThreshold: tolerance(element, 'zeroThreshold', ZERO_THRESHOLD),
  };
}

/** Those of the Output where any is named: targets are then what the model was trained with.
 * Source: the standard. */
function comparedOf(fields: readonly VerifiedField[], model: XmlElement, plan: Plan) {
  const output = child(model, 'Output');
  const own = output === undefined ? [] : children(output, 'OutputField');
  const final = new Set(own.map((each) => each.attributes['name']));
  const scalars = new Set(
    plan.outputs.filter(({ type }) => type !== 'list' && type !== 'vector').map(({ name }) => name),
  );
  const answered = fields.filter(({ name }) => scalars.has(name));
  const outputs = answered.filter(({ name }) => final.has(name));
  return outputs.length > 0 ? outputs : answered;
}

function readVerification(element: XmlElement, model: XmlElement, plan: Plan): Verification {
  const listed = child(element, 'VerificationFields');
  const fields = (listed === undefined ? [] : children(listed, 'VerificationField')).map(fieldOf);
  const table = child(element, 'InlineTable');
  if (fields.length === 0) throw new RangeError(`${placeOf(element)}: has no VerificationField`);
  if (table === undefined) throw new RangeError(`${placeOf(element)}: has no InlineTable`);
  const outputs = comparedOf(fields, model, plan);
  if (outputs.length === 0) {
    throw new RangeError(
      `${placeOf(element)}: no field of it is a single value that the model returns`,
    );
  }
  const lists = new Set(plan.fields.filter(({ type }) => type === 'list').map(({ name }) => name));
  const taken = new Set(plan.fields.map(({ name }) => name));
  const inputs = fields.filter(({ name }) => taken.has(name));
  if (inputs.some(({ name }) => lists.has(name))) {
    throw new RangeError(`${placeOf(element)}: grouped rows are not supported`);
  }
  const records = children(table, 'row').map((row) => {
    const cells = new Map(row.children.map((cell) => [cell.name, cell.text]));
    const texts = (of: readonly VerifiedField[]) =>
      new Map(
        of.flatMap(({ name, column }): [string, string][] => {
          const text = cells.get(column);
          return text === undefined ? [] : [[name, text]];
        }),
      );
    return { inputs: texts(inputs), expected: texts(outputs) };
  });
  return {
    outputs: outputs.map(({ name, precision, zeroThreshold }) => ({
      name,
      precision,
      zeroThreshold,
    })),
    records,
  };
}

/** The model's records; a warning where they cannot be run. `plan`: what it was lowered to. */
export function verificationOf(model: XmlElement, plan: Plan): FoundVerification {
  const element = child(model, 'ModelVerification');
  if (element === undefined) return { warnings: [] };
  try {
    return { verification: readVerification(element, model, plan), warnings: [] };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { warnings: [`its ModelVerification is skipped: ${error.message}`] };
  }
}
