// Packs the benchmark on a GPU for a machine that has only a driver and the CUDA libraries of
// a Python environment: Node, the built package, the benchmark with its programs, and a script that
// adopts the libraries and measures. Needs `make build models`. Build time only.
//
//   node bench/gpu/pack.mjs OUT [options]
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runtimeClosure } from '../../scripts/licences.mjs';
import { buildProgram } from '../context.mjs';
import { pickCores } from '../machine.mjs';
import { wholeNumber } from '../options.mjs';
import { slimFatbin } from './packed/slim-fatbin.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const NAME = 'serval-gpu-bench';
const PROGRAMS = ['gpu_direct', 'gpu_region'];
// Packages of npm that the benchmark imports.
const MODULES = ['@grpc/grpc-js'];
const COPIED = ['bench', 'dist', 'test/gpu/run.mjs', 'test/run', 'package.json'];
const NOT_COPIED = /^(?:bench\/(?:results|test|tensorflow|tabular|micro)|dist\/bundle)(?:\/|$)/;
const RUNTIME_FILE =
  /^libonnxruntime(?:\.so\.\d+\.\d+\.\d+|_providers_(?:shared|cuda|tensorrt)\.so)$/;
const CUDA_PROVIDER = 'libonnxruntime_providers_cuda.so';

const HELP = `node bench/gpu/pack.mjs OUT [options]
  --package FILE      the package (out/serval-VERSION-linux-x64.tar.gz); default: it is made
  --onnxruntime PATH  a folder or a wheel of onnxruntime-gpu to bring along; without it, the
                      environment has it, or it is downloaded there
  --slim N            keep only device code for compute capability N (90: 9.0) in its CUDA provider
  --part-mib N        split the archive into parts of at most N MiB
Writes OUT/run.sh, OUT/${NAME}.tar.gz (or its parts) and their hashes. There:
  bash OUT/run.sh ENVIRONMENT
`;

const run = (command, args) =>
  execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
const print = (text) => process.stdout.write(`${text}\n`);

/** Parses argv. Throws with the flag's name if a value is wrong. */
export function parsePackOptions(argv) {
  const text = { type: 'string' };
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      ...{ package: text, onnxruntime: text, slim: text, 'part-mib': text },
      help: { type: 'boolean', default: false },
    },
  });
  if (!values.help && positionals.length !== 1) {
    throw new Error(`expected one folder, OUT; got ${positionals.length}`);
  }
  if (values.slim !== undefined && values.onnxruntime === undefined) {
    throw new Error('--slim: expected --onnxruntime, whose provider it makes smaller');
  }
  const number = (name) =>
    values[name] === undefined ? undefined : wholeNumber(`--${name}`, values[name]);
  return {
    help: values.help,
    out: resolve(positionals[0] ?? '.'),
    package: values.package === undefined ? undefined : resolve(values.package),
    onnxruntime: values.onnxruntime === undefined ? undefined : resolve(values.onnxruntime),
    slim: number('slim'),
    partMib: number('part-mib'),
  };
}

/** Returns the path of the package; makes it if no file is given. */
function packageFile(given) {
  if (given !== undefined) return given;
  run(process.execPath, ['scripts/package.mjs']);
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return join(ROOT, 'out', `serval-${version}-linux-x64.tar.gz`);
}

function copyHarness(to) {
  const isWanted = (path) => !NOT_COPIED.test(path.slice(ROOT.length + 1));
  for (const name of COPIED) {
    const from = join(ROOT, name);
    if (!existsSync(from)) throw new Error(`${from} is missing: run \`make build\``);
    cpSync(from, join(to, name), { recursive: true, filter: isWanted });
  }
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const isCode = (path) => !/\.(?:map|d\.ts)$/.test(path);
  for (const name of runtimeClosure(lock, MODULES)) {
    const from = join(ROOT, 'node_modules', name);
    cpSync(from, join(to, 'node_modules', name), { recursive: true, filter: isCode });
  }
}

async function copyPrograms(to) {
  mkdirSync(to);
  for (const name of PROGRAMS) {
    copyFileSync(await buildProgram(name, pickCores()), join(to, name));
    run('strip', ['--strip-unneeded', join(to, name)]);
  }
}

/** The folder with ONNX Runtime's libraries at or below `path`, which may be a wheel. */
function runtimeFolder(path, work) {
  if (path.endsWith('.whl')) {
    const unpacked = join(work, 'wheel');
    run('unzip', ['-q', path, 'onnxruntime/capi/lib*', '-d', unpacked]);
    return join(unpacked, 'onnxruntime', 'capi');
  }
  const folders = ['.', 'capi', 'onnxruntime/capi'].map((name) => join(path, name));
  const found = folders.find((folder) => existsSync(join(folder, CUDA_PROVIDER)));
  if (found === undefined) throw new Error(`--onnxruntime ${path}: it has no ${CUDA_PROVIDER}`);
  return found;
}

function copyRuntime(from, to, slim) {
  mkdirSync(to);
  for (const name of readdirSync(from).filter((file) => RUNTIME_FILE.test(file))) {
    if (name !== CUDA_PROVIDER || slim === undefined)
      copyFileSync(join(from, name), join(to, name));
    else {
      const data = readFileSync(join(from, name));
      const { binaries, kept, removed } = slimFatbin(data, slim);
      writeFileSync(join(to, name), data);
      const [keptMib, removedMib] = [kept, removed].map((bytes) => (bytes / 2 ** 20).toFixed(1));
      print(`${name}: ${binaries} fat binaries, ${keptMib} MiB kept, ${removedMib} MiB removed`);
    }
  }
}

/** Splits `path` into path.001, ... of at most `bytes` each, and removes it. Returns the paths. */
export function split(path, bytes) {
  const source = openSync(path, 'r');
  const parts = [];
  try {
    const part = Buffer.alloc(bytes);
    for (;;) {
      const got = readSync(source, part, 0, bytes, null);
      if (got === 0) break;
      parts.push(`${path}.${String(parts.length + 1).padStart(3, '0')}`);
      writeFileSync(parts.at(-1), part.subarray(0, got));
    }
  } finally {
    closeSync(source);
  }
  rmSync(path);
  return parts;
}

function writeArchive(stage, { out, partMib }) {
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out).filter((file) => file.startsWith(`${NAME}.`))) {
    rmSync(join(out, name));
  }
  const archive = join(out, `${NAME}.tar.gz`);
  const owner = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner'];
  run('tar', [...owner, '-czf', archive, '-C', stage, ...readdirSync(stage)]);
  const files = partMib === undefined ? [archive] : split(archive, partMib * 2 ** 20);
  const lines = files.map((path) => {
    const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
    return `${hash}  ${path.slice(out.length + 1)}\n`;
  });
  writeFileSync(join(out, `${NAME}.sha256`), lines.join(''));
  copyFileSync(fileURLToPath(new URL('packed/run.sh', import.meta.url)), join(out, 'run.sh'));
  for (const path of files) print(`${path}  ${(statSync(path).size / 2 ** 20).toFixed(1)} MiB`);
}

async function main(argv) {
  const options = parsePackOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const work = mkdtempSync(join(tmpdir(), 'serval-pack-'));
  try {
    const stage = join(work, 'stage');
    const serval = join(stage, 'serval');
    mkdirSync(serval, { recursive: true });
    const file = packageFile(options.package);
    run('tar', ['-xzf', file, '--strip-components=1', '-C', serval]);
    copyHarness(serval);
    await copyPrograms(join(serval, 'programs'));
    if (options.onnxruntime !== undefined) {
      const from = runtimeFolder(options.onnxruntime, work);
      copyRuntime(from, join(stage, 'onnxruntime'), options.slim);
    }
    writeArchive(stage, options);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`pack: ${error.message}\n`);
    process.exit(1);
  });
}
