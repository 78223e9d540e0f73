// The fuzz target onnx_cases: ONNX's own backend suite through our backend, unchanged and with zero
// dimensions, extreme values and huge parameters (onnx_cases.cc). A case that ends its process is a
// failure; a case whose result differs from the suite's must be in KNOWN, and those in KNOWN must
// keep differing. Test time only.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addFailure, noCounts } from '../../run/counts.mjs';
import { cmakeEnvironment, dropForeignCache, run } from '../../../scripts/build-native.mjs';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const folder = join(root, 'build', 'native-plain');
const SKIPPED_STATUS = 77;
const SECONDS_SPARE = 60;

/**
 * Cases in which ONNX Runtime differs from the suite, which the guards do not cause. The float
 * remainders with fmod 0 belong to an operator set that it does not have.
 */
const KNOWN = new Set([
  'test_attention_4d_diff_heads_mask4d_padded_kv',
  'test_convinteger_with_padding',
  'test_maxunpool_export_with_output_shape',
  'test_mod_float16_mixed_sign_fmod_0',
  'test_mod_float32_mixed_sign_fmod_0',
  'test_mod_float64_mixed_sign_fmod_0',
  'test_mod_float_edge_cases_fmod_0_float16',
  'test_mod_float_edge_cases_fmod_0_float32',
  'test_mod_float_edge_cases_fmod_0_float64',
  'test_reduce_max_empty_set_bool',
  'test_resize_downsample_scales_cubic_align_corners',
  'test_resize_downsample_scales_linear_align_corners',
  'test_training_dropout',
  'test_training_dropout_default',
  'test_training_dropout_default_mask',
  'test_training_dropout_mask',
]);

/** {folder} of the cases, or {skipped: why}. */
function casesFolder() {
  const script = join(root, 'test', 'env', 'onnx-cases.sh');
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
  const { status, stdout, stderr } = spawnSync(script, options);
  if (status === 0) return { folder: stdout.trim() };
  const why = stderr.trim().split('\n').at(-1);
  return status === SKIPPED_STATUS ? { skipped: why } : { failed: why };
}

function build() {
  dropForeignCache(folder, 'Ninja');
  const env = cmakeEnvironment();
  const options = ['-G', 'Ninja', '-S', root, '-B', folder, '-DSERVAL_ADDON=OFF'];
  options.push('-DSERVAL_TESTS=ON', '-DSERVAL_SANITIZE=', '-DCMAKE_BUILD_TYPE=Release');
  options.push('-Wno-dev', '--log-level=WARNING');
  return (
    run('cmake', options, env) && run('cmake', ['--build', folder, '--target', 'onnx_cases'], env)
  );
}

/** Returns what is wrong with the lines of a run; `known` cases may differ, and must. */
export function judge(output, known = KNOWN) {
  const problems = [];
  const wrong = new Set();
  const ran = new Set();
  for (const line of output.split('\n')) {
    const [word, name] = line.split(/[ :]/, 2);
    if (word === 'died') problems.push(line);
    if (word === 'wrong') wrong.add(name);
    if (word === 'ran') ran.add(name);
  }
  for (const name of wrong) {
    if (!known.has(name)) problems.push(`${name} answers otherwise than the suite`);
  }
  for (const name of known) {
    if (ran.has(name) && !wrong.has(name)) problems.push(`${name} is right: not KNOWN any more`);
  }
  return problems;
}

/** Runs the cases in a random order for that time; returns the counts of one test. */
export function runOnnxCases(runSeconds, say) {
  const counts = noCounts();
  const cases = casesFolder();
  if (cases.skipped !== undefined) counts.skipped.push(`onnx_cases: ${cases.skipped}`);
  else if (cases.failed !== undefined) addFailure(counts, `onnx_cases: ${cases.failed}`);
  else if (!build()) addFailure(counts, 'onnx_cases: the build failed');
  else runCases(cases.folder, runSeconds, say, counts);
  return counts;
}

function runCases(casesAt, runSeconds, say, counts) {
  const seed = Date.now() % 1_000_000;
  const arguments_ = [casesAt, '--seconds', `${runSeconds}`, '--seed', `${seed}`];
  const result = spawnSync(join(folder, 'onnx_cases'), arguments_, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    timeout: (runSeconds + SECONDS_SPARE) * 1000,
    killSignal: 'SIGKILL',
  });
  const output = result.stdout ?? '';
  const problems = judge(output);
  const ended = result.status === 0 || result.status === 1;
  if (!ended) problems.push(`onnx_cases: ${result.error?.message ?? result.signal}`);
  for (const line of output.split('\n')) if (line.startsWith('slow ')) say(line);
  for (const problem of problems) say(problem);
  say(`fuzz onnx_cases: ${output.trim().split('\n').at(-1)} (seed ${seed})`);
  if (problems.length === 0) counts.passed += 1;
  else addFailure(counts, `onnx_cases (seed ${seed}): ${problems.slice(0, 5).join('; ')}`);
}
