// Graphs, weights and states of a ModelSpec as engine.fbs bytes, for flat-spec.ts. Control plane,
// any thread. What the numbers mean is checked by the engine.
import type { Builder } from 'flatbuffers';
import type {
  GraphSpec as GraphSpecInfo,
  ModelSpec as ModelSpecInfo,
  Weight as WeightInfo,
} from '../model/engine-api.js';
import { dtypeOf, writeSignature } from './flat-tensors.js';
import { GraphSpec } from './generated/serval/fb/graph-spec.js';
import { GraphState } from './generated/serval/fb/graph-state.js';
import { ModelSpec } from './generated/serval/fb/model-spec.js';
import { Weight } from './generated/serval/fb/weight.js';

function writeWeight(builder: Builder, weight: WeightInfo): number {
  const name = builder.createString(weight.name);
  const dims = Weight.createDimsVector(builder, weight.dims.map(BigInt));
  const { maskedCrc32c } = weight;
  return Weight.createWeight(
    builder,
    name,
    dtypeOf(weight.datatype),
    dims,
    weight.file,
    BigInt(weight.offset),
    BigInt(weight.bytes),
    maskedCrc32c ?? 0,
    maskedCrc32c !== undefined,
  );
}

function writeGraph(builder: Builder, graph: GraphSpecInfo): number {
  const strings = (texts: readonly string[]): number[] =>
    texts.map((text) => builder.createString(text));
  const states = graph.states.map(({ state, input, output }) => {
    const inputAt = builder.createString(input);
    const outputAt = output === '' ? 0 : builder.createString(output);
    return GraphState.createGraphState(builder, state, inputAt, outputAt);
  });
  return GraphSpec.createGraphSpec(
    builder,
    writeSignature(builder, graph.signature),
    GraphSpec.createModelVector(builder, graph.model),
    GraphSpec.createInputNamesVector(builder, strings(graph.inputNames)),
    GraphSpec.createOutputNamesVector(builder, strings(graph.outputNames)),
    GraphSpec.createWeightsVector(builder, [...graph.weights]),
    GraphSpec.createStatesVector(builder, states),
  );
}

/** What must be written before the table that names it; undefined where the spec has no graphs. */
export function writeGraphs(builder: Builder, spec: ModelSpecInfo) {
  const { graphs, weights = [], weightFiles = [], states = [] } = spec;
  if (graphs === undefined) return undefined;
  const files = weightFiles.map((path) => builder.createString(path));
  return {
    graphs: ModelSpec.createGraphsVector(
      builder,
      graphs.map((one) => writeGraph(builder, one)),
    ),
    weights: ModelSpec.createWeightsVector(
      builder,
      weights.map((one) => writeWeight(builder, one)),
    ),
    files: ModelSpec.createWeightFilesVector(builder, files),
    states: ModelSpec.createStatesVector(builder, [...states]),
  };
}

export function addGraphs(builder: Builder, parts: ReturnType<typeof writeGraphs>): void {
  if (parts === undefined) return;
  ModelSpec.addGraphs(builder, parts.graphs);
  ModelSpec.addWeights(builder, parts.weights);
  ModelSpec.addWeightFiles(builder, parts.files);
  ModelSpec.addStates(builder, parts.states);
}
