// A server under explicit control, driven by Triton's own clients: repository, statistics,
// configuration, log settings, classification, priorities. Source: v2-protocol.md 2, 3, 8, 10, 11.
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders, slowModel } from './support/model-folders.js';
import { findPython, runPythonSuite } from './support/python-suites.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const GOOD = ['half_plus_three', 'versions', 'mlp', 'text_identity', 'fails_at_run'];
const LABELLED = `max_batch_size: 8
input { name: "input" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ -1 ] label_filename: "labels.txt" }
`;
const QUEUED = `max_batch_size: 0
input { name: "input" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ -1 ] }
dynamic_batching {
  priority_levels: 2
  default_priority_level: 2
  default_queue_policy { timeout_action: REJECT allow_timeout_override: true }
}
`;
const MISSPELT = `max_batch_size: 0
max_bach_size: 8
`;

function makeRepository(folders: ModelFolders): string {
  const repository = folders.repository('explicit', GOOD, ['corrupt']);
  const file = (...path: readonly string[]): string => join(repository, ...path);
  const copy = (model: string, name: string): void => {
    cpSync(join(folders.models, model), file(name), { recursive: true });
  };
  copy('identity_fp32', 'labelled');
  writeFileSync(file('labelled', 'config.pbtxt'), LABELLED);
  writeFileSync(file('labelled', 'labels.txt'), 'first\nsecond\nthird\n');
  copy('identity_fp32', 'bad_config');
  writeFileSync(file('bad_config', 'config.pbtxt'), MISSPELT);
  writeFileSync(file('versions', 'config.pbtxt'), 'version_policy { all { } }\n');
  cpSync(join(folders.models, 'half_plus_three', '123'), file('replaceable', '1'), {
    recursive: true,
  });
  folders.add(repository, 'slow_second', slowModel(1024, 12));
  writeFileSync(file('slow_second', 'config.pbtxt'), QUEUED);
  return repository;
}

describe('control by tritonclient', () => {
  const folders = new ModelFolders();
  const { python, missing } = findPython();
  let repository = '';
  let server: ServalProcess | undefined;
  before(async () => {
    if (missing !== '') return;
    repository = makeRepository(folders);
    server = await startServer([
      '--model-repository',
      repository,
      '--model-control-mode',
      'explicit',
      '--load-model',
      'half_plus_three',
      '--load-model',
      'slow_second',
      // Nine sequential runs may take a busy machine longer than REST's 30 s.
      '--rest-api-timeout-in-ms',
      '600000',
      '--trace-file',
      join(folders.folder, 'trace.json'),
    ]);
  });
  after(async () => {
    await server?.stop();
    folders.remove();
  });

  for (const suite of ['test_control_http', 'test_control_grpc']) {
    it(suite, async (context) => {
      if (server === undefined) {
        context.skip(missing);
        return;
      }
      await runPythonSuite(context, python, suite, server, { SERVAL_REPOSITORY: repository });
      assert.ok(server.running, server.stderr);
    });
  }
});
