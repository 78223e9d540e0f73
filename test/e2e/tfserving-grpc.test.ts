// TensorFlow Serving's official gRPC stubs, unmodified, against a real server:
// test/e2e/python/test_tf_*.py, each Python test is a test here. One server has ONNX models, one
// TensorFlow Serving's own test models if they are beside the checkout (SERVAL_TFSERVING_MODELS
// names another folder).
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from './support/model-folders.js';
import { putDelayModel } from './support/operating.js';
import { findTensorFlowPython, runPythonSuite } from './support/python-suites.js';
import { startServer, type ServalProcess } from './support/serval-process.js';

const MODELS = process.env['SERVAL_TFSERVING_MODELS'] ?? resolve('../shared/models/tfserving');

/** The delay of the model that outlasts a deadline. */
const DELAY_MS = 500;

/** Name -> folder. */
const SERVED: Readonly<Record<string, string>> = {
  tf1_cpu: 'saved_model_half_plus_two_cpu',
  tf1_gpu: 'saved_model_half_plus_two_gpu',
  tf1_mlmd: 'saved_model_half_plus_two_mlmd',
  tf2: 'saved_model_half_plus_two_tf2_cpu',
};

describe("TensorFlow Serving's gRPC stubs", () => {
  const folders = new ModelFolders();
  const { python, missing } = findTensorFlowPython();
  let onnx: ServalProcess | undefined;
  before(async () => {
    if (missing !== '') return;
    const slow = folders.repository('slow', []);
    putDelayModel(slow, 'outlasting', DELAY_MS);
    onnx = await startServer([folders.models, '--model-repository', slow]);
  });
  after(async () => {
    await onnx?.stop();
    folders.remove();
  });

  it('with ONNX models', async (context) => {
    if (onnx === undefined) {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'test_tf_grpc', onnx, {
      SERVAL_BASE_PATHS: folders.models,
      TF_CPP_MIN_LOG_LEVEL: '3',
    });
    assert.ok(onnx.running, onnx.stderr);
  });

  for (const content of ['false', 'true'] as const) {
    it(`with TensorFlow models, tensor_content ${content}`, async (context) => {
      const lacking = existsSync(MODELS) ? missing : `no ${MODELS}: set SERVAL_TFSERVING_MODELS`;
      if (lacking !== '') {
        context.skip(lacking);
        return;
      }
      const entries = Object.entries(SERVED).map(
        ([name, folder]) => `config { name: "${name}" base_path: "${join(MODELS, folder)}" }`,
      );
      const file = join(folders.folder, 'tensorflow-models.config');
      writeFileSync(file, `model_config_list { ${entries.join('\n')} }`);
      const server = await startServer([
        '--model-config-file',
        file,
        `--enable_serialization_as_tensor_content=${content}`,
      ]);
      try {
        await runPythonSuite(context, python, 'test_tf_models', server, {
          SERVAL_TF_MODELS: Object.keys(SERVED).join(' '),
          SERVAL_TF_CONTENT: content,
          TF_CPP_MIN_LOG_LEVEL: '3',
        });
        assert.ok(server.running, server.stderr);
      } finally {
        await server.stop();
      }
    });
  }
});
