// What TensorFlow Lite's files contain, and how it is read. Importer's worker thread; pure. Generated from proto/tflite.fbs by proto/generate.mjs.
import type { FlatTable, Span } from '../../../../base/flat-reader.js';

const optional = <T>(
  from: FlatTable | undefined,
  read: (from: FlatTable) => T,
): T | undefined => (from === undefined ? undefined : read(from));

export const TENSOR_TYPE: readonly string[] = ['FLOAT32', 'FLOAT16', 'INT32', 'UINT8', 'INT64', 'STRING', 'BOOL', 'INT16', 'COMPLEX64', 'INT8', 'FLOAT64', 'COMPLEX128', 'UINT64', 'RESOURCE', 'VARIANT', 'UINT32', 'UINT16', 'INT4', 'BFLOAT16'];

export const BUILTIN_OPERATOR: readonly string[] = ['ADD', 'AVERAGE_POOL_2D', 'CONCATENATION', 'CONV_2D', 'DEPTHWISE_CONV_2D', 'DEPTH_TO_SPACE', 'DEQUANTIZE', 'EMBEDDING_LOOKUP', 'FLOOR', 'FULLY_CONNECTED', 'HASHTABLE_LOOKUP', 'L2_NORMALIZATION', 'L2_POOL_2D', 'LOCAL_RESPONSE_NORMALIZATION', 'LOGISTIC', 'LSH_PROJECTION', 'LSTM', 'MAX_POOL_2D', 'MUL', 'RELU', 'RELU_N1_TO_1', 'RELU6', 'RESHAPE', 'RESIZE_BILINEAR', 'RNN', 'SOFTMAX', 'SPACE_TO_DEPTH', 'SVDF', 'TANH', 'CONCAT_EMBEDDINGS', 'SKIP_GRAM', 'CALL', 'CUSTOM', 'EMBEDDING_LOOKUP_SPARSE', 'PAD', 'UNIDIRECTIONAL_SEQUENCE_RNN', 'GATHER', 'BATCH_TO_SPACE_ND', 'SPACE_TO_BATCH_ND', 'TRANSPOSE', 'MEAN', 'SUB', 'DIV', 'SQUEEZE', 'UNIDIRECTIONAL_SEQUENCE_LSTM', 'STRIDED_SLICE', 'BIDIRECTIONAL_SEQUENCE_RNN', 'EXP', 'TOPK_V2', 'SPLIT', 'LOG_SOFTMAX', 'DELEGATE', 'BIDIRECTIONAL_SEQUENCE_LSTM', 'CAST', 'PRELU', 'MAXIMUM', 'ARG_MAX', 'MINIMUM', 'LESS', 'NEG', 'PADV2', 'GREATER', 'GREATER_EQUAL', 'LESS_EQUAL', 'SELECT', 'SLICE', 'SIN', 'TRANSPOSE_CONV', 'SPARSE_TO_DENSE', 'TILE', 'EXPAND_DIMS', 'EQUAL', 'NOT_EQUAL', 'LOG', 'SUM', 'SQRT', 'RSQRT', 'SHAPE', 'POW', 'ARG_MIN', 'FAKE_QUANT', 'REDUCE_PROD', 'REDUCE_MAX', 'PACK', 'LOGICAL_OR', 'ONE_HOT', 'LOGICAL_AND', 'LOGICAL_NOT', 'UNPACK', 'REDUCE_MIN', 'FLOOR_DIV', 'REDUCE_ANY', 'SQUARE', 'ZEROS_LIKE', 'FILL', 'FLOOR_MOD', 'RANGE', 'RESIZE_NEAREST_NEIGHBOR', 'LEAKY_RELU', 'SQUARED_DIFFERENCE', 'MIRROR_PAD', 'ABS', 'SPLIT_V', 'UNIQUE', 'CEIL', 'REVERSE_V2', 'ADD_N', 'GATHER_ND', 'COS', 'WHERE', 'RANK', 'ELU', 'REVERSE_SEQUENCE', 'MATRIX_DIAG', 'QUANTIZE', 'MATRIX_SET_DIAG', 'ROUND', 'HARD_SWISH', 'IF', 'WHILE', 'NON_MAX_SUPPRESSION_V4', 'NON_MAX_SUPPRESSION_V5', 'SCATTER_ND', 'SELECT_V2', 'DENSIFY', 'SEGMENT_SUM', 'BATCH_MATMUL', 'PLACEHOLDER_FOR_GREATER_OP_CODES', 'CUMSUM', 'CALL_ONCE', 'BROADCAST_TO', 'RFFT2D', 'CONV_3D', 'IMAG', 'REAL', 'COMPLEX_ABS', 'HASHTABLE', 'HASHTABLE_FIND', 'HASHTABLE_IMPORT', 'HASHTABLE_SIZE', 'REDUCE_ALL', 'CONV_3D_TRANSPOSE', 'VAR_HANDLE', 'READ_VARIABLE', 'ASSIGN_VARIABLE', 'BROADCAST_ARGS', 'RANDOM_STANDARD_NORMAL', 'BUCKETIZE', 'RANDOM_UNIFORM', 'MULTINOMIAL', 'GELU', 'DYNAMIC_UPDATE_SLICE', 'RELU_0_TO_1', 'UNSORTED_SEGMENT_PROD', 'UNSORTED_SEGMENT_MAX', 'UNSORTED_SEGMENT_SUM', 'ATAN2', 'UNSORTED_SEGMENT_MIN', 'SIGN', 'BITCAST', 'BITWISE_XOR', 'RIGHT_SHIFT', 'STABLEHLO_LOGISTIC', 'STABLEHLO_ADD', 'STABLEHLO_DIVIDE', 'STABLEHLO_MULTIPLY', 'STABLEHLO_MAXIMUM', 'STABLEHLO_RESHAPE', 'STABLEHLO_CLAMP', 'STABLEHLO_CONCATENATE', 'STABLEHLO_BROADCAST_IN_DIM', 'STABLEHLO_CONVOLUTION', 'STABLEHLO_SLICE', 'STABLEHLO_CUSTOM_CALL', 'STABLEHLO_REDUCE', 'STABLEHLO_ABS', 'STABLEHLO_AND', 'STABLEHLO_COSINE', 'STABLEHLO_EXPONENTIAL', 'STABLEHLO_FLOOR', 'STABLEHLO_LOG', 'STABLEHLO_MINIMUM', 'STABLEHLO_NEGATE', 'STABLEHLO_OR', 'STABLEHLO_POWER', 'STABLEHLO_REMAINDER', 'STABLEHLO_RSQRT', 'STABLEHLO_SELECT', 'STABLEHLO_SUBTRACT', 'STABLEHLO_TANH', 'STABLEHLO_SCATTER', 'STABLEHLO_COMPARE', 'STABLEHLO_CONVERT', 'STABLEHLO_DYNAMIC_SLICE', 'STABLEHLO_DYNAMIC_UPDATE_SLICE', 'STABLEHLO_PAD', 'STABLEHLO_IOTA', 'STABLEHLO_DOT_GENERAL', 'STABLEHLO_REDUCE_WINDOW', 'STABLEHLO_SORT', 'STABLEHLO_WHILE', 'STABLEHLO_GATHER', 'STABLEHLO_TRANSPOSE', 'DILATE', 'STABLEHLO_RNG_BIT_GENERATOR', 'REDUCE_WINDOW', 'STABLEHLO_COMPOSITE'];

export const PADDING: readonly string[] = ['SAME', 'VALID'];

export const ACTIVATION: readonly string[] = ['NONE', 'RELU', 'RELU_N1_TO_1', 'RELU6', 'TANH', 'SIGN_BIT'];

export interface Conv2DOptions {
  readonly padding: number;
  readonly strideW: number;
  readonly strideH: number;
  readonly fusedActivationFunction: number;
  readonly dilationWFactor: number;
  readonly dilationHFactor: number;
}

export const readConv2DOptions = (from: FlatTable): Conv2DOptions => ({
  padding: from.byte(0, 0),
  strideW: from.int(1, 0),
  strideH: from.int(2, 0),
  fusedActivationFunction: from.byte(3, 0),
  dilationWFactor: from.int(4, 1),
  dilationHFactor: from.int(5, 1),
});

export interface DepthwiseConv2DOptions {
  readonly padding: number;
  readonly strideW: number;
  readonly strideH: number;
  readonly depthMultiplier: number;
  readonly fusedActivationFunction: number;
  readonly dilationWFactor: number;
  readonly dilationHFactor: number;
}

export const readDepthwiseConv2DOptions = (from: FlatTable): DepthwiseConv2DOptions => ({
  padding: from.byte(0, 0),
  strideW: from.int(1, 0),
  strideH: from.int(2, 0),
  depthMultiplier: from.int(3, 0),
  fusedActivationFunction: from.byte(4, 0),
  dilationWFactor: from.int(5, 1),
  dilationHFactor: from.int(6, 1),
});

export interface Pool2DOptions {
  readonly padding: number;
  readonly strideW: number;
  readonly strideH: number;
  readonly filterWidth: number;
  readonly filterHeight: number;
  readonly fusedActivationFunction: number;
}

export const readPool2DOptions = (from: FlatTable): Pool2DOptions => ({
  padding: from.byte(0, 0),
  strideW: from.int(1, 0),
  strideH: from.int(2, 0),
  filterWidth: from.int(3, 0),
  filterHeight: from.int(4, 0),
  fusedActivationFunction: from.byte(5, 0),
});

export interface FullyConnectedOptions {
  readonly fusedActivationFunction: number;
  readonly weightsFormat: number;
  readonly keepNumDims: boolean;
}

export const readFullyConnectedOptions = (from: FlatTable): FullyConnectedOptions => ({
  fusedActivationFunction: from.byte(0, 0),
  weightsFormat: from.byte(1, 0),
  keepNumDims: from.flag(2, false),
});

export interface SoftmaxOptions {
  readonly beta: number;
}

export const readSoftmaxOptions = (from: FlatTable): SoftmaxOptions => ({
  beta: from.float(0, 0),
});

export interface ConcatenationOptions {
  readonly axis: number;
  readonly fusedActivationFunction: number;
}

export const readConcatenationOptions = (from: FlatTable): ConcatenationOptions => ({
  axis: from.int(0, 0),
  fusedActivationFunction: from.byte(1, 0),
});

export interface AddOptions {
  readonly fusedActivationFunction: number;
}

export const readAddOptions = (from: FlatTable): AddOptions => ({
  fusedActivationFunction: from.byte(0, 0),
});

export interface MulOptions {
  readonly fusedActivationFunction: number;
}

export const readMulOptions = (from: FlatTable): MulOptions => ({
  fusedActivationFunction: from.byte(0, 0),
});

export interface SubOptions {
  readonly fusedActivationFunction: number;
}

export const readSubOptions = (from: FlatTable): SubOptions => ({
  fusedActivationFunction: from.byte(0, 0),
});

export interface DivOptions {
  readonly fusedActivationFunction: number;
}

export const readDivOptions = (from: FlatTable): DivOptions => ({
  fusedActivationFunction: from.byte(0, 0),
});

export interface L2NormOptions {
  readonly fusedActivationFunction: number;
}

export const readL2NormOptions = (from: FlatTable): L2NormOptions => ({
  fusedActivationFunction: from.byte(0, 0),
});

export interface LocalResponseNormalizationOptions {
  readonly radius: number;
  readonly bias: number;
  readonly alpha: number;
  readonly beta: number;
}

export const readLocalResponseNormalizationOptions = (from: FlatTable): LocalResponseNormalizationOptions => ({
  radius: from.int(0, 0),
  bias: from.float(1, 0),
  alpha: from.float(2, 0),
  beta: from.float(3, 0),
});

export interface ResizeBilinearOptions {
  readonly newHeight: number;
  readonly newWidth: number;
  readonly alignCorners: boolean;
  readonly halfPixelCenters: boolean;
}

export const readResizeBilinearOptions = (from: FlatTable): ResizeBilinearOptions => ({
  newHeight: from.int(0, 0),
  newWidth: from.int(1, 0),
  alignCorners: from.flag(2, false),
  halfPixelCenters: from.flag(3, false),
});

export interface ReshapeOptions {
  readonly newShape: Int32Array;
}

export const readReshapeOptions = (from: FlatTable): ReshapeOptions => ({
  newShape: from.ints(0),
});

export interface SpaceToDepthOptions {
  readonly blockSize: number;
}

export const readSpaceToDepthOptions = (from: FlatTable): SpaceToDepthOptions => ({
  blockSize: from.int(0, 0),
});

export interface DepthToSpaceOptions {
  readonly blockSize: number;
}

export const readDepthToSpaceOptions = (from: FlatTable): DepthToSpaceOptions => ({
  blockSize: from.int(0, 0),
});

export interface GatherOptions {
  readonly axis: number;
  readonly batchDims: number;
}

export const readGatherOptions = (from: FlatTable): GatherOptions => ({
  axis: from.int(0, 0),
  batchDims: from.int(1, 0),
});

export interface ReducerOptions {
  readonly keepDims: boolean;
}

export const readReducerOptions = (from: FlatTable): ReducerOptions => ({
  keepDims: from.flag(0, false),
});

export interface SqueezeOptions {
  readonly squeezeDims: Int32Array;
}

export const readSqueezeOptions = (from: FlatTable): SqueezeOptions => ({
  squeezeDims: from.ints(0),
});

export interface SequenceRNNOptions {
  readonly timeMajor: boolean;
  readonly fusedActivationFunction: number;
}

export const readSequenceRNNOptions = (from: FlatTable): SequenceRNNOptions => ({
  timeMajor: from.flag(0, false),
  fusedActivationFunction: from.byte(1, 0),
});

export interface UnidirectionalSequenceLSTMOptions {
  readonly fusedActivationFunction: number;
  readonly cellClip: number;
  readonly projClip: number;
  readonly timeMajor: boolean;
  readonly asymmetricQuantizeInputs: boolean;
  readonly diagonalRecurrentTensors: boolean;
}

export const readUnidirectionalSequenceLSTMOptions = (from: FlatTable): UnidirectionalSequenceLSTMOptions => ({
  fusedActivationFunction: from.byte(0, 0),
  cellClip: from.float(1, 0),
  projClip: from.float(2, 0),
  timeMajor: from.flag(3, false),
  asymmetricQuantizeInputs: from.flag(4, false),
  diagonalRecurrentTensors: from.flag(5, false),
});

export interface StridedSliceOptions {
  readonly beginMask: number;
  readonly endMask: number;
  readonly ellipsisMask: number;
  readonly newAxisMask: number;
  readonly shrinkAxisMask: number;
  readonly offset: boolean;
}

export const readStridedSliceOptions = (from: FlatTable): StridedSliceOptions => ({
  beginMask: from.int(0, 0),
  endMask: from.int(1, 0),
  ellipsisMask: from.int(2, 0),
  newAxisMask: from.int(3, 0),
  shrinkAxisMask: from.int(4, 0),
  offset: from.flag(5, false),
});

export interface SplitOptions {
  readonly numSplits: number;
}

export const readSplitOptions = (from: FlatTable): SplitOptions => ({
  numSplits: from.int(0, 0),
});

export interface SplitVOptions {
  readonly numSplits: number;
}

export const readSplitVOptions = (from: FlatTable): SplitVOptions => ({
  numSplits: from.int(0, 0),
});

export interface ArgMaxOptions {
  readonly outputType: number;
}

export const readArgMaxOptions = (from: FlatTable): ArgMaxOptions => ({
  outputType: from.byte(0, 0),
});

export interface ArgMinOptions {
  readonly outputType: number;
}

export const readArgMinOptions = (from: FlatTable): ArgMinOptions => ({
  outputType: from.byte(0, 0),
});

export interface TransposeConvOptions {
  readonly padding: number;
  readonly strideW: number;
  readonly strideH: number;
  readonly fusedActivationFunction: number;
}

export const readTransposeConvOptions = (from: FlatTable): TransposeConvOptions => ({
  padding: from.byte(0, 0),
  strideW: from.int(1, 0),
  strideH: from.int(2, 0),
  fusedActivationFunction: from.byte(3, 0),
});

export interface ShapeOptions {
  readonly outType: number;
}

export const readShapeOptions = (from: FlatTable): ShapeOptions => ({
  outType: from.byte(0, 0),
});

export interface FakeQuantOptions {
  readonly min: number;
  readonly max: number;
  readonly numBits: number;
  readonly narrowRange: boolean;
}

export const readFakeQuantOptions = (from: FlatTable): FakeQuantOptions => ({
  min: from.float(0, 0),
  max: from.float(1, 0),
  numBits: from.int(2, 0),
  narrowRange: from.flag(3, false),
});

export interface PackOptions {
  readonly valuesCount: number;
  readonly axis: number;
}

export const readPackOptions = (from: FlatTable): PackOptions => ({
  valuesCount: from.int(0, 0),
  axis: from.int(1, 0),
});

export interface OneHotOptions {
  readonly axis: number;
}

export const readOneHotOptions = (from: FlatTable): OneHotOptions => ({
  axis: from.int(0, 0),
});

export interface UnpackOptions {
  readonly num: number;
  readonly axis: number;
}

export const readUnpackOptions = (from: FlatTable): UnpackOptions => ({
  num: from.int(0, 0),
  axis: from.int(1, 0),
});

export interface ResizeNearestNeighborOptions {
  readonly alignCorners: boolean;
  readonly halfPixelCenters: boolean;
}

export const readResizeNearestNeighborOptions = (from: FlatTable): ResizeNearestNeighborOptions => ({
  alignCorners: from.flag(0, false),
  halfPixelCenters: from.flag(1, false),
});

export interface LeakyReluOptions {
  readonly alpha: number;
}

export const readLeakyReluOptions = (from: FlatTable): LeakyReluOptions => ({
  alpha: from.float(0, 0),
});

export interface MirrorPadOptions {
  readonly mode: number;
}

export const readMirrorPadOptions = (from: FlatTable): MirrorPadOptions => ({
  mode: from.byte(0, 0),
});

export interface UniqueOptions {
  readonly idxOutType: number;
}

export const readUniqueOptions = (from: FlatTable): UniqueOptions => ({
  idxOutType: from.byte(0, 2),
});

export interface ReverseSequenceOptions {
  readonly seqDim: number;
  readonly batchDim: number;
}

export const readReverseSequenceOptions = (from: FlatTable): ReverseSequenceOptions => ({
  seqDim: from.int(0, 0),
  batchDim: from.int(1, 0),
});

export interface IfOptions {
  readonly thenSubgraphIndex: number;
  readonly elseSubgraphIndex: number;
}

export const readIfOptions = (from: FlatTable): IfOptions => ({
  thenSubgraphIndex: from.int(0, 0),
  elseSubgraphIndex: from.int(1, 0),
});

export interface WhileOptions {
  readonly condSubgraphIndex: number;
  readonly bodySubgraphIndex: number;
}

export const readWhileOptions = (from: FlatTable): WhileOptions => ({
  condSubgraphIndex: from.int(0, 0),
  bodySubgraphIndex: from.int(1, 0),
});

export interface BatchMatMulOptions {
  readonly adjX: boolean;
  readonly adjY: boolean;
}

export const readBatchMatMulOptions = (from: FlatTable): BatchMatMulOptions => ({
  adjX: from.flag(0, false),
  adjY: from.flag(1, false),
});

export interface CumsumOptions {
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

export const readCumsumOptions = (from: FlatTable): CumsumOptions => ({
  exclusive: from.flag(0, false),
  reverse: from.flag(1, false),
});

export interface Conv3DOptions {
  readonly padding: number;
  readonly strideD: number;
  readonly strideW: number;
  readonly strideH: number;
  readonly fusedActivationFunction: number;
  readonly dilationDFactor: number;
  readonly dilationWFactor: number;
  readonly dilationHFactor: number;
}

export const readConv3DOptions = (from: FlatTable): Conv3DOptions => ({
  padding: from.byte(0, 0),
  strideD: from.int(1, 0),
  strideW: from.int(2, 0),
  strideH: from.int(3, 0),
  fusedActivationFunction: from.byte(4, 0),
  dilationDFactor: from.int(5, 1),
  dilationWFactor: from.int(6, 1),
  dilationHFactor: from.int(7, 1),
});

export interface BucketizeOptions {
  readonly boundaries: Float32Array;
}

export const readBucketizeOptions = (from: FlatTable): BucketizeOptions => ({
  boundaries: from.floats(0),
});

export interface GeluOptions {
  readonly approximate: boolean;
}

export const readGeluOptions = (from: FlatTable): GeluOptions => ({
  approximate: from.flag(0, false),
});

export interface CallOptions {
  readonly subgraph: number;
}

export const readCallOptions = (from: FlatTable): CallOptions => ({
  subgraph: from.uint(0, 0),
});

export interface CustomQuantization {
  readonly custom: Span;
}

export const readCustomQuantization = (from: FlatTable): CustomQuantization => ({
  custom: from.span(0),
});

export interface Quantization {
  readonly min: Float32Array;
  readonly max: Float32Array;
  readonly scale: Float32Array;
  readonly zeroPoint: readonly number[];
  readonly detailsType: number;
  readonly details: CustomQuantization | undefined;
  readonly quantizedDimension: number;
}

export const readQuantization = (from: FlatTable): Quantization => ({
  min: from.floats(0),
  max: from.floats(1),
  scale: from.floats(2),
  zeroPoint: from.longs(3),
  detailsType: from.byte(4, 0),
  details: optional(from.table(5), readCustomQuantization),
  quantizedDimension: from.int(6, 0),
});

export interface Sparsity {
  readonly traversalOrder: Int32Array;
}

export const readSparsity = (from: FlatTable): Sparsity => ({
  traversalOrder: from.ints(0),
});

export interface Tensor {
  readonly shape: Int32Array;
  readonly type: number;
  readonly buffer: number;
  readonly name: string;
  readonly quantization: Quantization | undefined;
  readonly isVariable: boolean;
  readonly sparsity: Sparsity | undefined;
  readonly shapeSignature: Int32Array;
  readonly hasRank: boolean;
}

export const readTensor = (from: FlatTable): Tensor => ({
  shape: from.ints(0),
  type: from.byte(1, 0),
  buffer: from.uint(2, 0),
  name: from.text(3),
  quantization: optional(from.table(4), readQuantization),
  isVariable: from.flag(5, false),
  sparsity: optional(from.table(6), readSparsity),
  shapeSignature: from.ints(7),
  hasRank: from.flag(8, false),
});

export interface OperatorCode {
  readonly deprecatedBuiltinCode: number;
  readonly customCode: string;
  readonly version: number;
  readonly builtinCode: number;
}

export const readOperatorCode = (from: FlatTable): OperatorCode => ({
  deprecatedBuiltinCode: from.byte(0, 0),
  customCode: from.text(1),
  version: from.int(2, 1),
  builtinCode: from.int(3, 0),
});

export interface Operator {
  readonly opcodeIndex: number;
  readonly inputs: Int32Array;
  readonly outputs: Int32Array;
  readonly builtinOptionsType: number;
  readonly builtinOptions?: FlatTable | undefined;
}

export const readOperator = (from: FlatTable): Operator => ({
  opcodeIndex: from.uint(0, 0),
  inputs: from.ints(1),
  outputs: from.ints(2),
  builtinOptionsType: from.byte(3, 0),
  builtinOptions: from.table(4),
});

export interface SubGraph {
  readonly tensors: readonly Tensor[];
  readonly inputs: Int32Array;
  readonly outputs: Int32Array;
  readonly operators: readonly Operator[];
  readonly name: string;
}

export const readSubGraph = (from: FlatTable): SubGraph => ({
  tensors: from.tables(0).map(readTensor),
  inputs: from.ints(1),
  outputs: from.ints(2),
  operators: from.tables(3).map(readOperator),
  name: from.text(4),
});

export interface Buffer {
  readonly data: Span;
  readonly offset: number;
  readonly size: number;
}

export const readBuffer = (from: FlatTable): Buffer => ({
  data: from.span(0),
  offset: from.ulong(1, 0),
  size: from.ulong(2, 0),
});

export interface Metadata {
  readonly name: string;
  readonly buffer: number;
}

export const readMetadata = (from: FlatTable): Metadata => ({
  name: from.text(0),
  buffer: from.uint(1, 0),
});

export interface TensorMap {
  readonly name: string;
  readonly tensorIndex: number;
}

export const readTensorMap = (from: FlatTable): TensorMap => ({
  name: from.text(0),
  tensorIndex: from.uint(1, 0),
});

export interface SignatureDef {
  readonly inputs: readonly TensorMap[];
  readonly outputs: readonly TensorMap[];
  readonly signatureKey: string;
  readonly deprecatedTag: string;
  readonly subgraphIndex: number;
}

export const readSignatureDef = (from: FlatTable): SignatureDef => ({
  inputs: from.tables(0).map(readTensorMap),
  outputs: from.tables(1).map(readTensorMap),
  signatureKey: from.text(2),
  deprecatedTag: from.text(3),
  subgraphIndex: from.uint(4, 0),
});

export interface Model {
  readonly version: number;
  readonly operatorCodes: readonly OperatorCode[];
  readonly subgraphs: readonly SubGraph[];
  readonly description: string;
  readonly buffers: readonly Buffer[];
  readonly metadataBuffer: Int32Array;
  readonly metadata: readonly Metadata[];
  readonly signatureDefs: readonly SignatureDef[];
}

export const readModel = (from: FlatTable): Model => ({
  version: from.uint(0, 0),
  operatorCodes: from.tables(1).map(readOperatorCode),
  subgraphs: from.tables(2).map(readSubGraph),
  description: from.text(3),
  buffers: from.tables(4).map(readBuffer),
  metadataBuffer: from.ints(5),
  metadata: from.tables(6).map(readMetadata),
  signatureDefs: from.tables(7).map(readSignatureDef),
});

/** Options of operators: their number in the union, and how they are read. */
export const OPTIONS = {
  Conv2DOptions: { type: 1, read: readConv2DOptions },
  DepthwiseConv2DOptions: { type: 2, read: readDepthwiseConv2DOptions },
  Pool2DOptions: { type: 5, read: readPool2DOptions },
  FullyConnectedOptions: { type: 8, read: readFullyConnectedOptions },
  SoftmaxOptions: { type: 9, read: readSoftmaxOptions },
  ConcatenationOptions: { type: 10, read: readConcatenationOptions },
  AddOptions: { type: 11, read: readAddOptions },
  MulOptions: { type: 21, read: readMulOptions },
  SubOptions: { type: 28, read: readSubOptions },
  DivOptions: { type: 29, read: readDivOptions },
  L2NormOptions: { type: 12, read: readL2NormOptions },
  LocalResponseNormalizationOptions: { type: 13, read: readLocalResponseNormalizationOptions },
  ResizeBilinearOptions: { type: 15, read: readResizeBilinearOptions },
  ReshapeOptions: { type: 17, read: readReshapeOptions },
  SpaceToDepthOptions: { type: 19, read: readSpaceToDepthOptions },
  DepthToSpaceOptions: { type: 94, read: readDepthToSpaceOptions },
  GatherOptions: { type: 23, read: readGatherOptions },
  ReducerOptions: { type: 27, read: readReducerOptions },
  SqueezeOptions: { type: 30, read: readSqueezeOptions },
  SequenceRNNOptions: { type: 31, read: readSequenceRNNOptions },
  UnidirectionalSequenceLSTMOptions: { type: 71, read: readUnidirectionalSequenceLSTMOptions },
  StridedSliceOptions: { type: 32, read: readStridedSliceOptions },
  SplitOptions: { type: 35, read: readSplitOptions },
  SplitVOptions: { type: 79, read: readSplitVOptions },
  ArgMaxOptions: { type: 40, read: readArgMaxOptions },
  ArgMinOptions: { type: 57, read: readArgMinOptions },
  TransposeConvOptions: { type: 49, read: readTransposeConvOptions },
  ShapeOptions: { type: 55, read: readShapeOptions },
  FakeQuantOptions: { type: 58, read: readFakeQuantOptions },
  PackOptions: { type: 59, read: readPackOptions },
  OneHotOptions: { type: 61, read: readOneHotOptions },
  UnpackOptions: { type: 64, read: readUnpackOptions },
  ResizeNearestNeighborOptions: { type: 74, read: readResizeNearestNeighborOptions },
  LeakyReluOptions: { type: 75, read: readLeakyReluOptions },
  MirrorPadOptions: { type: 77, read: readMirrorPadOptions },
  UniqueOptions: { type: 80, read: readUniqueOptions },
  ReverseSequenceOptions: { type: 87, read: readReverseSequenceOptions },
  IfOptions: { type: 92, read: readIfOptions },
  WhileOptions: { type: 93, read: readWhileOptions },
  BatchMatMulOptions: { type: 101, read: readBatchMatMulOptions },
  CumsumOptions: { type: 102, read: readCumsumOptions },
  Conv3DOptions: { type: 106, read: readConv3DOptions },
  BucketizeOptions: { type: 115, read: readBucketizeOptions },
  GeluOptions: { type: 116, read: readGeluOptions },
  CallOptions: { type: 16, read: readCallOptions },
} as const;
