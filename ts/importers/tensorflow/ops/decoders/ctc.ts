// CTC decoders: label sequences as sparse tensors, by Serval's own operators. Source:
// tensorflow/core/kernels/ctc_decoder_ops.cc. Importer's worker thread.
import type { OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes, OutputSpec } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';

/** Maximum paths of one row: each is three outputs of the graph. */
const PATHS_MAX = 10_000;

/** Indices, values and shapes of `paths` sparse tensors, then the scores of each row's paths. */
function decoded(
  cx: OpContext,
  name: string,
  paths: number,
  attributes: OnnxAttributes,
): TensorValue[] {
  const [scores, lengths] = [cx.tensor(0), cx.tensor(1)];
  if (scores.dtype !== 'float' && scores.dtype !== 'double') {
    cx.fail(`input 0: expected float or double, got ${cx.describe(scores)}`);
  }
  const rows = scores.shape?.[1] ?? lengths.shape?.[0];
  const each = (shape: OutputSpec['shape']): OutputSpec[] =>
    Array.from({ length: paths }, () => ({ dtype: 'int64', shape }));
  const outputs: OutputSpec[] = [
    ...each([undefined, 2]),
    ...each([undefined]),
    ...each([2]),
    { dtype: scores.dtype, shape: [rows, paths] },
  ];
  return cx.custom(name, [scores, cx.cast(lengths, 'int32')], outputs, {
    ...attributes,
    merge_repeated: { int: cx.bool('merge_repeated', name === 'CTCBeamSearchDecoder') ? 1 : 0 },
  });
}

const TYPES = 'float, double';

export const CTC: Operators = {
  CTCGreedyDecoder: {
    lower: (cx) =>
      decoded(cx, 'CTCGreedyDecoder', 1, { blank_index: { int: cx.int('blank_index', -1) } }),
    dtypes: TYPES,
  },
  CTCBeamSearchDecoder: {
    lower: (cx) => {
      const [width, paths] = [cx.int('beam_width'), cx.int('top_paths')];
      if (width < 1 || paths < 1 || paths > PATHS_MAX) {
        cx.fail(
          `expected beam_width from 1 and top_paths from 1 to ${PATHS_MAX}, ` +
            `got ${width} and ${paths}`,
        );
      }
      return decoded(cx, 'CTCBeamSearchDecoder', paths, {
        beam_width: { int: width },
        top_paths: { int: paths },
      });
    },
    dtypes: TYPES,
  },
};
