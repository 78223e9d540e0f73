// V1 metadata of TensorFlow models: every form of a signature's tensors, and TensorFlow Serving's
// own expected documents. Source: tfserving.md 1.9; the documents of its tests.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadGraph } from '../../../../ts/importers/tensorflow/load/index.js';
import { v1MetadataJson } from '../../../../ts/protocols/tfserving/rest-documents.js';
import { signatureDefs } from '../../../../ts/importers/run/imported-spec.js';
import type { RegistrySnapshot } from '../../../../ts/model/snapshot.js';
import { MODELS } from '../../importers/tensorflow/load/support.js';
import { SERVING_REGISTRY } from './serving-snapshot.js';
import { model, registry, version } from '../snapshots.js';

interface Metadata {
  readonly model_spec: object;
  readonly metadata: {
    readonly signature_def: { readonly signature_def: Record<string, unknown> };
  };
}

const metadata = (snapshot: RegistrySnapshot, name: string): Metadata =>
  JSON.parse(v1MetadataJson(snapshot, { name })) as Metadata;

describe('V1 metadata of TensorFlow models', () => {
  it('shows every signature of the file as it stands there', () => {
    const {
      model_spec: spec,
      metadata: {
        signature_def: { signature_def: signatures },
      },
    } = metadata(SERVING_REGISTRY, 'tf');
    assert.deepEqual(spec, { name: 'tf', signature_name: '', version: '7' });
    assert.deepEqual(Object.keys(signatures), [
      '__saved_model_init_op',
      'c',
      'r',
      'serving_default',
      'sparse',
    ]);
    assert.deepEqual(signatures['r'], {
      inputs: { inputs: { dtype: 'DT_STRING', name: 'tf_example:0' } },
      outputs: { outputs: { dtype: 'DT_FLOAT', name: 'y:0' } },
      method_name: 'tensorflow/serving/regress',
      defaults: {},
    });
    assert.deepEqual((signatures['c'] as { outputs: object }).outputs, {
      scores: {
        dtype: 'DT_FLOAT',
        tensor_shape: { dim: [], unknown_rank: true },
        name: 'y:0',
      },
    });
    const shape = {
      dim: [
        { size: '-1', name: '' },
        { size: '1', name: '' },
      ],
      unknown_rank: false,
    };
    const { defaults, ...predict } = signatures['serving_default'] as { defaults: object };
    assert.deepEqual(predict, {
      inputs: { x: { dtype: 'DT_FLOAT', tensor_shape: shape, name: 'x:0' } },
      outputs: {
        y: { dtype: 'DT_FLOAT_REF', tensor_shape: shape, name: 'y:0' },
        z: { dtype: 'DT_STRING', name: 'z:1' },
      },
      method_name: 'tensorflow/serving/predict',
    });
    const { x } = defaults as { x: Record<string, unknown> };
    assert.deepEqual(
      [x['dtype'], x['tensor_shape'], x['float_val']],
      ['DT_FLOAT', { dim: [{ size: '1', name: '' }], unknown_rank: false }, [0.1]],
    );
    const example = { dtype: 'DT_STRING', name: 'tf_example:0' };
    assert.deepEqual(signatures['sparse'], {
      inputs: {
        sparse: {
          dtype: 'DT_INT64',
          coo_sparse: {
            values_tensor_name: 'v:0',
            indices_tensor_name: 'i:0',
            dense_shape_tensor_name: 's:0',
          },
        },
        ragged: { dtype: 77, composite_tensor: { components: [example, example] } },
      },
      outputs: {},
      method_name: '',
      defaults: {},
    });
  });
});

/** Expected document -> the folder of the version that it describes. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  'half_plus_two_model_metadata.json': 'saved_model_half_plus_two_cpu/00000123',
  'saved_model_half_plus_two_2_versions_metadata.json':
    'saved_model_half_plus_two_2_versions/00000123',
  'saved_model_half_plus_two_tf2_2_versions_metadata.json':
    'saved_model_half_plus_two_tf2_cpu/00000123',
};

/**
 * Removes default values: the document of the TensorFlow 2 model predates default values in
 * signatures, and the model was written again since.
 */
function withoutDefaults({ model_spec: spec, metadata: { signature_def: map } }: Metadata): object {
  const shown = Object.entries(map.signature_def).map(([name, signature]) => {
    const { defaults: _, ...rest } = signature as Record<string, unknown>;
    return [name, rest];
  });
  return { spec, signatures: Object.fromEntries(shown) as object };
}

function modelFolder(t: TestContext, folder: string, document: string): string | undefined {
  const path = join(MODELS, 'tfserving', folder);
  if (existsSync(path) && existsSync(document)) return path;
  t.skip(`TensorFlow Serving's ${document} or ${path} is not on this machine`);
  return undefined;
}

describe("TensorFlow Serving's expected metadata", () => {
  for (const [name, folder] of Object.entries(DOCUMENTS)) {
    it(name, (t) => {
      const file = join(MODELS, 'tfserving', 'expected', name);
      const path = modelFolder(t, folder, file);
      if (path === undefined) return;
      const expected = JSON.parse(readFileSync(file, 'utf8')) as Metadata;
      const loaded = loadGraph(path);
      const all = [...loaded.signatures].sort(([a], [b]) => (a < b ? -1 : 1));
      const defs = signatureDefs({
        format: loaded.format,
        tags: loaded.tags,
        tensorflowVersion: loaded.tensorflowVersion,
        signatureDefs: all,
        graphs: [],
        weights: [],
        states: [],
        blocked: [],
        operators: [],
        warnings: [],
      });
      const { name: served } = expected.model_spec as { name: string };
      const one = version('123', 'AVAILABLE', { signatureDefs: defs });
      const found = metadata(registry([model(served, [one])]), served);
      if (name.includes('_tf2_')) {
        assert.deepEqual(withoutDefaults(found), withoutDefaults(expected));
      } else {
        assert.deepEqual(found, expected);
      }
    });
  }
});
