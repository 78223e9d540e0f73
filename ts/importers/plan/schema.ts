// The schema file of a tabular model, in V2's terms: {"inputs": [{"name", "datatype", "shape"}],
// "outputs": ...}. It overrides the model's own description of its fields as far as possible.
// Importer's worker thread. Source: tabular.md 1, 2.1 (X24).
import { ServalError, modelInvalid } from '../../base/errors.js';
import { DECIMAL_PRECISION_MAX, SCHEMA_BYTES_MAX } from '../../base/limits.js';
import type { Field, Output, Plan } from './generated/plan.js';
import { mayBeLeftOut } from './needs.js';
import { Problems } from './problems.js';
import { datatypeOfType, typeOfTensor, widens, type FullType } from './v2-types.js';
import { readTextFile } from './archive/text-file.js';

export interface SchemaTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Precision of decimals; 0 = none. */
  readonly precision: number;
  readonly scale: number;
}

export interface Schema {
  readonly inputs: readonly SchemaTensor[];
  /** Empty: as the model has them. */
  readonly outputs: readonly SchemaTensor[];
}

const WHAT = 'schema file';

/** Errors: ModelInvalid: unreadable, too long, no JSON of this form; all at once. */
export async function readSchema(path: string): Promise<Schema> {
  let text: string;
  try {
    text = await readTextFile(path, SCHEMA_BYTES_MAX);
  } catch (error) {
    throw invalid(path, (error as Error).message);
  }
  return parseSchema(text, path);
}

/** Errors: ModelInvalid. `path`: for errors. */
export function parseSchema(text: string, path: string): Schema {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw invalid(path, (error as Error).message);
  }
  if (!isObject(json)) throw invalid(path, 'expected an object of inputs and outputs');
  const problems = new Problems();
  for (const key of Object.keys(json)) {
    if (key !== 'inputs' && key !== 'outputs') problems.add(path, `unknown member "${key}"`);
  }
  const schema = {
    inputs: tensorsOf(json, 'inputs', path, problems),
    outputs: tensorsOf(json, 'outputs', path, problems),
  };
  problems.throwIfAny(WHAT);
  return schema;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function invalid(path: string, why: string): ServalError {
  return modelInvalid(`${WHAT} ${path}`, why);
}

function tensorsOf(
  json: Readonly<Record<string, unknown>>,
  list: 'inputs' | 'outputs',
  path: string,
  problems: Problems,
): readonly SchemaTensor[] {
  const tensors = json[list] ?? [];
  if (!Array.isArray(tensors)) {
    problems.add(path, `${list}: expected a list`);
    return [];
  }
  const names = new Set<string>();
  return tensors.flatMap((tensor: unknown, i) => {
    const place = `${path}, ${list}[${i}]`;
    const found = tensorOf(tensor, place, problems);
    if (found === undefined) return [];
    if (names.has(found.name)) problems.add(place, `"${found.name}" occurs twice`);
    names.add(found.name);
    return [found];
  });
}

function tensorOf(json: unknown, place: string, problems: Problems): SchemaTensor | undefined {
  const { name, datatype, shape, parameters } = isObject(json) ? json : {};
  const isShape = Array.isArray(shape) && shape.every((dim) => typeof dim === 'number');
  if (typeof name !== 'string' || name === '' || typeof datatype !== 'string' || !isShape) {
    problems.add(place, 'expected {"name": text, "datatype": text, "shape": numbers}');
    return undefined;
  }
  const tensor = { name, datatype, shape: shape as readonly number[], precision: 0, scale: 0 };
  const type = typeOfTensor(datatype, tensor.shape, false);
  if (typeof type === 'string') {
    problems.add(`${place} "${name}"`, type);
    return undefined;
  }
  if (parameters === undefined) return tensor;
  const decimal = decimalOf(parameters);
  if (decimal === undefined || type.type !== 'double') {
    problems.add(
      `${place} "${name}"`,
      `parameters: expected "precision" from 1 to ${DECIMAL_PRECISION_MAX} and "scale" up to it, of FP64`,
    );
    return undefined;
  }
  return { ...tensor, ...decimal };
}

function decimalOf(parameters: unknown): { precision: number; scale: number } | undefined {
  if (!isObject(parameters)) return undefined;
  const { precision, scale, ...others } = parameters;
  const [p, s] = [Number(precision), Number(scale)];
  const whole = Number.isInteger(p) && Number.isInteger(s) && Object.keys(others).length === 0;
  return whole && p >= 1 && p <= DECIMAL_PRECISION_MAX && s >= 0 && s <= p
    ? { precision: p, scale: s }
    : undefined;
}

/**
 * Applies the schema to the plan: fields of unknown type get the schema's type, and outputs that it
 * does not list are returned only on request. Errors: ModelInvalid with everything that does not
 * fit the model. `path`: for errors.
 */
export function applySchema(
  plan: Plan,
  schema: Schema,
  path: string,
): { readonly plan: Plan; readonly warnings: readonly string[] } {
  const problems = new Problems();
  const inputs = new Map(schema.inputs.map((one) => [one.name, one]));
  const outputs =
    schema.outputs.length === 0 ? plan.outputs : outputsOf(plan, schema, path, problems);
  const isOptional = mayBeLeftOut({ ...plan, outputs });
  const fields = plan.fields.map((field) => {
    const tensor = inputs.get(field.name);
    inputs.delete(field.name);
    if (tensor !== undefined) return fieldOf(field, tensor, path, problems);
    if (schema.inputs.length > 0 && !isOptional(field)) {
      problems.add(path, `inputs: the model needs the field "${field.name}"`);
    }
    return field;
  });
  const warnings = [...inputs.keys()].map(
    (name) => `${path}: "${name}" is ignored: the model has no such field`,
  );
  problems.throwIfAny(WHAT);
  return { plan: { ...plan, fields, outputs }, warnings };
}

function fieldOf(field: Field, tensor: SchemaTensor, path: string, problems: Problems): Field {
  const own = fullType(field);
  const type = typeOfTensor(tensor.datatype, tensor.shape, own.type === 'vector');
  if (typeof type === 'string') return field; // said when the file was read
  if (field.any === true) return typedField(field, type, tensor);
  const isText = field.parseText === true && type.type === 'string';
  if (!isText && !widens(type, own)) {
    problems.add(
      path,
      `inputs: the model's field "${field.name}" is ${typeText(own)}, got ${typeText(type)}`,
    );
  }
  return field;
}

/** A field that the model says nothing of. */
function typedField(field: Field, type: FullType, { precision, scale }: SchemaTensor): Field {
  const { any: _any, element: _element, size: _size, ...rest } = field;
  if (precision > 0) return { ...rest, type: 'decimal', precision, scale };
  return { ...rest, ...type };
}

function outputsOf(
  plan: Plan,
  schema: Schema,
  path: string,
  problems: Problems,
): readonly Output[] {
  const left = new Map(plan.outputs.map((one) => [one.name, one]));
  const listed = schema.outputs.flatMap((tensor): Output[] => {
    const output = left.get(tensor.name);
    if (output === undefined) {
      problems.add(path, `outputs: the model has no output "${tensor.name}"`);
      return [];
    }
    left.delete(tensor.name);
    const own = fullType(output);
    const type = typeOfTensor(tensor.datatype, tensor.shape, own.type === 'vector');
    if (typeof type !== 'string' && datatypeOfType(type) !== datatypeOfType(own)) {
      problems.add(
        path,
        `outputs: the model's "${tensor.name}" is ${typeText(own)}, got ${typeText(type)}`,
      );
    }
    return [{ ...output, extra: false }];
  });
  return [...listed, ...[...left.values()].map((one) => ({ ...one, extra: true }))];
}

function fullType({ type, element, size }: Field | Output): FullType {
  return {
    type,
    ...(element === undefined ? {} : { element }),
    ...(size === undefined ? {} : { size }),
  };
}

function typeText(type: FullType): string {
  const datatype = datatypeOfType(type);
  if (type.type === 'list') return `a list of ${datatype}`;
  if (type.type === 'vector' && (type.size ?? -1) >= 0) return `${datatype} of ${type.size}`;
  return type.type === 'any' ? 'of any type' : datatype;
}
