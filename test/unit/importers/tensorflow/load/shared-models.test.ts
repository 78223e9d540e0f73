// TensorFlow Serving's test models and the session bundles beside the checkout: signatures, tags,
// assets, init ops, checkpoints.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { test } from 'node:test';
import { ErrorCode, type ServalError } from '../../../../../ts/base/errors.js';
import { importTensorFlow } from '../../../../../ts/importers/tensorflow/index.js';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import type { LoadedGraph, SignatureDef } from '../../../../../ts/importers/tensorflow/types.js';
import { tempFolder } from '../../../temp-folder.js';
import { MODELS, sharedModel, versionFolders } from './support.js';

/** "method(alias=tensor/dtype ...)->(...)". */
function signatureText({ methodName, inputs, outputs }: SignatureDef): string {
  const list = (infos: typeof inputs): string =>
    [...infos]
      .map(([alias, { name, dtypeCode }]) => `${alias}=${name}/${dtypeCode}`)
      .sort()
      .join(' ');
  return `${methodName.split('/').at(-1)}(${list(inputs)})->(${list(outputs)})`;
}

interface Expected {
  readonly version: string;
  readonly nodes: number;
  readonly signatures: Readonly<Record<string, string>>;
  readonly assets?: readonly string[];
  readonly initOp?: string;
  /** Base names: V2's prefix or V1's files. */
  readonly checkpoint?: string | readonly string[];
  readonly restoreOp?: string;
  readonly warnings?: number;
}

function checkModel(found: LoadedGraph, expected: Expected): void {
  assert.equal(found.tensorflowVersion, expected.version);
  assert.equal(found.graph.nodes.length, expected.nodes);
  assert.deepEqual(
    Object.fromEntries([...found.signatures].map(([key, value]) => [key, signatureText(value)])),
    expected.signatures,
  );
  assert.deepEqual(
    found.assets.map(({ tensorName, fileName }) => `${tensorName}=${fileName}`),
    expected.assets ?? [],
  );
  assert.equal(found.initOp, expected.initOp);
  const { checkpoint } = found;
  assert.deepEqual(
    checkpoint?.version === 1
      ? checkpoint.files.map((file) => basename(file))
      : checkpoint === undefined
        ? undefined
        : basename(checkpoint.prefix),
    expected.checkpoint,
  );
  if (expected.restoreOp !== undefined) assert.equal(found.saver?.restoreOp, expected.restoreOp);
  assert.equal(found.warnings.length, expected.warnings ?? 0, found.warnings.join());
}

const EXAMPLE_MODEL: Readonly<Record<string, string>> = {
  serving_default: 'predict(x=x:0/1)->(y=y:0/1)',
  classify_x_to_y: 'classify(inputs=tf_example:0/7)->(scores=y:0/1)',
  regress_x_to_y: 'regress(inputs=tf_example:0/7)->(outputs=y:0/1)',
  regress_x_to_y2: 'regress(inputs=tf_example:0/7)->(outputs=y2:0/1)',
  regress_x2_to_y3: 'regress(inputs=x2:0/1)->(outputs=y3:0/1)',
};
const CLASSIFY_X2 = { classify_x2_to_y3: 'classify(inputs=x2:0/1)->(scores=y3:0/1)' };
const HALF_PLUS_TWO = {
  signatures: { ...EXAMPLE_MODEL, ...CLASSIFY_X2 },
  assets: ['Const:0=foo.txt'],
  initOp: 'group_deps',
  checkpoint: 'variables',
};
const V1_BUNDLE: Expected = {
  version: '0.12.head',
  nodes: 57,
  assets: ['Const_1:0=hello1.txt', 'Const_2:0=hello2.txt'],
  signatures: {
    serving_default: 'regress(inputs=tf_example:0/7)->(outputs=Identity:0/1)',
    serving_default_from_named: 'predict(x=x:0/1)->(y=y:0/1)',
  },
  initOp: 'group_deps',
  checkpoint: ['export-00000-of-00001'],
  restoreOp: 'save/restore_all',
};
const BAD_BUNDLE: Expected = {
  version: '',
  nodes: 26,
  signatures: {},
  checkpoint: ['export'],
  warnings: 1,
};
const DTYPES = {
  serving_default: 'predict(x=x:0/1)->(y=y:0/1)',
  regress: 'regress(inputs=x:0/1)->(outputs=y:0/1)',
};
const CLASSIFY: Omit<Expected, 'nodes' | 'checkpoint'> = {
  version: '2.21.0',
  assets: ['asset_path:0=v.txt'],
  initOp: 'serving_init',
  signatures: {
    serving_default: 'classify(inputs=x:0/1)->(classes=classes:0/7 scores=scores:0/1)',
    serving_default_from_named: 'predict(x=x:0/1)->(scores=scores:0/1)',
  },
};
const shards = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `export-0000${index}-of-0000${count}`);

const EXPECTED: Readonly<Record<string, Expected>> = {
  'tfserving/saved_model_half_plus_two_2_versions/00000123': {
    version: '1.1.0-rc2',
    nodes: 65,
    ...HALF_PLUS_TWO,
  },
  'tfserving/saved_model_half_plus_two_2_versions/00000124': {
    version: '1.1.0-rc2',
    nodes: 65,
    ...HALF_PLUS_TWO,
  },
  'tfserving/saved_model_half_plus_two_cpu/00000123': {
    ...HALF_PLUS_TWO,
    version: '1.14.0',
    nodes: 74,
    signatures: EXAMPLE_MODEL,
  },
  'tfserving/saved_model_half_plus_two_mlmd/00000123': {
    ...HALF_PLUS_TWO,
    version: '2.1.0',
    nodes: 78,
    signatures: EXAMPLE_MODEL,
  },
  'tfserving/saved_model_half_plus_two_gpu/00000123': {
    ...HALF_PLUS_TWO,
    version: '1.9.0',
    nodes: 58,
    assets: [],
    initOp: 'group_deps_1',
  },
  'tfserving/saved_model_half_plus_two_cpu_with_saved_model_config/00000123': {
    ...HALF_PLUS_TWO,
    version: '2.4.0',
    nodes: 97,
  },
  'tfserving/saved_model_half_plus_three/00000123': {
    ...HALF_PLUS_TWO,
    version: '1.0.0-rc2',
    nodes: 60,
    signatures: {
      serving_default: 'predict(x=x:0/1)->(y=y:0/1)',
      'tensorflow/serving/regress': 'regress(inputs=tf_example:0/1)->(outputs=Identity:0/1)',
    },
  },
  'tfserving/saved_model_half_plus_two_tf2_cpu/00000123': {
    version: '2.14.0',
    nodes: 29,
    assets: ['asset_path_initializer:0=foo.txt'],
    initOp: 'NoOp',
    checkpoint: 'variables',
    restoreOp: 'StatefulPartitionedCall_7',
    signatures: {
      __saved_model_init_op: '()->(__saved_model_init_op=NoOp/0)',
      classify_x2_to_y3:
        'predict(inputs=classify_x2_to_y3_inputs:0/1)->(scores=StatefulPartitionedCall:0/1)',
      classify_x_to_y:
        'predict(inputs=classify_x_to_y_inputs:0/7)->(scores=StatefulPartitionedCall_1:0/1)',
      regress_x2_to_y3:
        'predict(inputs=regress_x2_to_y3_inputs:0/1)->(outputs=StatefulPartitionedCall_2:0/1)',
      regress_x_to_y:
        'predict(inputs=regress_x_to_y_inputs:0/7)->(outputs=StatefulPartitionedCall_3:0/1)',
      regress_x_to_y2:
        'predict(inputs=regress_x_to_y2_inputs:0/7)->(outputs=StatefulPartitionedCall_4:0/1)',
      serving_default: 'predict(x=serving_default_x:0/1)->(y=StatefulPartitionedCall_5:0/1)',
    },
  },
  'tfserving/saved_model_counter/00000123': {
    version: '1.5.0-rc1',
    nodes: 30,
    checkpoint: 'variables',
    restoreOp: 'save/restore_all',
    signatures: {
      get_counter: 'predict()->(output=counter:0/101)',
      incr_counter_by: 'predict(delta=delta:0/1)->(output=incr_counter_by_op/AssignAdd:0/101)',
      incr_counter: 'predict()->(output=incr_counter_op/AssignAdd:0/101)',
      reset_counter: 'predict()->(output=reset_counter_op/Assign:0/101)',
    },
  },
  'tfserving/batching/matrix_half_plus_two/1': {
    version: '1.2.0-rc2',
    nodes: 6,
    signatures: { serving_default: 'predict(x=x:0/1)->(y=y:0/1)' },
  },
  'tfserving/bad_half_plus_two/00000123': BAD_BUNDLE,
  'tfserving/session_bundle/half_plus_two/00000123': V1_BUNDLE,
  'session_bundle/v1_sharded_half_plus_two/00000123': V1_BUNDLE,
  'session_bundle/v1_plain_bad_half_plus_two/00000123': BAD_BUNDLE,
  'session_bundle/v1_plain_half_plus_two/00000123': {
    version: '',
    nodes: 27,
    checkpoint: ['export'],
    signatures: { serving_default: 'predict(x=Placeholder:0/1)->(y=Add:0/1)' },
  },
  'session_bundle/v2_half_plus_two/00000123': {
    version: '0.12.head',
    nodes: 27,
    checkpoint: 'export',
    signatures: {
      serving_default: 'predict(x=Placeholder:0/1)->(y=Add:0/1)',
      regress: 'regress(inputs=Placeholder:0/1)->(outputs=Add:0/1)',
    },
  },
  'session_bundle/generated/v1_plain_dtypes/00000123': {
    version: '2.21.0',
    nodes: 134,
    checkpoint: ['export'],
    signatures: DTYPES,
  },
  'session_bundle/generated/v1_sharded_dtypes/00000123': {
    version: '2.21.0',
    nodes: 159,
    checkpoint: shards(3),
    signatures: DTYPES,
  },
  'session_bundle/generated/v2_plain_dtypes/00000123': {
    version: '2.21.0',
    nodes: 140,
    checkpoint: 'export',
    signatures: DTYPES,
  },
  'session_bundle/generated/v2_sharded_dtypes/00000123': {
    version: '2.21.0',
    nodes: 172,
    checkpoint: 'export',
    signatures: DTYPES,
  },
  'session_bundle/generated/v1_classify_assets/00000007': {
    ...CLASSIFY,
    nodes: 59,
    checkpoint: shards(1),
  },
  'session_bundle/generated/v2_classify_assets/00000007': {
    ...CLASSIFY,
    nodes: 66,
    checkpoint: 'export',
  },
};

for (const [path, expected] of Object.entries(EXPECTED)) {
  test(path, (t) => {
    const folder = sharedModel(t, path);
    if (folder !== undefined) checkModel(loadGraph(folder), expected);
  });
}

test('every other model loads, or says that it is no graph', (t) => {
  const folders = ['tfserving', 'session_bundle'].flatMap((name) => {
    const folder = sharedModel(t, name);
    return folder === undefined ? [] : versionFolders(folder);
  });
  for (const folder of folders) {
    const isWithoutGraph = folder.includes('tf_text_regression');
    try {
      const found = loadGraph(folder);
      assert.ok(found.graph.nodes.length > 0, relative(MODELS, folder));
    } catch (error) {
      assert.ok(error instanceof Error);
      assert.ok(isWithoutGraph, `${relative(MODELS, folder)}: ${error.message}`);
      assert.match(error.message, /got none of them/);
    }
  }
});

test('a SavedModel without its variables folder is reported in one sentence', (t) => {
  const model = sharedModel(t, 'tfserving/saved_model_half_plus_two_cpu/00000123');
  if (model === undefined) return;
  const folder = tempFolder(t);
  cpSync(join(model, 'saved_model.pb'), join(folder, 'saved_model.pb'));
  assert.throws(
    () => importTensorFlow(folder, { tags: ['serve'], workFolder: tempFolder(t) }),
    (error: ServalError) => {
      assert.equal(error.code, ErrorCode.ModelInvalid);
      const start = `${folder}/variables/variables.index is missing and the graph has`;
      assert.ok(error.message.startsWith(start), error.message);
      assert.match(error.message, / \d+ variables: copy the whole folder of the SavedModel$/);
      return true;
    },
  );
});
