// The models of the soak: a repository under explicit control, and a base path whose versions are
// added, changed and removed. Test time only.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Loaded at start and never changed; their responses are counted and compared. */
export const STEADY = ['half_plus_three', 'batched', 'text'];
/** Loaded, unloaded and reloaded all the time. */
export const COMING = ['coming_1', 'coming_2', 'coming_lazy'];
/**
 * Load with their first request and leave for each other: there is room for half of them. The one
 * at index i returns x + i.
 */
export const LAZY = Array.from({ length: 24 }, (_, i) => `lazy_${i}`);
/** Runs for tens of milliseconds: requests that are cancelled wait here. */
export const SLOW = 'slow';
/** Served from a base path, by polling. */
export const MOVING = 'moving';
export const SETTLE_MS = 300;

const BATCHED = `max_batch_size: 16
input { name: "input" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "output" data_type: TYPE_FP32 dims: [ -1 ] }
dynamic_batching { max_queue_delay_microseconds: 200 }
instance_group { count: 2 kind: KIND_CPU }
`;
const LAZY_CONFIG = 'parameters { key: "load_mode" value { string_value: "lazy" } }\n';
const MODELS_MEMORY = '16M';
const LAZY_BYTES = 1_000_000;
const SOURCES = {
  half_plus_three: ['half_plus_three/123'],
  batched: ['identity_fp32/1', BATCHED],
  text: ['identity_bytes/1'],
  coming_1: ['half_plus_three/123'],
  coming_2: ['mlp/1'],
  coming_lazy: ['half_plus_three/123', LAZY_CONFIG],
  [SLOW]: ['slow/1'],
};

export class Repository {
  constructor(folder, encode) {
    this.folder = folder;
    this.encode = encode;
    this.models = join(folder, 'repository');
    this.base = join(folder, MOVING);
    this.configFile = join(folder, 'models.config');
  }

  static async make(folder) {
    const fixtures = join(folder, 'fixtures');
    const script = join(ROOT, 'test', 'fixtures', 'make-fixtures.mjs');
    execFileSync(process.execPath, [script, fixtures], { stdio: 'inherit' });
    const onnx = await import('../../dist/importers/onnx/builder.js');
    const made = new Repository(folder, (constant) => onnx.encodeModel(plus(onnx, constant)));
    for (const [name, [source, config]] of Object.entries(SOURCES)) {
      const to = join(made.models, name, '1');
      mkdirSync(to, { recursive: true });
      cpSync(join(fixtures, 'models', source, 'model.onnx'), join(to, 'model.onnx'));
      if (config !== undefined) writeFileSync(join(made.models, name, 'config.pbtxt'), config);
    }
    for (const [index, name] of LAZY.entries()) {
      mkdirSync(join(made.models, name, '1'), { recursive: true });
      writeFileSync(join(made.models, name, 'config.pbtxt'), LAZY_CONFIG);
      const bytes = onnx.encodeModel(plus(onnx, index, LAZY_BYTES));
      writeFileSync(join(made.models, name, '1', 'model.onnx'), bytes);
    }
    made.addVersion(1, 1);
    writeFileSync(
      made.configFile,
      `model_config_list {
  config {
    name: "${MOVING}" base_path: "${made.base}"
    model_version_policy { latest { num_versions: 2 } }
  }
}
`,
    );
    return made;
  }

  get args() {
    return [
      '--model-repository',
      this.models,
      '--model-control-mode',
      'explicit',
      ...[...STEADY, SLOW, ...LAZY].flatMap((name) => ['--load-model', name]),
      '--models-memory-limit',
      MODELS_MEMORY,
      '--model-config-file',
      this.configFile,
      '--file-system-poll-wait-seconds',
      '1',
      '--settle-ms',
      String(SETTLE_MS),
    ];
  }

  /**
   * Adds version `version`, which returns x + constant. It is copied piece by piece into its final
   * place.
   */
  addVersion(version, constant) {
    const folder = join(this.base, String(version));
    mkdirSync(folder, { recursive: true });
    const bytes = this.encode(constant);
    const path = join(folder, 'model.onnx');
    writeFileSync(path, bytes.subarray(0, bytes.length >> 1));
    writeFileSync(path, bytes);
  }

  /** Replaces the same version by other contents at once. */
  replaceVersion(version, constant) {
    const path = join(this.base, String(version), 'model.onnx');
    writeFileSync(`${path}.new`, this.encode(constant));
    renameSync(`${path}.new`, path);
  }

  /** Oldest first. */
  versions() {
    return readdirSync(this.base)
      .map(Number)
      .sort((a, b) => a - b);
  }

  removeVersion(version) {
    rmSync(join(this.base, String(version)), { recursive: true });
  }
}

/** y = x + constant, with that many bytes of weights that are not used. */
function plus(onnx, constant, bytes = 0) {
  const port = (name) => ({ name, type: 'float', shape: ['batch'] });
  const data = onnx.floatBytes([constant]);
  const padding = { name: 'unused', type: 'float', dims: [bytes / 4], data: Buffer.alloc(bytes) };
  return {
    graph: {
      name: 'plus',
      inputs: [port('x')],
      outputs: [port('y')],
      initializers: [
        { name: 'c', type: 'float', dims: [], data },
        ...(bytes === 0 ? [] : [padding]),
      ],
      nodes: [{ op: 'Add', inputs: ['x', 'c'], outputs: ['y'] }],
    },
  };
}
