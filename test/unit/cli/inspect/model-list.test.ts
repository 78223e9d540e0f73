// The list of models that `serval inspect FOLDER` prints, with sizes that include data in other
// files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedModels, listText } from '../../../../ts/cli/inspect/model-list.js';
import { scanSources } from '../../../../ts/models/registry/sources/paths/scan-path.js';
import { filledFolder } from '../../temp-folder.js';

const bytes = (count: number): string => 'x'.repeat(count);

test('models of a repository, by what their versions hold', async (t) => {
  const folder = filledFolder(t, {
    'external/1/model.onnx': bytes(10),
    'external/1/model.onnx.data': bytes(1000),
    'external/2/model.onnx': bytes(20),
    'external/2/weights/part.bin': bytes(2000),
    'saved/3/saved_model.pb': bytes(5),
    'saved/3/variables/variables.data-00000-of-00001': bytes(500),
    'saved/3/variables/variables.index': bytes(50),
    'flat/model.onnx': bytes(7),
    'flat/model.onnx.data': bytes(70),
    'flat/config.pbtxt': '',
    'empty/readme.txt': bytes(9),
  });
  const scan = await scanSources({ paths: [folder], modelRepositories: [] });
  const listed = await listedModels(scan);
  const sizes = listed.map((one) => [one.name, one.version, one.format, one.bytes]);
  assert.deepEqual(sizes, [
    ['external', '2', 'onnx', 2020],
    ['flat', '1', 'onnx', 77],
    ['saved', '3', 'tensorflow', 555],
  ]);
  const text = listText(listed, scan.problems);
  assert.match(text, /^MODEL +VERSION +FORMAT +BYTES +PATH\n/);
  assert.match(text, /\nexternal +2 of 2 +onnx +2020 +\S+\/external\/2\/model\.onnx\n/);
  assert.match(text, /\nproblem: .*empty/);
});
