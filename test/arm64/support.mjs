// The native tests that run for arm64, and the command that runs a program for arm64 here. Test
// time only.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SYSROOT } from '../../scripts/arm64/build.mjs';
import { testTarget } from '../native/run.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** The checkout. */
export const root = dirname(dirname(here));

// Code that is compiled differently for each CPU, or depends on how a CPU computes.
const AREAS = [
  'base/cpu/',
  'base/half_test.cc',
  'base/values/',
  'codec/json/',
  'codec/v2/json_',
  'codec/serving/json_',
  'tabular/forest/',
];

/** The names of the executables. */
export function nativeTargets() {
  return readdirSync(join(root, 'test', 'native'), { recursive: true })
    .filter((path) => path.endsWith('_test.cc') && AREAS.some((area) => path.startsWith(area)))
    .map(testTarget)
    .sort();
}

/** The command that runs a program for arm64. */
export function emulated(...command) {
  return ['qemu-aarch64-static', '-L', SYSROOT, ...command];
}
