// Puts values in the place of the words that stand for them in a request. The browser's thread.
import { elementCount } from '../../../../model/shape.js';
import { dataTypeOf } from '../../../../model/datatype.js';
import type { Datatype } from '../../../../model/snapshot.js';
import { IMAGE, RANDOM, type Filled } from './examples.js';
import { canvasValues, type Scaling } from './pictures.js';

/** Maximum number of values in one request. */
export const VALUES_MAX = 16_777_216;

export interface Paint {
  readonly canvas: HTMLCanvasElement;
  readonly scaling: Scaling;
}

/** Integers stay small: most of them are indices. */
function randomToken(datatype: string): string {
  const { kind } = dataTypeOf(datatype as Datatype);
  if (kind === 'float') return Math.random().toFixed(4);
  if (kind === 'bool') return String(Math.random() < 0.5);
  if (kind === 'text') return '"text"';
  return datatype === 'UINT8' ? String(Math.floor(Math.random() * 256)) : '1';
}

function nested(tokens: readonly string[], shape: readonly number[]): string {
  let level: readonly string[] = tokens;
  for (const dim of [...shape].reverse()) {
    const grouped: string[] = [];
    for (let at = 0; at < level.length; at += dim) {
      grouped.push(`[${level.slice(at, at + dim).join(',')}]`);
    }
    level = grouped;
  }
  return level[0] ?? '[]';
}

function valuesOf(one: Filled, isImage: boolean, paint: Paint): string {
  const { shape, picture, datatype } = one;
  const count = elementCount(shape);
  if (count > VALUES_MAX) {
    throw new Error(
      `input '${one.name}': ${count} values are too many to generate (limit ${VALUES_MAX})`,
    );
  }
  const tokens =
    isImage && picture !== undefined
      ? canvasValues(paint.canvas, picture, shape, paint.scaling).map(String)
      : Array.from({ length: count }, () => randomToken(datatype));
  return one.nested ? nested(tokens, shape) : `[${tokens.join(',')}]`;
}

/** The body as it is sent. A shape that was changed beside its word counts (V2).
 * Throws where a word stands for no input. */
export function filledBody(body: string, filled: readonly Filled[], paint: Paint): string {
  const words = new RegExp(`${RANDOM}|${IMAGE}`, 'g');
  let index = -1;
  return body.replace(words, (found, at: number) => {
    index += 1;
    const one = filled[index];
    if (one === undefined) throw new Error(`${found}: no input is left for this placeholder`);
    const shape = one.nested ? undefined : shapeBefore(body.slice(0, at));
    return valuesOf({ ...one, ...(shape && { shape }) }, found === IMAGE, paint);
  });
}

/** The last "shape" that was written before. */
function shapeBefore(text: string): readonly number[] | undefined {
  const [, dims] = /.*"shape"\s*:\s*\[([\d,\s]*)\]/s.exec(text) ?? [];
  if (dims === undefined || dims.trim() === '') return undefined;
  return dims.split(',').map(Number);
}
