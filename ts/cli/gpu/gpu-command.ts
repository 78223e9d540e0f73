// `serval gpu install`: installs the libraries that GPUs need, from the user's package index.
// Control plane, main thread.
import { resolve } from 'node:path';
import { parseFlags } from '../../config/command-line.js';
import { boolValue, textValue } from '../../config/values/values.js';
import { ErrorCode } from '../../base/errors.js';
import { defaultGpuFolder } from '../../engine/gpu-folder.js';
import { CUDA_WHEELS, TENSORRT_WHEELS } from '../../models/placement/wheels.js';
import { echo, visible } from '../../base/text.js';
import { asUsage, UsageError } from '../usage.js';
import { GPU_FLAGS } from './flags.js';
import { install } from './install/install.js';
import { pipSettings } from './install/pip-settings.js';
import { Progress } from './install/progress.js';

/** Returns the exit code. Errors: UsageError; InstallError. */
export async function gpuCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const { settings, positional } = await asUsage(() => parseFlags(args, cwd, GPU_FLAGS));
  if (positional.length !== 1 || positional[0] !== 'install') {
    const got = positional.length === 0 ? 'nothing' : positional.map(echo).join(' ');
    throw new UsageError(
      ErrorCode.InvalidArgument,
      `gpu: expected \`serval gpu install [--tensorrt] [--to DIR]\`, got ${got}`,
    );
  }
  const text = async (name: string): Promise<string | undefined> => {
    const written = settings.get(name);
    return written && (await asUsage(() => textValue(written)));
  };
  const tensorrt = settings.get('tensorrt');
  const withTensorrt = tensorrt !== undefined && (await asUsage(() => boolValue(tensorrt)));
  const to = await text('to');
  const folder = to === undefined ? defaultGpuFolder() : resolve(cwd, to);
  const pip = pipSettings(await text('index-url'));
  const progress = new Progress(process.stderr);
  const wheels = withTensorrt ? [...CUDA_WHEELS, ...TENSORRT_WHEELS] : CUDA_WHEELS;
  await install({ folder, wheels, progress, ...pip });
  process.stdout.write(`${visible(doneText(folder, folder === defaultGpuFolder()))}\n`);
  return 0;
}

function doneText(folder: string, isDefault: boolean): string {
  const how = isDefault
    ? 'servers find it automatically'
    : `servers find it with SERVAL_GPU_FOLDER=${folder}`;
  return `installed in ${folder}: ${how}; the licences are in the same folder; run \`serval doctor\` to check`;
}
