// A model under settings of its own: a repository in a temporary folder, with links to the model's
// files and the config.pbtxt of the settings, and a server for it. Control plane, main thread.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { modelPath } from '../config/model-path.js';
import { ErrorCode, ServalError } from '../errors.js';
import { foundModel } from './target/found-model.js';
import { measureOf, type MeasureOptions } from './measure.js';
import type { StartTuned, TunedSettings } from './types.js';

const PREFIX = 'serval-tune-';

/** The text of a config.pbtxt. */
export type ConfigText = (settings: TunedSettings, model: string) => string;

/** Of a MODEL, not of a URL. Each call serves it until close(). Rejects with the server's words
 * where it does not load so. Errors: InvalidArgument, ModelNotFound: no such model. */
export function startTunedOf(options: MeasureOptions, configText: ConfigText): StartTuned {
  return async (settings) => {
    const { model, name } = await foundModel(
      modelPath(process.cwd(), options.target),
      options.model,
    );
    const version = model.versions.at(0);
    if (version === undefined) {
      const text = `${options.target}: model '${name}' has no version that can be served`;
      throw new ServalError(ErrorCode.ModelInvalid, text);
    }
    const folder = mkdtempSync(join(tmpdir(), PREFIX));
    const remove = (): void => {
      process.off('exit', remove);
      rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', remove);
    try {
      const home = join(folder, name);
      mkdirSync(home);
      const isFile = model.source === 'file';
      symlinkSync(version.folder, join(home, version.version), 'dir');
      const text = configText(settings, name);
      const file = isFile
        ? `default_model_filename: ${JSON.stringify(basename(version.path))}\n`
        : '';
      writeFileSync(join(home, 'config.pbtxt'), `${text.trimEnd()}\n${file}`);
      const bench = await measureOf({ ...options, target: folder, model: name });
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
