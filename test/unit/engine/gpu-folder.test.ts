// The folder of GPU libraries: its path, when it is complete, when a server uses it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  defaultGpuFolder,
  installedRuntime,
  readGpuFolder,
} from '../../../ts/engine/gpu-folder.js';
import { filledFolder } from '../temp-folder.js';

const RUNTIME = 'libonnxruntime.so.1.30.0';
const manifest = (files: readonly object[]): string =>
  JSON.stringify({
    format: 1,
    packages: [{ name: 'onnxruntime-gpu', version: '1.30.0', sha256: '0', files }],
  });

test('finds the folder', () => {
  assert.equal(defaultGpuFolder({ SERVAL_GPU_FOLDER: '/gpu' }), '/gpu');
  assert.equal(defaultGpuFolder({ XDG_DATA_HOME: '/data' }), '/data/serval/gpu');
  assert.match(defaultGpuFolder({}), /\/\.local\/share\/serval\/gpu$/);
});

test('uses a complete folder that is named, with or without a driver', (context) => {
  const files = [{ name: RUNTIME, bytes: 3 }];
  const folder = filledFolder(context, { [RUNTIME]: 'abc', 'installed.json': manifest(files) });
  assert.equal(readGpuFolder(folder)?.runtime, join(folder, RUNTIME));
  assert.equal(installedRuntime({ SERVAL_GPU_FOLDER: folder }), join(folder, RUNTIME));
});

test('one that is not whole, or not ours, is not', (context) => {
  const files = [{ name: RUNTIME, bytes: 4 }];
  for (const content of [
    { [RUNTIME]: 'abc', 'installed.json': manifest(files) },
    { 'installed.json': manifest(files) },
    { [RUNTIME]: 'abc' },
    { [RUNTIME]: 'abc', 'installed.json': '{"format": 1, "pack' },
    { [RUNTIME]: 'abc', 'installed.json': '{"format": 2, "packages": []}' },
    { 'installed.json': manifest([{ name: '../../libonnxruntime.so.1.30.0', bytes: 3 }]) },
    { 'installed.json': '{"format": 1, "packages": [{"name": 1}]}' },
  ]) {
    const folder = filledFolder(context, content);
    assert.equal(installedRuntime({ SERVAL_GPU_FOLDER: folder }), undefined);
  }
});
