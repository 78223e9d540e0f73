// Serves a model under given settings: a repository in a temporary folder, with links to the
// model's files and a config.pbtxt with the settings. Control plane, main thread.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ONNX_FILE, TRITON_CONFIG_FILE } from '../../base/file-names.js';
import { modelPath } from '../../config/values/model-path.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { BENCH_LINKS_MAX } from '../../base/limits.js';
import type { FoundModel } from '../../models/registry/sources/scan.js';
import { foundModel } from './endpoint/found-model.js';
import { measureOf, type MeasureOptions } from './measure.js';
import type { StartTuned, TunedSettings } from './types.js';

const PREFIX = 'serval-tune-';

/** The text of a config.pbtxt. */
export type ConfigText = (settings: TunedSettings, model: string) => string;

/**
 * For a MODEL, not for a URL. Each call serves it until close(). Rejects with the server's message
 * if it does not load. Errors: InvalidArgument, ModelNotFound: no such model.
 */
export function startTunedOf(options: MeasureOptions, configText: ConfigText): StartTuned {
  return async (settings) => {
    const { model, name } = await foundModel(
      modelPath(process.cwd(), options.target),
      options.model,
    );
    const wanted = options.version;
    const version =
      wanted === undefined
        ? model.versions.at(0)
        : model.versions.find((one) => one.version === wanted);
    if (version === undefined) {
      const text = `${options.target}: model '${name}' has no version ${wanted ?? 'that can be served'}`;
      throw new ServalError(ErrorCode.ModelInvalid, text);
    }
    const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
    const remove = (): void => {
      process.off('exit', remove);
      rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', remove);
    try {
      const home = join(folder, name);
      mkdirSync(home);
      symlinkSync(version.folder, join(home, version.version), 'dir');
      if (model.source === 'repository' || model.source === 'model-folder') linkOthers(model, home);
      const text = configText(settings, name).trimEnd();
      writeFileSync(join(home, TRITON_CONFIG_FILE), `${text}\n${fileText(version.path, text)}`);
      // Given by name: a model called "1" would be a version of the folder above it.
      const target = `${name}=${home}`;
      const bench = await measureOf({ ...options, target, model: undefined, version: undefined });
      return {
        measure: bench.measure,
        close: async () => {
          await bench.close();
          remove();
        },
      };
    } catch (error) {
      remove();
      throw error;
    }
  };
}

/** Links files that a configuration names beside the versions: labels, warm-up data. */
function linkOthers({ basePath, versions }: FoundModel, home: string): void {
  const left = new Set([TRITON_CONFIG_FILE, ...versions.map((one) => basename(one.folder))]);
  const names = readdirSync(basePath).filter((name) => !left.has(name) && !/^\d+$/.test(name));
  for (const name of names.slice(0, BENCH_LINKS_MAX)) {
    symlinkSync(join(basePath, name), join(home, name));
  }
}

/**
 * The field that names the model's file, if it does not have the format's default name and `config`
 * does not name it.
 */
function fileText(path: string, config: string): string {
  if (/^\s*default_model_filename\b/m.test(config)) return '';
  const name = basename(path);
  const isOther = name !== ONNX_FILE && statSync(path).isFile();
  return isOther ? `default_model_filename: ${JSON.stringify(name)}\n` : '';
}
