// The files with initial states of sequences that a Triton model configuration names. Control
// plane; reads only files of the model's folder. Source: Triton's initial_state/ (data_file).
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { echo } from '../../../base/text.js';
import type { ConfigProblem } from '../../../protobuf/problem.js';
import { stateFiles, type InitialStates } from '../sequences/settings.js';
import type { TritonConfig } from '../types.js';
import { pathBelow } from './path-below.js';

export const STATES_FOLDER = 'initial_state';
export const STATE_BYTES_MAX = 268_435_456;

export interface StateFiles {
  readonly states: InitialStates;
  /** Any of them keeps the model from being served. */
  readonly problems: readonly ConfigProblem[];
}

/** `modelFolder`: absolute; the files are in its folder initial_state. */
export async function readStates(modelFolder: string, config: TritonConfig): Promise<StateFiles> {
  const states = new Map<string, Uint8Array>();
  const problems: ConfigProblem[] = [];
  for (const [input, file] of stateFiles(config)) {
    const found = await readOne(join(modelFolder, STATES_FOLDER), file);
    if (typeof found !== 'string') {
      states.set(input, found);
      continue;
    }
    problems.push({ place: join(modelFolder, STATES_FOLDER, file), message: found });
  }
  return { states, problems };
}

/** Returns the bytes, or a problem. */
async function readOne(folder: string, name: string): Promise<Uint8Array | string> {
  try {
    const path = await pathBelow(folder, name);
    if (path === undefined) {
      return `data_file: expected a file in the folder ${STATES_FOLDER}, got ${echo(name)}`;
    }
    const stats = await stat(path);
    if (!stats.isFile()) return 'data_file: expected a file';
    if (stats.size === 0) return 'data_file: expected the elements of the state, got an empty file';
    if (stats.size > STATE_BYTES_MAX) {
      return `data_file: expected at most ${STATE_BYTES_MAX} bytes, got ${stats.size}`;
    }
    return await readFile(path);
  } catch (error) {
    return `data_file: cannot read the file: ${(error as Error).message}`;
  }
}
