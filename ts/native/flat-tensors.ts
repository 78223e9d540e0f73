// engine.fbs signatures to and from plain objects, for flat.ts and its parts. Control plane, any
// thread.
import type { Builder } from 'flatbuffers';
import type { Datatype, SignatureInfo, TensorInfo } from '../model/snapshot.js';
import { DType } from './generated/serval/fb/dtype.js';
import { Signature } from './generated/serval/fb/signature.js';
import { TensorSpec } from './generated/serval/fb/tensor-spec.js';

const DATATYPES: readonly [Datatype, DType][] = [
  ['BOOL', DType.Bool],
  ['UINT8', DType.Uint8],
  ['UINT16', DType.Uint16],
  ['UINT32', DType.Uint32],
  ['UINT64', DType.Uint64],
  ['INT8', DType.Int8],
  ['INT16', DType.Int16],
  ['INT32', DType.Int32],
  ['INT64', DType.Int64],
  ['FP16', DType.Fp16],
  ['FP32', DType.Fp32],
  ['FP64', DType.Fp64],
  ['BYTES', DType.Bytes],
  ['BF16', DType.Bf16],
];

function datatypeOf(dtype: DType): Datatype {
  const found = DATATYPES.find(([, code]) => code === dtype);
  if (found === undefined) throw new TypeError(`engine answered an unknown dtype ${dtype}`);
  return found[0];
}

export function dtypeOf(datatype: Datatype): DType {
  return DATATYPES.find(([name]) => name === datatype)?.[1] ?? DType.Invalid;
}

function writeTensor(builder: Builder, tensor: TensorInfo): number {
  const name = builder.createString(tensor.name);
  const dims = TensorSpec.createDimsVector(builder, tensor.shape.map(BigInt));
  const symbols = TensorSpec.createSymbolsVector(
    builder,
    tensor.symbols.map((symbol) => builder.createString(symbol)),
  );
  const { defaultProto } = tensor;
  const proto = defaultProto && TensorSpec.createDefaultProtoVector(builder, defaultProto);
  const { ranks } = tensor;
  const rankOf = ranks === undefined ? 0 : builder.createString(ranks.of);
  TensorSpec.startTensorSpec(builder);
  TensorSpec.addName(builder, name);
  TensorSpec.addDtype(builder, dtypeOf(tensor.datatype));
  TensorSpec.addDims(builder, dims);
  TensorSpec.addSymbols(builder, symbols);
  TensorSpec.addUnknownRank(builder, tensor.unknownRank);
  TensorSpec.addUnchecked(builder, tensor.unchecked ?? false);
  if (proto !== undefined) TensorSpec.addDefaultProto(builder, proto);
  if (ranks !== undefined) {
    TensorSpec.addRankMin(builder, ranks.min);
    TensorSpec.addRankMax(builder, ranks.max ?? 0);
    TensorSpec.addRankOf(builder, rankOf);
  }
  return TensorSpec.endTensorSpec(builder);
}

export function writeSignature(builder: Builder, signature: SignatureInfo): number {
  const inputs = signature.inputs.map((input) => writeTensor(builder, input));
  const outputs = signature.outputs.map((output) => writeTensor(builder, output));
  const name = builder.createString(signature.name);
  const inputsAt = Signature.createInputsVector(builder, inputs);
  const outputsAt = Signature.createOutputsVector(builder, outputs);
  const { methodName } = signature;
  const methodAt = methodName === undefined ? 0 : builder.createString(methodName);
  return Signature.createSignature(builder, name, inputsAt, outputsAt, methodAt);
}

/** The items of a vector. */
export function readAll<T, U>(
  count: number,
  at: (i: number) => T | null,
  read: (item: T) => U,
): U[] {
  const out: U[] = [];
  for (let i = 0; i < count; i += 1) {
    const item = at(i);
    if (item !== null) out.push(read(item));
  }
  return out;
}

function readTensor(tensor: TensorSpec): TensorInfo {
  return {
    name: tensor.name() ?? '',
    datatype: datatypeOf(tensor.dtype()),
    shape: readAll<bigint, number>(tensor.dimsLength(), (i) => tensor.dims(i), Number),
    symbols: readAll<string, string>(tensor.symbolsLength(), (i) => tensor.symbols(i), String),
    unknownRank: tensor.unknownRank(),
    ...(tensor.unchecked() ? { unchecked: true } : {}),
  };
}

export function readSignature(signature: Signature): SignatureInfo {
  const methodName = signature.methodName() ?? '';
  return {
    name: signature.name() ?? '',
    ...(methodName === '' ? {} : { methodName }),
    inputs: readAll(signature.inputsLength(), (i) => signature.inputs(i), readTensor),
    outputs: readAll(signature.outputsLength(), (i) => signature.outputs(i), readTensor),
  };
}
