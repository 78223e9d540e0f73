// A value of each field whose domain a document names: its first value, or a number well within its
// first interval. For requests that people are shown. Importer's worker thread; pure.
import type { DataField } from './document.js';
import { isNumeric, parseValue } from './types.js';

/** By name, as tokens of JSON. */
export function fieldExamples(
  fields: ReadonlyMap<string, DataField>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...fields.values()].flatMap((field) => {
      const example = exampleOf(field);
      return example === undefined ? [] : [[field.name, example]];
    }),
  );
}

function exampleOf({ dataType, values, intervals }: DataField): string | undefined {
  const [value] = values;
  if (value === undefined)
    return isNumeric(dataType) ? withinFirst(dataType, intervals) : undefined;
  if (dataType === 'string') return JSON.stringify(value);
  if (!isNumeric(dataType)) return undefined;
  try {
    const { integer, real } = parseValue(value, dataType);
    return integer === undefined ? numberToken(real) : String(integer);
  } catch (error) {
    if (error instanceof RangeError) return undefined; // a value that no request can have
    throw error;
  }
}

function withinFirst(dataType: string, intervals: DataField['intervals']): string | undefined {
  const [[left, right] = []] = intervals;
  if (left === undefined || right === undefined) return undefined;
  const [low, high] = [Number.isFinite(left), Number.isFinite(right)];
  if (!low && !high) return undefined;
  const inside = low && high ? (left + right) / 2 : low ? left + 1 : right - 1;
  if (dataType !== 'integer') return numberToken(inside);
  const whole = Math.round(inside);
  return whole > left && whole < right ? String(whole) : undefined;
}

const numberToken = (value: number | undefined): string | undefined =>
  value === undefined || !Number.isFinite(value) ? undefined : JSON.stringify(value);
