// `serval compile PATH --out DIR`: imports a model of any format and writes the result as a folder
// for libserval.so and `serval.load()` of Python. Loads it once, so that a folder that is written
// can be loaded. Control plane, main thread.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { echo, visible } from '../../base/text.js';
import { parseFlags, type ParsedFlags } from '../../config/command-line.js';
import { configError, textValue, type Written } from '../../config/values/values.js';
import { Model } from '../../library/load-model.js';
import { openModel } from '../../library/open-model.js';
import { MODEL_SETTINGS } from '../../library/settings.js';
import type { EngineControl, ModelSpec } from '../../model/engine-api.js';
import { withLoad } from '../../model/with-load.js';
import { asUsage, UsageError } from '../usage.js';
import { writeCompiled } from './compiled-folder.js';
import { COMPILE_FLAGS } from './flags.js';

/** Returns the exit code. Errors: UsageError; those of openModel() and of the folder. */
export async function compileCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const flags = await asUsage(() => parseFlags(args, cwd, COMPILE_FLAGS));
  const [path, ...others] = flags.positional;
  const out = await asUsage(() => textOf(flags, 'out'));
  if (path === undefined || others.length > 0 || out === undefined) {
    const got = `${flags.positional.length} and ${out === undefined ? 'no' : 'a'} --out`;
    const message = `compile: expected one PATH and --out DIR, got ${got}`;
    throw new UsageError(ErrorCode.InvalidArgument, message);
  }
  const folder = resolve(cwd, out);
  if (existsSync(folder)) throw configError('--out', `expected a new folder, got ${folder}`);
  const building = `${folder}.building-${process.pid}`;
  await mkdir(building, { recursive: true });
  try {
    const said = await compile(path, building, flags);
    await rename(building, folder);
    process.stdout.write(`${visible(folder)}  ${said}\n`);
    return 0;
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

/** Writes the compiled model to `folder`; returns a description. */
async function compile(path: string, folder: string, flags: ParsedFlags): Promise<string> {
  const quiet: [string, Written] = [
    'log-level',
    { where: 'log-level', texts: ['error'], folder: '' },
  ];
  const own = [...flags.settings].filter(([name]) => MODEL_SETTINGS.includes(name));
  const choice = await asUsage(() => ({
    name: textOf(flags, 'model'),
    version: textOf(flags, 'model-version'),
    signature: textOf(flags, 'signature'),
  }));
  const writes = (control: EngineControl): EngineControl =>
    withLoad(control, async (spec) => {
      checkNoLibraries(spec);
      await writeCompiled(folder, spec);
      return control.load(spec);
    });
  const settings = new Map([quiet, ...own]);
  const model = new Model(await openModel(path, choice, settings, (spec) => spec, writes));
  await model.close();
  const { files, bytes } = await sizeOf(folder);
  const size = `${files} files, ${(bytes / 1e6).toFixed(1)} MB`;
  return visible(`${model.format} model ${model.name}, version ${model.version}: ${size}`);
}

/** Errors: InvalidArgument: the model has operator libraries, which need a separate process. */
function checkNoLibraries({ name, operatorLibraries: [library] = [] }: ModelSpec): void {
  if (library === undefined) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `model '${name}': model_operations: expected no operator library, got ${echo(library)}: ` +
      'libserval.so and serval.load() run a compiled model in their own process, where Serval ' +
      'opens no foreign code',
  );
}

function textOf({ settings }: ParsedFlags, name: string): string | undefined {
  const written = settings.get(name);
  return written && textValue(written);
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  const names = await readdir(folder, { recursive: true });
  const stats = await Promise.all(names.map((name) => stat(join(folder, name))));
  const files = stats.filter((one) => one.isFile());
  return { files: files.length, bytes: files.reduce((sum, one) => sum + one.size, 0) };
}
