// Decodes WAV files to samples and encodes them, by Serval's own operators. Importer's worker
// thread. Source: tensorflow/core/ops/audio_ops.cc.
import type { Lowering, Operators } from '../../lower/context.js';
import { emit } from '../strings/elements.js';

const decode: Lowering = (cx) => {
  const channels = cx.int('desired_channels', -1);
  const samples = cx.int('desired_samples', -1);
  const known = (dim: number): number | undefined => (dim < 0 ? undefined : dim);
  const audio = { dtype: 'float', shape: [known(samples), known(channels)] } as const;
  return cx.custom('DecodeWav', [cx.tensor(0)], [audio, { dtype: 'int32', shape: [] }], {
    desired_channels: { int: channels },
    desired_samples: { int: samples },
  });
};

const encode: Lowering = (cx) => emit(cx, cx.tensors(0, 2), 'string', []);

export const WAV: Operators = {
  DecodeWav: { lower: decode, dtypes: 'string', note: '16-bit PCM' },
  EncodeWav: { lower: encode, dtypes: 'float' },
};
