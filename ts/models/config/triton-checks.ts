// Checks a Triton model configuration for contradictions, as Triton reports them, and for features
// that Serval does not support. Control plane; pure. Source: Triton's ValidateModelConfig and its
// ONNX Runtime backend; v2-protocol.md 3, 10.
import { isDeepStrictEqual } from 'node:util';
import { TRITON_FIELDS } from '../../config/peers/triton-fields.js';
import {
  FIL_PARAMETERS,
  NULL_PARAMETERS,
  SESSION_PREFIX,
  TRITON_PARAMETERS,
} from '../../config/peers/triton-parameters.js';
import { MODEL_CONFIG } from '../../protobuf/generated/model-config.js';
import { echo, meant, visible } from '../../base/text.js';
import { FIL_BACKEND, FIL_PARAMETER_RULES, filProblems } from './boosters/fil.js';
import { ensembleNotes } from './ensembles/checks.js';
import { raggedProblems } from './ragged/checks.js';
import { sequenceProblems } from './sequences/checks.js';
import { fieldNotes } from './field-notes.js';
import { CHECKSUM_AGENT, agentsOf, checksumProblem } from './files/checksums.js';
import type { FieldRow } from '../../config/peers/field-row.js';
import { NULL_PARAMETER_RULES, PARAMETER_RULES, ROWS_TEXT, type TextRule } from './parameters.js';
import { optionName, optionProblem } from './runtime-options.js';
import {
  GRAPHS_MAX,
  MODEL_THREADS_MAX,
  PRIORITY_LEVELS_MAX,
  TENSOR_RANK_MAX,
  UINT32_MAX,
} from '../../base/limits.js';
import { ENSEMBLE_PLATFORM, TABULAR_PLATFORMS } from '../../model/platforms.js';
import { read } from '../../protobuf/schema.js';
import type { Places } from '../../protobuf/decode-notes.js';
import type { MessageValue } from '../../protobuf/schema.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

export const NULL_BACKEND = 'serval_null';
/** Backend name of tabular models. */
export const TABULAR_BACKEND = 'tabular';
/** Backend name of TensorRT engines. */
export const TENSORRT_BACKEND = 'tensorrt';
/** Backend -> its valid platforms. All run on the same engine. */
const BACKENDS: Readonly<Record<string, readonly string[]>> = {
  onnxruntime: ['onnxruntime_onnx', 'onnx_onnxv1'],
  tensorflow: ['tensorflow_savedmodel', 'tensorflow_graphdef'],
  [TABULAR_BACKEND]: Object.values(TABULAR_PLATFORMS),
  [TENSORRT_BACKEND]: ['tensorrt_plan'],
  [FIL_BACKEND]: [TABULAR_PLATFORMS.xgboost, TABULAR_PLATFORMS.lightgbm],
  [ENSEMBLE_PLATFORM]: [ENSEMBLE_PLATFORM],
  [NULL_BACKEND]: [],
};
const IMAGE_DIMS = 3;

const PRECISIONS = ['FP32', 'FP16', 'BF16', 'INT8'];
/** Backend -> the rows and the formats of parameters that only it has. */
const OWN_ROWS: Readonly<Record<string, Readonly<Record<string, FieldRow>>>> = {
  [NULL_BACKEND]: NULL_PARAMETERS,
  [FIL_BACKEND]: FIL_PARAMETERS,
};
const OWN_RULES: Readonly<Record<string, Readonly<Record<string, TextRule>>>> = {
  [NULL_BACKEND]: NULL_PARAMETER_RULES,
  [FIL_BACKEND]: FIL_PARAMETER_RULES,
};

/** Returns every problem with its location; warnings are for settings without effect. */
export function checkTritonConfig(
  config: MessageValue,
  places: Places,
  folderName: string | undefined,
): { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly ConfigProblem[] } {
  const check = new Check(config, places);
  check.identity(folderName);
  check.fields();
  check.versionPolicy();
  for (const list of ['input', 'output']) check.tensors(list);
  check.dynamicBatching();
  check.instanceGroups();
  check.accelerators();
  check.parameters();
  check.agents();
  check.ensemble(folderName);
  check.sequencesAndRagged();
  return check;
}

class Check {
  readonly problems: ConfigProblem[] = [];
  readonly warnings: ConfigProblem[] = [];
  readonly #config: MessageValue;
  readonly #places: Places;
  readonly #maxBatchSize: number;

  constructor(config: MessageValue, places: Places) {
    this.#config = config;
    this.#places = places;
    this.#maxBatchSize = read.int(config, 'max_batch_size');
  }

  #problem(of: MessageValue, name: string, text: string, index = 0): void {
    const place = this.#places.at(of, name, index);
    this.problems.push({ place, message: `${visible(name)}: ${text}` });
  }

  #warn(of: MessageValue, name: string, text: string): void {
    const place = this.#places.at(of, name);
    this.warnings.push({ place, message: `${visible(name)}: ${text}` });
  }

  #unsupported(of: MessageValue, name: string, what: string): void {
    this.#problem(of, name, `${what} not supported yet`);
  }

  identity(folderName: string | undefined): void {
    const config = this.#config;
    const name = read.text(config, 'name');
    if (name !== '' && folderName !== undefined && name !== folderName) {
      const expected = `the name of the model's folder, ${echo(folderName)}`;
      this.#problem(config, 'name', `expected ${expected}, got ${echo(name)}`);
    }
    const backend = read.text(config, 'backend');
    const platform = read.text(config, 'platform');
    const all = [...new Set(Object.values(BACKENDS).flat())];
    const platforms = backend === '' ? all : BACKENDS[backend];
    if (platforms === undefined) {
      const known = Object.keys(BACKENDS)
        .filter((one) => one !== NULL_BACKEND)
        .join(', ');
      this.#problem(config, 'backend', `expected one of ${known}, got ${echo(backend)}`);
    }
    if (platform !== '' && platforms !== undefined && !platforms.includes(platform)) {
      const expected = platforms.join(' or ') || `none with backend ${backend}`;
      this.#problem(config, 'platform', `expected ${expected}, got ${echo(platform)}`);
    }
    const file = read.text(config, 'default_model_filename');
    if (file.includes('/') || file.includes('\0') || file === '..' || file === '.') {
      this.#problem(
        config,
        'default_model_filename',
        `expected the name of a file in the version folder, got ${echo(file)}`,
      );
    }
    if (this.#maxBatchSize < 0) {
      this.#problem(config, 'max_batch_size', `expected 0 or more, got ${this.#maxBatchSize}`);
    }
  }

  fields(): void {
    const notes = fieldNotes(this.#config, MODEL_CONFIG, TRITON_FIELDS, this.#places);
    this.problems.push(...notes.problems);
    this.warnings.push(...notes.warnings);
  }

  versionPolicy(): void {
    const policy = read.child(this.#config, 'version_policy');
    const specific = read.child(policy, 'specific');
    if (specific === undefined) return;
    const versions = read.ints(specific, 'versions');
    if (versions.length === 0) {
      this.#problem(specific, 'versions', 'expected at least one version, got none');
    }
    versions.forEach((version, i) => {
      if (version < 0) this.#problem(specific, 'versions', `expected 0 or more, got ${version}`, i);
    });
  }

  tensors(list: string): void {
    const seen = new Set<string>();
    for (const tensor of read.children(this.#config, list)) {
      const name = read.text(tensor, 'name');
      if (name === '') this.#problem(tensor, 'name', `expected the ${list}'s name, got none`);
      else if (seen.has(name)) this.#problem(tensor, 'name', `${echo(name)} is listed twice`);
      seen.add(name);
      if (['', 'TYPE_INVALID'].includes(read.text(tensor, 'data_type'))) {
        this.#problem(tensor, 'data_type', `expected the type of ${list} ${echo(name)}, got none`);
      }
      this.#dims(tensor, `${list} ${echo(name)}`);
      this.#reshape(tensor, `${list} ${echo(name)}`);
    }
  }

  #dims(tensor: MessageValue, what: string): void {
    const dims = read.ints(tensor, 'dims');
    if (dims.length === 0) this.#problem(tensor, 'dims', `expected dims of ${what}, got none`);
    this.#checkSizes(tensor, 'dims', dims);
    const format = read.text(tensor, 'format');
    if (format !== '' && format !== 'FORMAT_NONE' && dims.length !== IMAGE_DIMS) {
      const expected = `expected ${IMAGE_DIMS} dims with ${format}`;
      this.#problem(tensor, 'format', `${expected}, got ${dims.length}`);
    }
  }

  #checkSizes(of: MessageValue, name: string, sizes: readonly number[]): void {
    sizes.forEach((size, i) => {
      if (size >= 1 || size === -1) return;
      this.#problem(of, name, `expected 1 or more, or -1 for a dynamic dim, got ${size}`, i);
    });
    const most = this.#maxBatchSize > 0 ? TENSOR_RANK_MAX - 1 : TENSOR_RANK_MAX;
    if (sizes.length > most) {
      this.#problem(of, name, `expected at most ${most}, got ${sizes.length}`);
    }
  }

  /** Between two dynamic dims, both shapes must have the same number of elements. */
  #reshape(tensor: MessageValue, what: string): void {
    const reshape = read.child(tensor, 'reshape');
    if (reshape === undefined) return;
    const shape = read.ints(reshape, 'shape');
    if (shape.length === 0 && this.#maxBatchSize === 0) {
      this.#problem(tensor, 'reshape', 'expected dims where max_batch_size is 0, got none');
      return;
    }
    this.#checkSizes(reshape, 'shape', shape);
    const dims = read.ints(tensor, 'dims');
    const [from, to] = [elementRuns(dims), elementRuns(shape)];
    if (from.length === to.length && from.every((count, i) => count === to[i])) return;
    const expected = `expected as many elements as the dims of ${what}`;
    const got = `[${shape.join(', ')}] for dims [${dims.join(', ')}]`;
    this.#problem(tensor, 'reshape', `${expected}, got ${got}`);
  }

  dynamicBatching(): void {
    const batching = read.child(this.#config, 'dynamic_batching');
    if (batching === undefined) return;
    const max = this.#maxBatchSize;
    read.ints(batching, 'preferred_batch_size').forEach((size, i) => {
      if (size >= 1 && size <= max) return;
      const expected = max > 0 ? `1 to max_batch_size, ${max}` : 'none where max_batch_size is 0';
      this.#problem(batching, 'preferred_batch_size', `expected ${expected}, got ${size}`, i);
    });
    this.#upTo(batching, 'max_queue_delay_microseconds', UINT32_MAX);
    this.#priorities(batching);
    this.#ordering(batching);
  }

  #upTo(of: MessageValue, name: string, max: number): void {
    const value = read.int(of, name);
    if (value > max) this.#problem(of, name, `expected at most ${max}, got ${value}`);
  }

  #priorities(batching: MessageValue): void {
    const levels = read.int(batching, 'priority_levels');
    this.#upTo(batching, 'priority_levels', PRIORITY_LEVELS_MAX);
    const inRange = (level: number): boolean => level >= 1 && level <= levels;
    const standard = read.int(batching, 'default_priority_level');
    if (levels > 0 && !inRange(standard)) {
      const expected = `expected 1 to priority_levels, ${levels}`;
      this.#problem(batching, 'default_priority_level', `${expected}, got ${standard}`);
    }
    if (levels === 0) return;
    const policies = read.child(batching, 'priority_queue_policy') ?? {};
    for (const level of Object.keys(policies)) {
      if (inRange(Number(level))) continue;
      const place = this.#places.at(policies, level);
      const message = `priority_queue_policy: expected a level from 1 to ${levels}, got ${level}`;
      this.problems.push({ place, message });
    }
  }

  /** Responses cannot keep their order if some requests overtake others. */
  #ordering(batching: MessageValue): void {
    if (!read.bool(batching, 'preserve_ordering')) return;
    const levels = read.int(batching, 'priority_levels');
    if (levels > 1) {
      this.#problem(batching, 'preserve_ordering', `expected one priority level, got ${levels}`);
    }
    const policies = read.entries(batching, 'priority_queue_policy').map(([, policy]) => policy);
    for (const policy of [read.child(batching, 'default_queue_policy') ?? {}, ...policies]) {
      const delays = read.text(policy, 'timeout_action') === 'DELAY';
      if (!delays || read.int(policy, 'default_timeout_microseconds') === 0) continue;
      this.#problem(policy, 'timeout_action', 'expected REJECT with preserve_ordering, got DELAY');
    }
  }

  agents(): void {
    for (const agent of agentsOf(this.#config)) {
      const name = read.text(agent, 'name');
      if (name !== CHECKSUM_AGENT) {
        this.#problem(agent, 'name', `expected the agent ${CHECKSUM_AGENT}, got ${echo(name)}`);
        continue;
      }
      for (const [key, sum] of read.entries<string>(agent, 'parameters')) {
        const text = checksumProblem(key, sum);
        if (text !== '') this.#problem(agent, 'parameters', text);
      }
    }
  }

  ensemble(folderName: string | undefined): void {
    for (const { kind, of, name, text, index } of ensembleNotes(this.#config, folderName)) {
      if (kind === 'warning') this.#warn(of, name, text);
      else this.#problem(of, name, text, index);
    }
  }

  sequencesAndRagged(): void {
    const problems = [...sequenceProblems(this.#config), ...raggedProblems(this.#config)];
    for (const { of, name, text, index } of problems) {
      this.#problem(of, name, text, index);
    }
  }

  instanceGroups(): void {
    const groups = read.children(this.#config, 'instance_group');
    const kinds = new Set(groups.map(isGpu));
    for (const group of groups) {
      const kind = read.text(group, 'kind');
      const gpus = read.ints(group, 'gpus');
      if (gpus.length > 0 && (kind === 'KIND_CPU' || kind === 'KIND_MODEL')) {
        this.#problem(group, 'gpus', `expected none with ${kind}, got ${gpus.join(', ')}`);
      }
      gpus.forEach((gpu, i) => {
        if (gpu < 0) this.#problem(group, 'gpus', `expected 0 or more, got ${gpu}`, i);
      });
      this.#upTo(group, 'count', MODEL_THREADS_MAX);
      if (kinds.size > 1 && isGpu(group)) {
        this.#unsupported(group, 'kind', 'groups on both GPUs and CPUs are');
      }
      this.#rateLimiter(group, groups[0]);
    }
  }

  #rateLimiter(group: MessageValue, first: MessageValue | undefined): void {
    const limiter = read.child(group, 'rate_limiter');
    const isSame = isDeepStrictEqual(limiter, read.child(first, 'rate_limiter'));
    if (!isSame)
      this.#unsupported(group, 'rate_limiter', 'groups with different rate limiters are');
    const names = new Set<string>();
    for (const resource of read.children(limiter, 'resources')) {
      const name = read.text(resource, 'name').toLowerCase();
      if (name === '') this.#problem(resource, 'name', 'expected a name, got none');
      else if (names.has(name)) {
        this.#problem(resource, 'name', `expected each resource once, got ${echo(name)} again`);
      }
      names.add(name);
    }
  }

  #graphs(optimization: MessageValue | undefined): void {
    const max = read.int(this.#config, 'max_batch_size');
    const cuda = read.child(optimization, 'cuda');
    if (cuda === undefined) return;
    const specs = read.children(cuda, 'graph_spec');
    for (const spec of specs) {
      const size = read.int(spec, 'batch_size');
      if (size >= Math.min(1, max) && size <= max) continue;
      const expected = max > 0 ? `1 to ${max}, max_batch_size` : '0, as there is no max_batch_size';
      this.#problem(spec, 'batch_size', `expected ${expected}, got ${size}`);
    }
    if (specs.length > GRAPHS_MAX) {
      this.#problem(cuda, 'graph_spec', `expected at most ${GRAPHS_MAX}, got ${specs.length}`);
    }
    if (specs.length > 0 && !read.bool(cuda, 'graphs')) {
      this.#warn(cuda, 'graph_spec', 'no effect without graphs: true');
    }
  }

  accelerators(): void {
    const optimization = read.child(this.#config, 'optimization');
    this.#graphs(optimization);
    const lists = read.child(optimization, 'execution_accelerators');
    if (lists === undefined) return;
    const known = {
      gpu_execution_accelerator: ['tensorrt', 'cuda'],
      cpu_execution_accelerator: ['openvino'],
    };
    for (const [list, names] of Object.entries(known)) {
      for (const accelerator of read.children(lists, list)) {
        const name = read.text(accelerator, 'name');
        if (!names.includes(name)) {
          this.#problem(accelerator, 'name', `expected ${names.join(' or ')}, got ${echo(name)}`);
        }
        this.#options(accelerator, name);
      }
    }
    const onGpu = read.children(this.#config, 'instance_group').some(isGpu);
    if (!onGpu && read.children(lists, 'gpu_execution_accelerator').length > 0) {
      const use = 'used only with an instance_group of KIND_GPU, or --providers auto';
      this.#warn(lists, 'gpu_execution_accelerator', use);
    }
  }

  #options(accelerator: MessageValue, provider: string): void {
    if (provider !== 'tensorrt' && provider !== 'cuda' && provider !== 'openvino') return;
    const parameters = read.child(accelerator, 'parameters') ?? {};
    for (const [name, value] of read.entries<string>(accelerator, 'parameters')) {
      const isPrecision = provider === 'tensorrt' && name === 'precision_mode';
      const problem = isPrecision
        ? precisionProblem(value)
        : optionProblem(provider, optionName(provider, name), value);
      if (problem !== undefined) this.#problem(parameters, name, problem);
    }
  }

  parameters(): void {
    const parameters = read.child(this.#config, 'parameters') ?? {};
    const backend = read.text(this.#config, 'backend');
    const known = { ...PARAMETER_RULES, ...OWN_RULES[backend] };
    const rows = { ...TRITON_PARAMETERS, ...OWN_ROWS[backend] };
    for (const [name, parameter] of read.entries(this.#config, 'parameters')) {
      const text = read.text(parameter, 'string_value');
      const rule = Object.hasOwn(known, name) ? known[name] : undefined;
      const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
      if (rule !== undefined && !rule.fits(text)) {
        this.#problem(parameters, name, `expected ${rule.expected}, got ${echo(text)}`);
      } else if (row === undefined) {
        this.#unknownParameter(parameters, name, Object.keys(rows));
      } else if (row.state === 'no effect') {
        this.#warn(parameters, name, row.note);
      }
    }
    this.#allowedRows(parameters);
    this.#isolation(parameters);
    if (backend !== FIL_BACKEND) return;
    for (const { name, text } of filProblems(this.#config)) {
      this.#problem(name === '' ? this.#config : parameters, name || 'parameters', text);
    }
  }

  #isolation(parameters: MessageValue): void {
    const group = read.child(parameters, 'isolation_group');
    const isolation = read.text(read.child(parameters, 'isolation'), 'string_value');
    if (group === undefined || isolation === 'process') return;
    this.#warn(parameters, 'isolation_group', 'no effect without the parameter isolation: process');
  }

  /**
   * Unknown parameters with Serval's or ONNX Runtime's prefixes are refused: those of a newer
   * runtime may name files.
   */
  #unknownParameter(parameters: MessageValue, name: string, known: readonly string[]): void {
    if (name.startsWith('serval.')) {
      this.#problem(parameters, name, `unknown parameter${meant(name, known)}`);
    } else if (!name.startsWith(SESSION_PREFIX)) {
      this.#warn(parameters, name, 'no backend of Serval reads this parameter');
    } else {
      const text = read.text(read.child(parameters, name), 'string_value');
      const problem = optionProblem('session', name, text);
      if (problem !== undefined) this.#problem(parameters, name, problem);
    }
  }

  #allowedRows(parameters: MessageValue): void {
    const name = 'serval.allowed_rows';
    const text = read.text(read.child(parameters, name), 'string_value');
    if (!ROWS_TEXT.test(text)) return;
    const rows = text.split(',').map(Number);
    const ascending = rows.every((row, i) => row > (rows[i - 1] ?? 0));
    const last = rows.at(-1);
    if (ascending && last === this.#maxBatchSize) return;
    const expected = `ascending row counts up to max_batch_size, ${this.#maxBatchSize}`;
    this.#problem(parameters, name, `expected ${expected}, got ${echo(text)}`);
  }
}

function precisionProblem(value: string): string | undefined {
  if (PRECISIONS.includes(value)) return undefined;
  return `expected ${PRECISIONS.join(' or ')}, got ${echo(value)}`;
}

function isGpu(group: MessageValue): boolean {
  return read.text(group, 'kind') === 'KIND_GPU';
}

/** Element counts before, between and after the dynamic dims. */
function elementRuns(dims: readonly number[]): readonly number[] {
  const runs = [1];
  for (const dim of dims) {
    if (dim === -1) runs.push(1);
    else runs.push((runs.pop() ?? 1) * dim);
  }
  return runs;
}
