// Reads tensorflow.SignatureDef, TensorInfo and AssetFileDef. Importer's worker thread; pure.
// Source: tensorflow/core/protobuf/meta_graph.proto.
import { ASSET_FILE_DEF } from '../../../protobuf/generated/tensorflow-graph-fields.js';
import {
  SIGNATURE_DEF,
  TENSOR_INFO,
  TENSOR_INFO_COO_SPARSE as COO_SPARSE,
  TENSOR_INFO_COMPOSITE_TENSOR as COMPOSITE_TENSOR,
} from '../../../protobuf/generated/tensorflow-fields.js';
import { modelInvalid } from '../../../base/errors.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { SignatureDef, Tensor, TensorInfoDef, TensorShapeDef } from '../types.js';
import { NESTING_MAX, OBJECT_ITEMS, readMapEntry } from './read-context.js';
import type { ReadContext } from './read-context.js';
import { readTensor } from './tensor-proto.js';
import { readShapeDef } from './tensor-shape.js';

/**
 * tensorflow.AssetFileDef or tensorflow.serving.AssetFile: the tensor that receives a file's path.
 */
export interface AssetBinding {
  readonly tensorName: string;
  readonly fileName: string;
}

type CooSparse = NonNullable<TensorInfoDef['cooSparse']>;

const EMPTY_INFO: TensorInfoDef = { name: '', dtypeCode: 0 };

/** Defaults of a data type that the importer does not know are omitted. */
export function readSignatureDef(reader: WireReader, context: ReadContext): SignatureDef {
  const inputs = new Map<string, TensorInfoDef>();
  const outputs = new Map<string, TensorInfoDef>();
  const defaults = new Map<string, Tensor>();
  let methodName = '';
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    switch (reader.field) {
      case SIGNATURE_DEF.inputs:
        inputs.set(...readInfoEntry(reader.nested('SignatureDef.InputsEntry'), context));
        break;
      case SIGNATURE_DEF.outputs:
        outputs.set(...readInfoEntry(reader.nested('SignatureDef.OutputsEntry'), context));
        break;
      case SIGNATURE_DEF.methodName:
        methodName = reader.string();
        break;
      case SIGNATURE_DEF.defaults: {
        const [alias, tensor] = readMapEntry(
          reader.nested('SignatureDef.DefaultsEntry'),
          (value) => readTensor(value.nested('TensorProto'), context),
          () => undefined,
        );
        if (tensor !== undefined) defaults.set(alias, tensor);
        break;
      }
      default:
        reader.skip();
    }
  }
  return { methodName, inputs, outputs, defaults };
}

function readInfoEntry(reader: WireReader, context: ReadContext): readonly [string, TensorInfoDef] {
  return readMapEntry(
    reader,
    (value) => readTensorInfo(value.nested('TensorInfo'), context),
    () => EMPTY_INFO,
  );
}

export function readTensorInfo(reader: WireReader, context: ReadContext, depth = 0): TensorInfoDef {
  context.count(OBJECT_ITEMS);
  let encoding: Pick<TensorInfoDef, 'name' | 'cooSparse' | 'composite'> = { name: '' };
  let dtypeCode = 0;
  let shape: TensorShapeDef | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case TENSOR_INFO.name:
        encoding = { name: reader.string() };
        break;
      case TENSOR_INFO.dtype:
        reader.varint();
        dtypeCode = reader.low;
        break;
      case TENSOR_INFO.tensorShape:
        shape = readShapeDef(reader.nested('TensorShapeProto'));
        context.count(shape.dims.length);
        break;
      case TENSOR_INFO.cooSparse:
        encoding = { cooSparse: readCooSparse(reader.nested('TensorInfo.CooSparse')) };
        break;
      case TENSOR_INFO.compositeTensor:
        encoding = { composite: readComposite(reader, context, depth) };
        break;
      default:
        reader.skip();
    }
  }
  return shape === undefined ? { ...encoding, dtypeCode } : { ...encoding, dtypeCode, shape };
}

function readCooSparse(reader: WireReader): CooSparse {
  const names = { values: '', indices: '', shape: '' };
  while (reader.next()) {
    if (reader.field === COO_SPARSE.valuesTensorName) names.values = reader.string();
    else if (reader.field === COO_SPARSE.indicesTensorName) names.indices = reader.string();
    else if (reader.field === COO_SPARSE.denseShapeTensorName) names.shape = reader.string();
    else reader.skip();
  }
  return names;
}

function readComposite(
  outer: WireReader,
  context: ReadContext,
  depth: number,
): readonly TensorInfoDef[] {
  if (depth >= NESTING_MAX) {
    throw modelInvalid(`TensorInfo: expected composites at most ${NESTING_MAX} deep, got deeper`);
  }
  const reader = outer.nested('TensorInfo.CompositeTensor');
  const components: TensorInfoDef[] = [];
  while (reader.next()) {
    if (reader.field !== COMPOSITE_TENSOR.components) reader.skip();
    else components.push(readTensorInfo(reader.nested('TensorInfo'), context, depth + 1));
  }
  return components;
}

export function readAssetFileDef(reader: WireReader, context: ReadContext): AssetBinding {
  const binding = { tensorName: '', fileName: '' };
  context.count(OBJECT_ITEMS);
  while (reader.next()) {
    if (reader.field === ASSET_FILE_DEF.tensorInfo) {
      binding.tensorName = readTensorInfo(reader.nested('TensorInfo'), context).name ?? '';
    } else if (reader.field === ASSET_FILE_DEF.filename) {
      binding.fileName = reader.string();
    } else {
      reader.skip();
    }
  }
  return binding;
}
