// Lowers NeuralNetwork to the stage pmml.neural_network. Importer's worker thread.
// Source: tabular.md 3.2
import {
  ACTIVATION,
  type Activation,
  LAYER_NORMALIZATION,
  type LayerNormalization,
} from '../../plan/generated/stages.js';
import type { Column } from '../../plan/builder.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { lazyResult } from '../answers/results.js';
import { Rows, derivedExpression, isNumber, needed, neededChild, oneOf, real } from './reading.js';

/** Neurons as they are numbered: inputs first, then layer by layer. */
type Numbers = Map<string, number>;

function named(context: ModelContext, numbers: Numbers, element: XmlElement, at: number): void {
  const id = needed(context, element, 'id');
  if (numbers.has(id)) context.problems.add(context.place(element), `id '${id}' occurs twice`);
  numbers.set(id, at);
}

/** The column of a NeuralInput. */
function inputColumn(context: ModelContext, input: XmlElement): Column | undefined {
  const derived = neededChild(context, input, 'DerivedField');
  const expression = derived === undefined ? undefined : derivedExpression(context, derived);
  if (derived === undefined || expression === undefined) return undefined;
  const field = expression.attributes['field'] ?? '';
  const plain =
    expression.name === 'FieldRef' && expression.attributes['mapMissingTo'] === undefined;
  if (plain && context.hasField(field) && isNumber(context.fieldInfo(field).dataType)) {
    return context.field(field, expression);
  }
  const name = derived.attributes['name'] ?? `neuron ${input.attributes['id'] ?? ''}`;
  return context.input(name, context.expression(expression), 'double', derived);
}

function inputsOf(model: XmlElement, context: ModelContext, numbers: Numbers): Column[] {
  const list = neededChild(context, model, 'NeuralInputs');
  const columns: Column[] = [];
  for (const input of list === undefined ? [] : children(list, 'NeuralInput')) {
    const column = inputColumn(context, input);
    if (column === undefined) continue;
    named(context, numbers, input, columns.length);
    columns.push(column);
  }
  return columns;
}

class Network {
  readonly layerRows = new Rows();
  readonly activations: Activation[] = [];
  readonly normalizations: LayerNormalization[] = [];
  readonly thresholds: number[] = [];
  readonly leakages: number[] = [];
  readonly biases: number[] = [];
  readonly widths: number[] = [];
  readonly altitudes: number[] = [];
  readonly connectionRows = new Rows();
  readonly sources: number[] = [];
  readonly weights: number[] = [];
  readonly #context: ModelContext;
  readonly #model: XmlElement;
  readonly #numbers: Numbers;
  readonly #inputs: number;

  constructor(context: ModelContext, model: XmlElement, numbers: Numbers, inputs: number) {
    this.#context = context;
    this.#model = model;
    this.#numbers = numbers;
    this.#inputs = inputs;
  }

  layer(layer: XmlElement): void {
    const context = this.#context;
    const holder = (name: string) => (layer.attributes[name] === undefined ? this.#model : layer);
    const activation = oneOf(
      context,
      holder('activationFunction'),
      'activationFunction',
      ACTIVATION,
    );
    this.activations.push(activation);
    const normalization = holder('normalizationMethod');
    this.normalizations.push(
      oneOf(context, normalization, 'normalizationMethod', LAYER_NORMALIZATION, 'none'),
    );
    this.leakages.push(real(context, holder('x-leakage'), 'x-leakage', 0));
    this.thresholds.push(real(context, holder('threshold'), 'threshold', 0));
    const neurons = children(layer, 'Neuron');
    const before = this.#numbers.size;
    for (const neuron of neurons) this.#neuron(neuron, layer, activation === 'radialBasis', before);
    for (const [i, neuron] of neurons.entries()) {
      named(context, this.#numbers, neuron, this.#inputs + this.biases.length - neurons.length + i);
    }
    this.layerRows.add(neurons.length);
  }

  #neuron(neuron: XmlElement, layer: XmlElement, radial: boolean, before: number): void {
    const context = this.#context;
    const setting = (name: string, fallback?: number) => {
      const holder = [neuron, layer].find((each) => each.attributes[name] !== undefined);
      return real(context, holder ?? this.#model, name, fallback);
    };
    this.biases.push(real(context, neuron, 'bias', 0));
    this.widths.push(radial ? setting('width') : 1);
    this.altitudes.push(radial ? setting('altitude', 1) : 1);
    const connections = children(neuron, 'Con');
    for (const connection of connections) {
      const from = needed(context, connection, 'from');
      const source = this.#numbers.get(from);
      if (source === undefined || source >= before) {
        context.problems.add(
          context.place(connection),
          `neuron '${from}' does not exist or is in the same or a later layer`,
        );
      }
      this.sources.push(source ?? 0);
      this.weights.push(real(context, connection, 'weight'));
    }
    this.connectionRows.add(connections.length);
  }

  get attributes() {
    return {
      layer_rows: this.layerRows.starts,
      activations: this.activations,
      normalizations: this.normalizations,
      thresholds: Float64Array.from(this.thresholds),
      leakages: Float64Array.from(this.leakages),
      biases: Float64Array.from(this.biases),
      widths: Float64Array.from(this.widths),
      altitudes: Float64Array.from(this.altitudes),
      connection_rows: this.connectionRows.starts,
      connection_sources: Int32Array.from(this.sources),
      connection_weights: Float64Array.from(this.weights),
    };
  }
}

interface Output {
  readonly target: string;
  readonly neuron: number;
  /** Label of a classification's neuron. */
  readonly label?: string;
  /** Points of a regression: map the neuron's number back to the original scale. */
  readonly points: readonly { readonly norm: number; readonly orig: number }[];
  readonly element: XmlElement;
}

/**
 * The expression of a NeuralOutput's neuron: a reference to a derived field stands for its
 * expression.
 */
function outputExpression(
  model: XmlElement,
  context: ModelContext,
  output: XmlElement,
): XmlElement | undefined {
  const derived = neededChild(context, output, 'DerivedField');
  const expression = derived === undefined ? undefined : derivedExpression(context, derived);
  if (expression?.name !== 'FieldRef') return expression;
  const local = child(model, 'LocalTransformations');
  const field = expression.attributes['field'];
  const found = (local === undefined ? [] : children(local, 'DerivedField')).find(
    (each) => each.attributes['name'] === field,
  );
  return found === undefined ? expression : derivedExpression(context, found);
}

function outputOf(
  model: XmlElement,
  context: ModelContext,
  output: XmlElement,
  numbers: Numbers,
): Output | undefined {
  const expression = outputExpression(model, context, output);
  if (expression === undefined) return undefined;
  const id = needed(context, output, 'outputNeuron');
  const neuron = numbers.get(id);
  if (neuron === undefined) {
    context.problems.add(context.place(output), `neuron '${id}' does not exist`);
    return undefined;
  }
  const target = needed(context, expression, 'field');
  const made = { target, neuron, points: [], element: output };
  const classification = context.functionName === 'classification';
  if (classification && expression.name === 'NormDiscrete') {
    return { ...made, label: needed(context, expression, 'value') };
  }
  if (!classification && expression.name === 'FieldRef') return made;
  if (!classification && expression.name === 'NormContinuous') {
    const points = children(expression, 'LinearNorm').map((each) => ({
      norm: real(context, each, 'norm'),
      orig: real(context, each, 'orig'),
    }));
    if (points.length < 2) {
      context.problems.add(context.place(expression), 'expected two or more LinearNorm');
    }
    return { ...made, points };
  }
  const reason = `<${expression.name}> does not fit functionName="${context.functionName}"`;
  context.problems.add(context.place(expression), reason);
  return undefined;
}

export const lowerNeuralNetwork: LowerModel = (model, context): ModelResult => {
  const numbers: Numbers = new Map();
  const columns = inputsOf(model, context, numbers);
  const network = new Network(context, model, numbers, columns.length);
  for (const layer of children(model, 'NeuralLayer')) network.layer(layer);
  const list = neededChild(context, model, 'NeuralOutputs');
  const outputs = (list === undefined ? [] : children(list, 'NeuralOutput'))
    .map((each) => outputOf(model, context, each, numbers))
    .filter((each): each is Output => each !== undefined);
  if (outputs.length === 0 || columns.length === 0) {
    context.problems.add(context.place(model), 'expected neural inputs and outputs, got none');
    return {};
  }
  return context.functionName === 'classification'
    ? classification(model, context, columns, network, outputs)
    : regression(model, context, columns, network, outputs);
};

function outputAttributes(outputs: readonly Output[]) {
  const rows = new Rows();
  for (const { points } of outputs) rows.add(points.length);
  const all = outputs.flatMap(({ points }) => points);
  return {
    output_neurons: Int32Array.from(outputs, ({ neuron }) => neuron),
    output_rows: rows.starts,
    output_norms: Float64Array.from(all, ({ norm }) => norm),
    output_origs: Float64Array.from(all, ({ orig }) => orig),
  };
}

function classification(
  model: XmlElement,
  context: ModelContext,
  inputs: readonly Column[],
  network: Network,
  outputs: readonly Output[],
): ModelResult {
  const labels = outputs.map(({ label }) => label ?? '');
  if (new Set(outputs.map(({ target }) => target)).size > 1) {
    const reason = 'outputs of more than one categorical target are not supported';
    context.problems.add(context.place(model), reason);
  }
  const twice = labels.find((label, i) => labels.indexOf(label) !== i);
  if (twice !== undefined) {
    context.problems.add(
      context.place(model),
      `expected one output neuron for '${twice}', got two`,
    );
  }
  const column = context.plan.column('probability', 'vector');
  const attributes = { classification: true, ...network.attributes, ...outputAttributes(outputs) };
  const place = context.place(model);
  context.plan.stage('pmml.neural_network', inputs, [column], attributes, place);
  const probabilities = { column, labels };
  const ids = outputs.map(({ element }) => element.attributes['outputNeuron'] ?? '');
  return lazyResult({
    predicted: () => context.classify(probabilities, model),
    probabilities: () => probabilities,
    entityId: () => {
      const winner = context.plan.column('neuron', 'string');
      const ranked = { labels: ids, rank: 1, largest: true };
      context.plan.stage('pmml.ranked', [column], [winner], ranked, place);
      return winner;
    },
  });
}

function regression(
  model: XmlElement,
  context: ModelContext,
  inputs: readonly Column[],
  network: Network,
  outputs: readonly Output[],
): ModelResult {
  const byTarget = new Map<string, { predicted: Column }>();
  for (const { target, element } of outputs) {
    if (byTarget.has(target)) {
      context.problems.add(
        context.place(element),
        `expected one output neuron for '${target}', got two`,
      );
    }
    byTarget.set(target, { predicted: context.plan.column(`predicted ${target}`, 'double') });
  }
  const columns = [...byTarget.values()].map((each) => each.predicted);
  const attributes = { classification: false, ...network.attributes, ...outputAttributes(outputs) };
  if (columns.length === outputs.length) {
    const place = context.place(model);
    context.plan.stage('pmml.neural_network', inputs, columns, attributes, place);
  }
  const first = byTarget.get(context.target?.name ?? '')?.predicted;
  const predicted = first ?? (columns[0] as Column);
  return context.targets.length > 1 ? { predicted, byTarget } : { predicted };
}
