// Converts the result of an import to the spec that the engine loads and the signatures that
// metadata shows. Control plane; pure.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type {
  BlockedSignature,
  ImportedGraph,
  ImportedModel,
  ImportedTensor,
  ImportedWeight,
} from '../tensorflow/imported.js';
import type { ImportedTabular } from '../plan/imported.js';
import { encodeTensorProto } from '../tensorflow/proto/tensor-proto-writer.js';
import type { Dtype, SignatureDef, TensorInfoDef } from '../tensorflow/types.js';
import { DATA_TYPES } from '../../model/datatype.js';
import type { GraphSpec, ModelSpec, Weight } from '../../model/engine-api.js';
import type {
  Datatype,
  SignatureDefDoc,
  SignatureDefs,
  TensorInfo,
  TensorInfoDoc,
} from '../../model/snapshot.js';

function datatypeOf(dtype: Dtype, what: string): Datatype {
  const datatype = DATA_TYPES[dtype].v2;
  if (datatype !== undefined) return datatype;
  throw new ServalError(
    ErrorCode.Unimplemented,
    `${what}: tensors of type ${dtype} are not supported`,
  );
}

function tensorInfo(tensor: ImportedTensor, what: string): TensorInfo {
  const shape = (tensor.shape ?? []).map((dim) => dim ?? -1);
  const { defaultValue } = tensor;
  return {
    name: tensor.alias,
    datatype: datatypeOf(tensor.dtype, `${what} '${tensor.alias}'`),
    shape,
    symbols: shape.map(() => ''),
    unknownRank: tensor.shape === undefined,
    unchecked: true,
    ...(tensor.ranks === undefined ? {} : { ranks: tensor.ranks }),
    ...(defaultValue === undefined ? {} : { defaultProto: encodeTensorProto(defaultValue) }),
  };
}

function graphSpec(graph: ImportedGraph): GraphSpec {
  const place = `signature '${graph.signature}'`;
  return {
    signature: {
      name: graph.signature,
      methodName: graph.methodName,
      inputs: graph.inputs.map((one) => tensorInfo(one, `${place}: input`)),
      outputs: graph.outputs.map((one) => tensorInfo(one, `${place}: output`)),
    },
    model: graph.onnx,
    inputNames: graph.inputs.map((one) => one.graphName),
    outputNames: graph.outputs.map((one) => one.graphName),
    weights: graph.weights,
    states: graph.states.map(({ state, inputName, outputName }) => ({
      state,
      input: inputName,
      output: outputName,
    })),
  };
}

function weightSpec(weight: ImportedWeight, files: Map<string, number>): Weight {
  const file = files.get(weight.path) ?? files.size;
  files.set(weight.path, file);
  const { name, shape, offset, byteLength, maskedCrc32c } = weight;
  return {
    name,
    datatype: datatypeOf(weight.dtype, `constant '${name}'`),
    dims: shape,
    file,
    offset,
    bytes: byteLength,
    ...(maskedCrc32c === undefined ? {} : { maskedCrc32c }),
  };
}

/**
 * On processors without VNNI the runtime's products of unsigned and signed bytes overflow in 16
 * bits; with this option it uses others, as exact as TensorFlow Lite's.
 */
const EXACT_INTEGERS = { 'session.x64quantprecision': '1' } as const;

/**
 * The spec with the import's graphs in place of its file. Errors: ModelInvalid with every reason if
 * nothing of the model can be served.
 */
export function importedSpec(spec: ModelSpec, model: ImportedModel): ModelSpec {
  if (model.graphs.length === 0) throw nothingToServe(model);
  const files = new Map<string, number>();
  const weights = model.weights.map((one) => weightSpec(one, files));
  return {
    ...spec,
    graphs: model.graphs.map(graphSpec),
    weights,
    weightFiles: [...files.keys()],
    states: model.states.map((one) => one.weight),
    ...(model.format === 'tflite'
      ? { sessionConfig: { ...EXACT_INTEGERS, ...spec.sessionConfig } }
      : {}),
  };
}

/** The spec with the plan's file in place of the model's. */
export function tabularSpec(spec: ModelSpec, { plan }: ImportedTabular): ModelSpec {
  return { ...spec, backend: 'tabular', path: plan };
}

function nothingToServe(model: ImportedModel): ServalError {
  const reasons = model.blocked.map(blockedText);
  const text = reasons.length === 0 ? 'the model has no signatures' : reasons.join('; ');
  return new ServalError(ErrorCode.ModelInvalid, `no signature can be served: ${text}`);
}

const PROBLEMS_SHOWN = 20;

/** "signature 'x': Op 'node' (3 nodes): reason, ..." */
export function blockedText({ signature, problems }: BlockedSignature): string {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map(({ op, node, count, reason }) => {
    const more = count === 1 ? '' : ` (${count} nodes)`;
    return `${op} '${node}'${more}: ${reason}`;
  });
  if (problems.length > shown.length) shown.push(`and ${problems.length - shown.length} more`);
  return `signature '${signature}': ${shown.join(', ')}`;
}

/** Signatures for metadata documents. */
export function signatureDefs(model: ImportedModel): SignatureDefs {
  return {
    all: model.signatureDefs.map(([name, signature]) => [name, signatureDoc(signature)]),
    blocked: Object.fromEntries(model.blocked.map((one) => [one.signature, blockedText(one)])),
  };
}

function signatureDoc(signature: SignatureDef): SignatureDefDoc {
  const sorted = (infos: SignatureDef['inputs']): [string, TensorInfoDoc][] =>
    [...infos].sort(([a], [b]) => (a < b ? -1 : 1)).map(([alias, info]) => [alias, infoDoc(info)]);
  return {
    methodName: signature.methodName,
    inputs: sorted(signature.inputs),
    outputs: sorted(signature.outputs),
    defaults: [...signature.defaults].map(([alias, tensor]) => [
      alias,
      Buffer.from(encodeTensorProto(tensor)).toString('base64'),
    ]),
  };
}

function infoDoc(info: TensorInfoDef): TensorInfoDoc {
  const { composite, ...rest } = info;
  return composite === undefined ? rest : { ...rest, composite: composite.map(infoDoc) };
}
