// Operators with channels first, against TensorFlow's transposed results with channels last.
// SERVAL_TF_GOLDENS: the golden folder; see op-grid.test.ts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { OPERATORS } from '../../../ts/importers/tensorflow/ops/index.js';
import { channelsFirst } from './support/channels-first.js';
import { EngineRunner } from './support/engine-run.js';
import { goldenFolder } from '../golden-folder.js';
import { NO_GOLDENS, readGoldens } from './support/golden-files.js';
import { runGoldens } from './support/golden-runner.js';
import { knownDifference } from './support/known-differences.js';

const NAMES = [
  'Conv2D',
  'DepthwiseConv2dNative',
  'Conv2DBackpropInput',
  'Conv3D',
  'Conv3DBackpropInputV2',
  'MaxPool',
  'AvgPool',
  'MaxPool3D',
  'AvgPool3D',
  'FusedBatchNormV3',
  'SpaceToDepth',
  'DepthToSpace',
];

const goldens = goldenFolder('tensorflow');

describe('channels first', { skip: goldens === undefined ? NO_GOLDENS : false }, () => {
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  for (const name of NAMES) {
    test(name, async () => {
      const group = channelsFirst(readGoldens(goldens ?? '', name));
      const results = await runGoldens(group, OPERATORS, engine);
      assert.ok(results.length >= 2);
      const wrong = results.filter(
        ({ outcome, text }) =>
          outcome !== 'passed' && knownDifference(name, outcome, text) === undefined,
      );
      assert.deepEqual(
        wrong.map(({ text }) => text),
        [],
      );
    });
  }
});
