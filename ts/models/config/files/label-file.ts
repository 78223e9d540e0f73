// The label files that a Triton model configuration names: one label per line, by index. Control
// plane; reads only files of the model's folder. Source: v2-protocol.md 2 (classification), 3
// (label_filename).
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { echo } from '../../../base/text.js';
import { read } from '../../../protobuf/schema.js';
import type { TritonConfig } from '../types.js';
import { pathBelow } from './path-below.js';
import type { ConfigProblem } from '../../../protobuf/problem.js';

export const LABEL_BYTES_MAX = 16_777_216;

export interface LabelFiles {
  /** By output name. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** Outputs with a problem have no labels. */
  readonly problems: readonly ConfigProblem[];
}

/** `modelFolder`: absolute; label files are in it or below it. */
export async function readLabels(modelFolder: string, config: TritonConfig): Promise<LabelFiles> {
  const labels = new Map<string, readonly string[]>();
  const problems: ConfigProblem[] = [];
  for (const output of read.children(config, 'output')) {
    const file = read.text(output, 'label_filename');
    if (file === '') continue;
    const found = await readOne(modelFolder, file);
    if (typeof found === 'string') {
      problems.push({ place: join(modelFolder, file), message: found });
    } else {
      labels.set(read.text(output, 'name'), found);
    }
  }
  return { labels, problems };
}

/** Returns the labels, or a problem. */
async function readOne(modelFolder: string, name: string): Promise<readonly string[] | string> {
  const outside = `label_filename: expected a file in the model's folder, got ${echo(name)}`;
  try {
    const path = await pathBelow(modelFolder, name);
    if (path === undefined) return outside;
    // Opening a pipe would block forever.
    const stats = await stat(path);
    if (!stats.isFile()) return 'label_filename: expected a file';
    if (stats.size > LABEL_BYTES_MAX) {
      return `label_filename: expected at most ${LABEL_BYTES_MAX} bytes, got ${stats.size}`;
    }
    return linesOf(await readFile(path));
  } catch (error) {
    return `label_filename: cannot read the file: ${(error as Error).message}`;
  }
}

function linesOf(bytes: Uint8Array): readonly string[] | string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return 'label_filename: expected UTF-8 text, got other bytes';
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
