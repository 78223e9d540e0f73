// logging_config of a TensorFlow model: TensorFlow's own reader and TensorFlow Serving's messages
// find in the files what its clients sent and received (test/e2e/python/request_log), and another
// server accepts them unchanged as warm-up files. Source: tfserving.md 3.6, 3.8.
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it } from 'node:test';
import { tempFolder } from '../../unit/temp-folder.js';
import { logLines, metric } from '../support/operating.js';
import { findTensorFlowPython, runPythonSuite } from '../support/python-suites.js';
import { startServer } from '../support/serval-process.js';
import { filesOf } from './support.js';

const MODELS = process.env['SERVAL_TFSERVING_MODELS'] ?? resolve('../shared/models/tfserving');
const SAVED_MODEL = join(MODELS, 'saved_model_half_plus_two_cpu');
const VERSION = '00000123';
/** The number of requests that the suite sends. */
const REQUESTS = 9;

it("request logs are read by TensorFlow's reader, and warm up the next server", async (context) => {
  const { python, missing } = findTensorFlowPython();
  const lacking = existsSync(SAVED_MODEL)
    ? missing
    : `no ${SAVED_MODEL}: set SERVAL_TFSERVING_MODELS`;
  if (lacking !== '') {
    context.skip(lacking);
    return;
  }
  const folder = tempFolder(context);
  const base = join(folder, 'half_plus_two');
  cpSync(SAVED_MODEL, base, { recursive: true });
  const prefix = join(folder, 'logs', 'half');
  mkdirSync(join(folder, 'logs'));
  const file = join(folder, 'models.config');
  writeFileSync(
    file,
    `model_config_list { config {
       name: "half_plus_two" base_path: "${base}" model_platform: "tensorflow"
       logging_config {
         log_collector_config { type: "file" filename_prefix: "${prefix}" }
         sampling_config { sampling_rate: 1 }
       }
     } }`,
  );
  const server = await startServer(['--model-config-file', file]);
  context.after(() => server.stop());
  await runPythonSuite(context, python, 'request_log.test_tf_request_log', server, {
    SERVAL_REQUEST_LOG: `${prefix}-`,
    TF_CPP_MIN_LOG_LEVEL: '3',
  });
  assert.equal(await metric(server, 'serval_request_log_dropped_total'), 0);
  await server.stop();
  const files = filesOf(join(folder, 'logs'), '');
  assert.equal(files.length, 1);
  const extra = join(base, VERSION, 'assets.extra');
  mkdirSync(extra);
  copyFileSync(files[0] ?? '', join(extra, 'tf_serving_warmup_requests'));
  const warmed = await startServer(['--model-config-file', file]);
  context.after(() => warmed.stop());
  const line = logLines(warmed).find((one) => one['message'] === 'warmed up');
  assert.equal(line?.['requests'], REQUESTS + 1, warmed.stderr);
});
