// Finds MLServer's settings of a model: in its folder, or in the folder of its latest version.
// Control plane. Reads settings and, of models that run in Python, the front of other files.
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfigText } from '../../../protobuf/text-format.js';
import { MODEL_SETTINGS_FILE, type ReadSettings, readModelSettings } from './mlserver.js';

export interface FoundSettings extends ReadSettings {
  /** Changes if the settings do. */
  readonly revision: string;
}

/** undefined: there are none. */
export async function findModelSettings(
  folder: string,
  names: readonly string[],
): Promise<FoundSettings | Error | undefined> {
  if (names.includes(MODEL_SETTINGS_FILE)) return settingsIn(folder, names);
  const versions = names.filter((name) => /^\d{1,15}$/.test(name));
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const own = join(folder, version);
    const inside = await listed(own);
    if (inside.includes(MODEL_SETTINGS_FILE)) return settingsIn(own, inside);
  }
  return undefined;
}

async function settingsIn(
  folder: string,
  names: readonly string[],
): Promise<FoundSettings | Error> {
  const path = join(folder, MODEL_SETTINGS_FILE);
  let text: string;
  try {
    text = await readConfigText(path);
  } catch (error) {
    return error as Error;
  }
  const found = readModelSettings(text, path);
  let { problem } = found;
  if (found.isPython) {
    const { foreignIn } = await import('../../../importers/run/foreign-files.js');
    problem += `; ${(await foreignIn(folder, names)) ?? 'export the model to ONNX'}`;
  }
  const revision = createHash('sha1').update(text).update(problem).digest('base64url');
  return { ...found, problem, revision };
}

/** Names in a folder; none if it cannot be read now: its scan reports that. */
async function listed(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return [];
  }
}
