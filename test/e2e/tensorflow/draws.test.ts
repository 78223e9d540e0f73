// A TensorFlow model whose results depend on random numbers: served with a warning, or refused by
// name if the flag or its own configuration says so. Test time only.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { predict, put } from '../support/operating.js';
import { startServer } from '../support/serval-process.js';
import { answered, started, suiteFolder } from './support.js';

/** y = x + noise from [0, 1). */
const NOISY = `
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "dims" op: "Shape" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "noise" op: "RandomUniform" input: "dims"
  attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "T" value { type: DT_INT32 } } }
node { name: "y" op: "AddV2" input: "x" input: "noise"
  attr { key: "T" value { type: DT_FLOAT } } }
`;
const CONFIG = `platform: "tensorflow_graphdef"
  input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
  output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
`;
const PARAMETER = (value: string): string =>
  `parameters { key: "serval.allow_random" value { string_value: "${value}" } }`;

describe('a TensorFlow model that draws random numbers', () => {
  const folder = suiteFolder();
  const repository = (name: string, parameters = ''): string => {
    const base = join(folder, name);
    put(join(base, 'm', '1', 'model.graphdef'), NOISY);
    put(join(base, 'm', 'config.pbtxt'), CONFIG + parameters);
    return base;
  };

  for (const [what, args] of [
    ['by the flag', ['--allow-random=false', repository('plain')]],
    ['by its own configuration', [repository('off', PARAMETER('0'))]],
  ] as const) {
    it(`is refused ${what}, by the names of operator, node and flag`, async () => {
      await assert.rejects(startServer(args), (error: Error) => {
        assert.match(error.message, /RandomUniform 'noise'/);
        assert.match(error.message, /--allow-random=false \(parameter serval\.allow_random/);
        return true;
      });
    });
  }

  for (const [what, args] of [
    ['where nothing is said', [repository('default')]],
    [
      'by its own configuration against the flag',
      ['--allow-random=false', repository('own', PARAMETER('true'))],
    ],
  ] as const) {
    it(`is served ${what}, with new numbers for each request and one warning`, async (t) => {
      const server = await started(t, ...args);
      const body = '{"instances": [5.0, 5.0, 5.0, 5.0]}';
      const draw = async (): Promise<number[]> => {
        const { predictions } = answered(await predict(server, 'm', body)) as {
          predictions: number[];
        };
        assert.equal(predictions.length, 4);
        assert.ok(
          predictions.every((one) => one >= 5 && one <= 6),
          predictions.join(),
        );
        return predictions;
      };
      assert.notDeepEqual(await draw(), await draw());
      const said = (server.stdout + server.stderr).match(/responses depend on random values/g);
      assert.equal(said?.length, 1, server.stderr);
    });
  }
});
