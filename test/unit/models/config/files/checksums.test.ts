// Checksums of a model's files. Source: Triton's checksum_repository_agent (README, checksum.cc).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { verifyChecksums } from '../../../../../ts/models/config/files/checksums.js';
import type { TritonConfig } from '../../../../../ts/models/config/types.js';
import { filledFolder } from '../../../temp-folder.js';

const CONTENT = 'the model';
const md5 = createHash('md5').update(CONTENT).digest('hex');
const sha256 = createHash('sha256').update(CONTENT).digest('hex');

const config = (parameters: Record<string, string>): TritonConfig => ({
  model_repository_agents: { agents: [{ name: 'checksum', parameters }] },
});

test('files with their sums are accepted, in both cases of letters', async (t) => {
  const folder = filledFolder(t, { '1/model.onnx': CONTENT });
  await verifyChecksums(folder, config({}));
  await verifyChecksums(folder, {});
  const sums = { 'MD5:1/model.onnx': md5.toUpperCase(), 'SHA256:1/model.onnx': sha256 };
  await verifyChecksums(folder, config(sums));
});

test('another sum, a missing file, a folder and a file elsewhere are refused', async (t) => {
  const folder = filledFolder(t, { 'm/1/model.onnx': CONTENT, secret: CONTENT });
  const model = join(folder, 'm');
  symlinkSync(join(folder, 'secret'), join(model, 'link'));
  mkdirSync(join(model, 'folder'));
  const wrong = '0'.repeat(64);
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'SHA256:1/model.onnx',
      wrong,
      new RegExp(`"1/model.onnx": expected SHA256 ${wrong}, got ${sha256}`),
    ],
    ['MD5:1/other', md5, /"1\/other": cannot read the file: ENOENT/],
    ['MD5:folder', md5, /"folder": expected a file$/],
    ['MD5:../secret', md5, /expected a file in the model's folder/],
    ['MD5:link', md5, /expected a file in the model's folder/],
    ['MD5:/etc/hosts', md5, /expected a file in the model's folder/],
  ];
  for (const [key, sum, message] of cases) {
    await assert.rejects(verifyChecksums(model, config({ [key]: sum })), message);
  }
});
