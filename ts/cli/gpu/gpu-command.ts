// `serval gpu install`: installs the libraries that GPUs need, from the user's package index.
// `serval gpu adopt DIR`: uses those that the machine already has. Control plane, main thread.
import { resolve } from 'node:path';
import { parseFlags } from '../../config/command-line.js';
import { boolValue, textValue, type Written } from '../../config/values/values.js';
import { ErrorCode } from '../../base/errors.js';
import { defaultGpuFolder } from '../../engine/gpu-folder.js';
import { CUDA_WHEELS, TENSORRT_WHEELS } from '../../models/placement/wheels.js';
import { echo, visible } from '../../base/text.js';
import { asUsage, UsageError } from '../usage.js';
import { adopt } from './adopt/adopt.js';
import { ADOPT_ONLY_FLAGS, GPU_FLAGS } from './flags.js';
import { install } from './install/install.js';
import { pipSettings } from './install/pip-settings.js';
import { Progress } from './install/progress.js';

const EXPECTED =
  'expected `serval gpu adopt DIR [--to DIR]` or `serval gpu install [--tensorrt] [--to DIR]`';

/** Returns the exit code. Errors: UsageError; InstallError. */
export async function gpuCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const { settings, positional } = await asUsage(() => parseFlags(args, cwd, GPU_FLAGS));
  const [action, dir, ...rest] = positional;
  const isInstall = action === 'install' && dir === undefined;
  const isAdopt = action === 'adopt' && dir !== undefined && dir !== '' && rest.length === 0;
  if (!isInstall && !isAdopt) {
    const got = positional.length === 0 ? 'nothing' : positional.map(echo).join(' ');
    throw usage(`${EXPECTED}, got ${got}`);
  }
  const flags = await flagsOf(settings);
  const { folder, tensorrt, onnxruntime } = flags;
  const options = { folder, progress: new Progress(process.stderr), ...pipSettings(flags.index) };
  if (dir === undefined) {
    const wrong = ADOPT_ONLY_FLAGS.find((name) => settings.has(name));
    if (wrong !== undefined) throw usage(`--${wrong} is a flag of \`serval gpu adopt\``);
    const wheels = tensorrt ? [...CUDA_WHEELS, ...TENSORRT_WHEELS] : CUDA_WHEELS;
    await install({ ...options, wheels });
    say(installedText(folder));
    return 0;
  }
  const changed = await adopt({
    ...options,
    ...{ dir: resolve(cwd, dir), cuda: CUDA_WHEELS, tensorrt: TENSORRT_WHEELS },
    ...{ needTensorrt: tensorrt, copy: flags.copy, dryRun: flags.dryRun, say },
    onnxruntime: onnxruntime === undefined ? undefined : resolve(cwd, onnxruntime),
  });
  say(adoptedText(folder, changed, flags.dryRun));
  return 0;
}

const say = (line: string): void => {
  process.stdout.write(`${visible(line)}\n`);
};

const usage = (message: string): UsageError =>
  new UsageError(ErrorCode.InvalidArgument, `gpu: ${message}`);

interface GpuFlags {
  readonly folder: string;
  readonly tensorrt: boolean;
  readonly copy: boolean;
  readonly dryRun: boolean;
  readonly onnxruntime: string | undefined;
  readonly index: string | undefined;
}

async function flagsOf(settings: ReadonlyMap<string, Written>): Promise<GpuFlags> {
  const text = async (name: string): Promise<string | undefined> => {
    const written = settings.get(name);
    return written && (await asUsage(() => textValue(written)));
  };
  const bool = async (name: string): Promise<boolean> => {
    const written = settings.get(name);
    return written !== undefined && (await asUsage(() => boolValue(written)));
  };
  const to = await text('to');
  return {
    folder: to === undefined ? defaultGpuFolder() : resolve(process.cwd(), to),
    tensorrt: await bool('tensorrt'),
    copy: await bool('copy'),
    dryRun: await bool('dry-run'),
    onnxruntime: await text('onnxruntime'),
    index: await text('index-url'),
  };
}

const whereText = (folder: string): string =>
  folder === defaultGpuFolder()
    ? 'servers find it automatically'
    : `servers find it with SERVAL_GPU_FOLDER=${folder}`;

const installedText = (folder: string): string =>
  `installed in ${folder}: ${whereText(folder)}; the licences are in the same folder; run \`serval doctor\` to check`;

function adoptedText(folder: string, changed: number, dryRun: boolean): string {
  if (dryRun) return `dry run: ${changed} packages of ${folder} would change; nothing was changed`;
  const what = changed === 0 ? 'nothing to change' : `${changed} packages adopted`;
  return `${what} in ${folder}: ${whereText(folder)}; run \`serval doctor\` to check`;
}
