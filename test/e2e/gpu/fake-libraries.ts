// Libraries with NVIDIA's names that a test builds, and a folder as `serval gpu install` leaves it.
// Test time only.
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MANIFEST_FORMAT, MANIFEST_NAME } from '../../../ts/engine/gpu-folder.js';
import { onnxruntimeLibrary } from '../../../ts/engine/binding.js';
import { packageRoot } from '../../../ts/base/package-files.js';

const COMPILER = 'c++';

/** Why no library can be built; false if one can. */
export const noCompiler =
  spawnSync(COMPILER, ['--version']).status === 0 ? false : `no ${COMPILER} on PATH`;

/**
 * Builds test/e2e/gpu/fakes/<source> (none: an empty library) as `folder`/`soname`. `more`:
 * additional arguments for the compiler.
 */
export function buildLibrary(
  folder: string,
  soname: string,
  source?: string,
  more: readonly string[] = [],
): void {
  mkdirSync(folder, { recursive: true });
  const input = source === undefined ? ['-x', 'c++', '/dev/null'] : [sourceOf(source)];
  const flags = ['-shared', '-fPIC', '-O1', `-Wl,-soname,${soname}`, ...more];
  const out = join(folder, soname);
  const { status, stderr } = spawnSync(COMPILER, [...flags, ...input, '-o', out], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${COMPILER}: ${stderr}`);
}

const sourceOf = (name: string): string => join(packageRoot(), 'test', 'e2e', 'gpu', 'fakes', name);

/** Compiler flags of sources that include headers of native/. */
export const NATIVE = [
  '-std=c++20',
  `-I${join(packageRoot(), 'native')}`,
  `-I${join(packageRoot(), 'native', 'third_party', 'onnxruntime')}`,
];

/** Puts the bundled ONNX Runtime into `folder`, and a list that names it. */
export function installRuntime(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const name = 'libonnxruntime.so.1.30.0';
  const path = join(folder, name);
  symlinkSync(onnxruntimeLibrary(undefined), path);
  const file = { name, bytes: statSync(path).size };
  const one = { name: 'onnxruntime-gpu', version: '1.30.0', sha256: '0', files: [file] };
  const manifest = { format: MANIFEST_FORMAT, packages: [one] };
  writeFileSync(join(folder, MANIFEST_NAME), JSON.stringify(manifest));
  return path;
}
