// Lowers SupportVectorMachineModel to the stage pmml.support_vectors. Importer's worker thread.
// Source: tabular.md 3.2
import type { SvmKernel, SvmMethod } from '../../plan/generated/stages.js';
import type { Value } from '../../plan/generated/plan.js';
import { arrayNumbers } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, children } from '../xml/reader.js';
import { InputList, Rows, attempt, needed, neededChild, oneOf, real, valueOf } from './reading.js';

const KERNELS: Readonly<Record<string, SvmKernel>> = {
  LinearKernelType: 'linear',
  PolynomialKernelType: 'polynomial',
  RadialBasisKernelType: 'radialBasis',
  SigmoidKernelType: 'sigmoid',
};
const METHODS = ['OneAgainstAll', 'OneAgainstOne'] as const;
const NUMERIC: Value = { type: 'double', missing: true };

interface Vectors {
  readonly inputs: number[];
  readonly values: Value[];
  readonly numbers: number[];
  readonly places: Map<string, number>;
}

/** The dimensions of the vectors: fields, or 1 where a field has a value. */
function readFields(fields: XmlElement, context: ModelContext, inputs: InputList): Vectors {
  const made: Vectors = { inputs: [], values: [], numbers: [], places: new Map() };
  for (const each of fields.children) {
    if (each.name === 'FieldRef') {
      const name = needed(context, each, 'field');
      made.inputs.push(
        each.attributes['mapMissingTo'] === undefined
          ? inputs.number(name, each)
          : inputs.column(context.input(name, context.expression(each), 'double', each)),
      );
      made.values.push(NUMERIC);
    } else if (each.name === 'CategoricalPredictor') {
      const name = each.attributes['name'] ?? needed(context, each, 'field');
      const { input, value } = inputs.category(name, needed(context, each, 'value'), each);
      if (real(context, each, 'coefficient', 1) !== 1) {
        context.problems.add(context.place(each), 'a coefficient other than 1 is not supported');
      }
      made.inputs.push(input);
      made.values.push(value);
    } else if (each.name !== 'Extension') {
      context.problems.add(context.place(each), `<${each.name}> is not supported here`);
    }
  }
  return made;
}

function readInstances(dictionary: XmlElement, context: ModelContext, into: Vectors): void {
  for (const instance of children(dictionary, 'VectorInstance')) {
    const id = needed(context, instance, 'id');
    const array = instance.children.find((each) => each.name !== 'Extension');
    if (array === undefined) {
      context.problems.add(context.place(instance), 'has no array');
      continue;
    }
    const numbers = attempt(context, array, new Float64Array(), () => arrayNumbers(array));
    if (numbers.length !== into.inputs.length) {
      const reason = `expected a number for each of ${into.inputs.length} vector fields, got ${numbers.length}`;
      context.problems.add(context.place(instance), reason);
      continue;
    }
    if (into.places.has(id)) {
      context.problems.add(context.place(instance), `vector '${id}' occurs twice`);
    }
    into.places.set(id, into.places.size);
    for (const number of numbers) into.numbers.push(number);
  }
}

interface Machines {
  readonly rows: Rows;
  readonly vectors: number[];
  readonly coefficients: number[];
  readonly intercepts: number[];
}

function addMachine(
  machine: XmlElement,
  context: ModelContext,
  vectors: Vectors,
  byFields: boolean,
  into: Machines,
): void {
  const list = neededChild(context, machine, 'Coefficients');
  if (list === undefined) return;
  const coefficients = children(list, 'Coefficient').map((each) => real(context, each, 'value', 0));
  into.intercepts.push(real(context, list, 'absoluteValue', 0));
  if (byFields) {
    // One number per field: a separate vector, used once.
    if (coefficients.length !== vectors.inputs.length) {
      const reason = `${coefficients.length} coefficients, and ${vectors.inputs.length} fields`;
      context.problems.add(context.place(list), reason);
    }
    into.vectors.push(vectors.places.size);
    into.coefficients.push(1);
    into.rows.add(1);
    vectors.places.set(`coefficients ${vectors.places.size}`, vectors.places.size);
    vectors.numbers.push(...coefficients);
    return;
  }
  const support = neededChild(context, machine, 'SupportVectors');
  const used = support === undefined ? [] : children(support, 'SupportVector');
  if (used.length !== coefficients.length) {
    const reason = `expected a coefficient for each of ${used.length} support vectors, got ${coefficients.length}`;
    context.problems.add(context.place(machine), reason);
    return;
  }
  for (const [i, each] of used.entries()) {
    const id = needed(context, each, 'vectorId');
    const place = vectors.places.get(id);
    if (place === undefined) {
      context.problems.add(context.place(each), `vector '${id}' does not exist`);
    }
    into.vectors.push(place ?? 0);
    into.coefficients.push(coefficients[i] as number);
  }
  into.rows.add(used.length);
}

function kernelOf(model: XmlElement, context: ModelContext, byFields: boolean) {
  const element = model.children.find((each) => Object.hasOwn(KERNELS, each.name));
  if (element === undefined) {
    context.problems.add(context.place(model), 'has no kernel');
    return { kernel: 'linear' as const };
  }
  const kernel = KERNELS[element.name] as SvmKernel;
  if (byFields && kernel !== 'linear') {
    const reason = `svmRepresentation="Coefficients" with <${element.name}> is not supported`;
    context.problems.add(context.place(element), reason);
  }
  return {
    kernel,
    gamma: { real: real(context, element, 'gamma', 1) },
    coef0: { real: real(context, element, 'coef0', 1) },
    degree: { real: real(context, element, 'degree', 1) },
  };
}

/** Older documents leave the method out: what the machines name says which one it is. */
function methodOf(model: XmlElement, context: ModelContext, machines: readonly XmlElement[]) {
  const binary = model.attributes['alternateBinaryTargetCategory'];
  const inferred =
    binary !== undefined || machines[0]?.attributes['alternateTargetCategory'] !== undefined
      ? 'OneAgainstOne'
      : 'OneAgainstAll';
  return oneOf(context, model, 'classificationMethod', METHODS, inferred);
}

function classification(model: XmlElement, context: ModelContext, machines: readonly XmlElement[]) {
  const method = methodOf(model, context, machines);
  const binary = model.attributes['alternateBinaryTargetCategory'];
  const labels: string[] = [];
  const label = (text: string): number => {
    if (!labels.includes(text)) labels.push(text);
    return labels.indexOf(text);
  };
  const shared = real(context, model, 'threshold', 0);
  const targets = machines.map((each) => label(needed(context, each, 'targetCategory')));
  const alternates = machines.map((each) => {
    const own = each.attributes['alternateTargetCategory'];
    if (method === 'OneAgainstAll' || (own !== undefined && binary !== undefined)) {
      if (own === undefined) return -1;
      const reason = 'alternateTargetCategory does not fit the classification method';
      context.problems.add(context.place(each), reason);
      return -1;
    }
    return label(own ?? binary ?? needed(context, each, 'alternateTargetCategory'));
  });
  if (method === 'OneAgainstAll' && new Set(targets).size !== targets.length) {
    context.problems.add(context.place(model), 'two machines have the same target category');
  }
  const dataType = context.target?.dataType ?? 'string';
  const values = labels.map((text) => valueOf(context, model, text, dataType));
  return {
    labels,
    voting: method === 'OneAgainstOne',
    attributes: {
      method: (method === 'OneAgainstOne' ? 'oneAgainstOne' : 'oneAgainstAll') as SvmMethod,
      labels: { values },
      rounded: method === 'OneAgainstOne' && binary !== undefined,
      max_wins: method === 'OneAgainstAll' && model.attributes['maxWins'] === 'true',
      machine_targets: Int32Array.from(targets),
      machine_alternates: Int32Array.from(alternates),
      machine_thresholds: Float64Array.from(machines, (each) =>
        real(context, each, 'threshold', shared),
      ),
    },
  };
}

export const lowerSupportVectors: LowerModel = (model, context): ModelResult => {
  const byFields =
    oneOf(
      context,
      model,
      'svmRepresentation',
      ['SupportVectors', 'Coefficients'],
      'SupportVectors',
    ) === 'Coefficients';
  const dictionary = neededChild(context, model, 'VectorDictionary');
  const fields =
    dictionary === undefined ? undefined : neededChild(context, dictionary, 'VectorFields');
  const machines = children(model, 'SupportVectorMachine');
  const classes = context.functionName === 'classification';
  if (machines.length === 0 || (!classes && machines.length > 1)) {
    const reason = `expected ${classes ? 'machines' : 'one machine'} for ${context.functionName}, got ${machines.length}`;
    context.problems.add(context.place(model), reason);
  }
  if (dictionary === undefined || fields === undefined || machines.length === 0) return {};
  const inputs = new InputList(context);
  const vectors = readFields(fields, context, inputs);
  if (vectors.inputs.length === 0) {
    context.problems.add(context.place(fields), 'has no field');
    return {};
  }
  if (!byFields) readInstances(dictionary, context, vectors);
  const into: Machines = { rows: new Rows(), vectors: [], coefficients: [], intercepts: [] };
  for (const machine of machines) addMachine(machine, context, vectors, byFields, into);
  const attributes = {
    ...kernelOf(model, context, byFields),
    vector_inputs: Int32Array.from(vectors.inputs),
    vector_values: { values: vectors.values },
    vectors: Float64Array.from(vectors.numbers),
    machine_rows: into.rows.starts,
    machine_vectors: Int32Array.from(into.vectors),
    machine_coefficients: Float64Array.from(into.coefficients),
    machine_intercepts: Float64Array.from(into.intercepts),
  };
  const place = context.place(model);
  const kind = 'pmml.support_vectors';
  const { plan } = context;
  if (!classes) {
    const predicted = plan.column('predicted', 'double');
    plan.stage(
      kind,
      inputs.columns,
      [predicted],
      { method: 'regression' as const, ...attributes },
      place,
    );
    return { predicted };
  }
  const { labels, voting, attributes: more } = classification(model, context, machines);
  const type = more.labels.values[0]?.type ?? 'string';
  const predicted = plan.column('predicted', type);
  const column = plan.column(voting ? 'votes' : 'distances', 'vector');
  plan.stage(kind, inputs.columns, [predicted, column], { ...more, ...attributes }, place);
  const scores = { column, labels };
  if (voting) return { predicted, probabilities: scores, probabilitiesAreVotes: true };
  const order = model.attributes['maxWins'] === 'true' ? 'largest' : 'smallest';
  return { predicted, affinities: scores, affinityOrder: order };
};
