// All operators that can be lowered, by TensorFlow's name. A family adds its groups here.
// Importer's worker thread.
import type { Operators } from '../lower/context.js';
import { ACTIVATION } from './arithmetic/activation.js';
import { WAV } from './audio/wav.js';
import { BINARY } from './arithmetic/binary.js';
import { BITWISE } from './arithmetic/bits.js';
import { DIVISION } from './arithmetic/division.js';
import { GAMMA } from './arithmetic/gamma.js';
import { RANDOM } from './arithmetic/random.js';
import { SPECIAL } from './arithmetic/special.js';
import { TRIGONOMETRY } from './arithmetic/trigonometry.js';
import { UNARY } from './arithmetic/unary.js';
import { COMPLEX_ONLY } from './complex/arithmetic.js';
import { FOURIER } from './complex/fourier.js';
import { withComplex } from './complex/index.js';
import { ARRAYS } from './control-flow/arrays.js';
import { BRANCHES } from './control-flow/branch.js';
import { LISTS } from './control-flow/lists.js';
import { VARIANTS } from './control-flow/variants.js';
import { LOOPS } from './control-flow/loop.js';
import { CTC } from './decoders/ctc.js';
import { DIAGONALS } from './linear/diagonals.js';
import { EINSUM } from './linear/einsum.js';
import { CROSS } from './linear/cross.js';
import { DECOMPOSE } from './linear/decompose.js';
import { MATMUL } from './linear/matmul.js';
import { PROTOS } from './protos/index.js';
import { ARG } from './reduce/arg.js';
import { HISTOGRAM } from './reduce/histogram.js';
import { LOSSES } from './reduce/losses.js';
import { REDUCE } from './reduce/reduce.js';
import { SCAN } from './reduce/scan.js';
import { BLOCK_CELLS } from './rnn/block-cells.js';
import { REVERSE_SEQUENCE } from './rnn/reverse-sequence.js';
import { COMPARE } from './select/compare.js';
import { SELECT } from './select/select.js';
import { TOP_K } from './select/top-k.js';
import { BITCAST } from './shape/bitcast.js';
import { DYNAMIC_SLICE } from './shape/dynamic-slice.js';
import { FILL } from './shape/fill.js';
import { GATHER } from './shape/gather.js';
import { JOIN } from './shape/join.js';
import { PAD } from './shape/pad.js';
import { RESHAPE } from './shape/reshape.js';
import { REVERSE } from './shape/reverse.js';
import { SLICE } from './shape/slice.js';
import { STRIDED_SLICE } from './shape/strided-slice.js';
import { STRINGS } from './strings/index.js';
import { IMAGE_BYTES } from './image-bytes/index.js';
import { FEATURES } from './features/index.js';
import { FORESTS } from './forests/index.js';
import { BOOSTED_TREES } from './trees/boosted.js';
import { CONV } from './conv/conv.js';
import { TRANSPOSED_CONV } from './conv/transposed.js';
import { POOL } from './conv/pool.js';
import { BATCH_NORM } from './norm/batch-norm.js';
import { LOCAL_NORM } from './norm/lrn.js';
import { SPACE_BATCH } from './image/space-batch.js';
import { PATCHES } from './image/patches.js';
import { RESIZE } from './image/resize.js';
import { RESIZE_AREA } from './image/resize-area.js';
import { RESIZE_BICUBIC } from './image/resize-bicubic.js';
import { CROP } from './image/crop.js';
import { SUPPRESSION } from './image/suppression.js';
import { COMBINED_SUPPRESSION } from './image/combined-suppression.js';
import { COLOURS } from './image/colours.js';
import { FAKE_QUANT } from './quantize/fake-quant.js';
import { QUANTIZE } from './quantize/quantize.js';
import { FUSED } from './conv/fused.js';
import { TRANSFORM } from './image/transform.js';
import { SCALE_TRANSLATE } from './image/scale-translate.js';
import { CONSTANTS } from './plumbing/constants.js';
import { PASS_THROUGH } from './plumbing/pass-through.js';
import { VARIABLES } from './plumbing/variables.js';

export const OPERATORS: Operators = withComplex({
  ...ACTIVATION,
  ...BINARY,
  ...BITWISE,
  ...DIVISION,
  ...GAMMA,
  ...RANDOM,
  ...SPECIAL,
  ...TRIGONOMETRY,
  ...UNARY,
  ...COMPLEX_ONLY,
  ...FOURIER,
  ...ARRAYS,
  ...BRANCHES,
  ...LISTS,
  ...VARIANTS,
  ...LOOPS,
  ...CTC,
  ...WAV,
  ...PROTOS,
  ...DIAGONALS,
  ...EINSUM,
  ...CROSS,
  ...DECOMPOSE,
  ...MATMUL,
  ...ARG,
  ...HISTOGRAM,
  ...LOSSES,
  ...REDUCE,
  ...SCAN,
  ...BLOCK_CELLS,
  ...REVERSE_SEQUENCE,
  ...COMPARE,
  ...SELECT,
  ...TOP_K,
  ...BITCAST,
  ...DYNAMIC_SLICE,
  ...FILL,
  ...GATHER,
  ...JOIN,
  ...PAD,
  ...RESHAPE,
  ...REVERSE,
  ...SLICE,
  ...STRIDED_SLICE,
  ...STRINGS,
  ...IMAGE_BYTES,
  ...FEATURES,
  ...BOOSTED_TREES,
  ...FORESTS,
  ...CONV,
  ...TRANSPOSED_CONV,
  ...POOL,
  ...BATCH_NORM,
  ...LOCAL_NORM,
  ...SPACE_BATCH,
  ...PATCHES,
  ...RESIZE,
  ...RESIZE_AREA,
  ...RESIZE_BICUBIC,
  ...CROP,
  ...SUPPRESSION,
  ...COMBINED_SUPPRESSION,
  ...COLOURS,
  ...FAKE_QUANT,
  ...QUANTIZE,
  ...FUSED,
  ...TRANSFORM,
  ...SCALE_TRANSLATE,
  ...CONSTANTS,
  ...PASS_THROUGH,
  ...VARIABLES,
});
