// A registry with a TensorFlow model for tests of TensorFlow Serving's documents and calls: every
// form of a signature's tensors, and one signature that is not served.
import type {
  RegistrySnapshot,
  SignatureDefDoc,
  TensorInfoDoc,
} from '../../../../ts/model/snapshot.js';
import { INPUT, OUTPUT, model, registry, version } from '../snapshots.js';

const dims = (...sizes: readonly string[]): NonNullable<TensorInfoDoc['shape']> => ({
  unknownRank: false,
  dims: sizes.map((size) => ({ size, name: '' })),
});

/** A TensorProto: FLOAT, shape [1], float_val 0.1. */
export const DEFAULT_X = Buffer.from('08011204120208012a04cdcccc3d', 'hex');

const METHOD = 'tensorflow/serving/';

export const PREDICT_DOC: SignatureDefDoc = {
  methodName: `${METHOD}predict`,
  inputs: [['x', { name: 'x:0', dtypeCode: 1, shape: dims('-1', '1') }]],
  outputs: [
    ['y', { name: 'y:0', dtypeCode: 101, shape: dims('-1', '1') }],
    ['z', { name: 'z:1', dtypeCode: 7 }],
  ],
  defaults: [['x', DEFAULT_X.toString('base64')]],
};

const EXAMPLES: TensorInfoDoc = { name: 'tf_example:0', dtypeCode: 7 };

const CLASSIFY_DOC: SignatureDefDoc = {
  methodName: `${METHOD}classify`,
  inputs: [['inputs', EXAMPLES]],
  outputs: [['scores', { name: 'y:0', dtypeCode: 1, shape: { unknownRank: true, dims: [] } }]],
  defaults: [],
};

const REGRESS_DOC: SignatureDefDoc = {
  methodName: `${METHOD}regress`,
  inputs: [['inputs', EXAMPLES]],
  outputs: [['outputs', { name: 'y:0', dtypeCode: 1 }]],
  defaults: [],
};

const ODD_DOC: SignatureDefDoc = {
  methodName: '',
  inputs: [
    ['sparse', { cooSparse: { values: 'v:0', indices: 'i:0', shape: 's:0' }, dtypeCode: 9 }],
    ['ragged', { composite: [EXAMPLES, EXAMPLES], dtypeCode: 77 }],
  ],
  outputs: [],
  defaults: [],
};

const named = (
  name: string,
  doc: SignatureDefDoc,
): {
  name: string;
  inputs: (typeof INPUT)[];
  outputs: (typeof OUTPUT)[];
  methodName: string;
} => ({
  name,
  methodName: doc.methodName,
  inputs: doc.inputs.map(([alias]) => ({ ...INPUT, name: alias })),
  outputs: doc.outputs.map(([alias]) => ({ ...OUTPUT, name: alias })),
});

const tensorflow = version('7', 'AVAILABLE', {
  format: 'tensorflow',
  platform: 'tensorflow_savedmodel',
  signatures: [
    named('serving_default', PREDICT_DOC),
    named('c', CLASSIFY_DOC),
    named('r', REGRESS_DOC),
  ],
  signatureDefs: {
    all: [
      ['__saved_model_init_op', ODD_DOC],
      ['c', CLASSIFY_DOC],
      ['r', REGRESS_DOC],
      ['serving_default', PREDICT_DOC],
      ['sparse', ODD_DOC],
    ],
    blocked: { sparse: 'operator SparseFoo is not supported' },
  },
});

/** "tf" version 7 (label "stable") beside a failed 8, and the ONNX model "m" version 3. */
export const SERVING_REGISTRY: RegistrySnapshot = registry([
  model('tf', [version('8', 'END', { errorCode: 15, errorMessage: 'cut short' }), tensorflow], {
    stable: '7',
    next: '8',
  }),
  model('m', [version('3')]),
]);
