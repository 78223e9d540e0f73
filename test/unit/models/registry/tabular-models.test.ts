// A tabular model as readers of the registry see it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedModel } from '../../../../ts/model/engine-api.js';
import type { TensorInfo } from '../../../../ts/model/snapshot.js';
import {
  buildSnapshot,
  EMPTY_SNAPSHOT,
  type Servable,
} from '../../../../ts/models/registry/snapshot-build.js';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { completeConfig } from '../../../../ts/models/config/triton-model.js';
import { loadedModel } from './fakes.js';

const tensor = (
  name: string,
  datatype: TensorInfo['datatype'],
  ...shape: number[]
): TensorInfo => ({
  name,
  datatype,
  shape: shape.length === 0 ? [-1] : shape,
  symbols: shape.map(() => ''),
  unknownRank: false,
});

const TABLE = { extra: ['hidden'], open: ['s'], untyped: [], examples: {} };
const LOADED: LoadedModel = {
  ...loadedModel(7),
  signatures: [
    {
      name: 'serving_default',
      inputs: [tensor('s', 'STRING'), tensor('d', 'DECIMAL'), tensor('v', 'VECTOR', -1, 4)],
      outputs: [tensor('p', 'FP64'), tensor('hidden', 'VECTOR', -1, 1, -1)],
    },
  ],
  found: { format: 'mleap', platform: 'mleap_bundle' },
  table: TABLE,
};

function shown(loaded: LoadedModel) {
  const servable: Servable = {
    key: 'k',
    name: 'm',
    desired: {
      version: '1',
      spec: { name: 'm', version: '1', backend: 'tabular' },
      format: 'archive',
      platform: '',
      revision: '',
      folder: '/m',
      modelFolder: '/m',
    },
    state: 'AVAILABLE',
    unloaded: false,
    loaded,
    configJson: '{}',
    loadMs: 1,
    errorCode: ErrorCode.Ok,
    errorMessage: '',
    failures: 0,
    failedAtMs: 0,
  };
  const snapshot = buildSnapshot({
    epoch: 1,
    models: new Map(),
    servables: new Map([['m', [servable]]]),
    previous: EMPTY_SNAPSHOT,
    changed: new Set(['m']),
    started: true,
    draining: false,
    faults: [],
    strictReadiness: true,
  });
  const [version] = snapshot.models['m']?.versions ?? [];
  assert.ok(version);
  return version;
}

test('what the load found of an archive, and the outputs that are answered unasked', () => {
  const version = shown(LOADED);
  assert.deepEqual(
    [version.format, version.platform, version.table],
    ['mleap', 'mleap_bundle', TABLE],
  );
  const [signature] = version.signatures;
  assert.deepEqual(
    signature?.inputs.map(({ name, datatype }) => [name, datatype]),
    [
      ['s', 'STRING'],
      ['d', 'FP64'],
      ['v', 'VECTOR'],
    ],
  );
  assert.deepEqual(
    signature?.outputs.map(({ name }) => name),
    ['p'],
  );
  const { table: _table, found: _found, ...plain } = LOADED;
  assert.equal(shown(plain).signatures[0]?.outputs.length, 2, 'of other models all outputs');
  assert.equal(shown(plain).format, 'archive');
});

test("its configuration in Triton's words", () => {
  const config = completeConfig('m', undefined, LOADED, { maxBatchSize: 4, platform: 'pmml_xml' });
  assert.deepEqual(
    [config['platform'], config['backend'], config['default_model_filename']],
    ['pmml_xml', 'tabular', 'model.pmml'],
  );
  const inputs = config['input'] as readonly { name: string; data_type: string; dims: unknown }[];
  assert.deepEqual(
    inputs.map(({ name, data_type: type }) => [name, type]),
    [
      ['s', 'TYPE_STRING'],
      ['d', 'TYPE_FP64'],
      ['v', 'TYPE_FP64'],
    ],
  );
});
