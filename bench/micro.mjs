// The second table: the codecs alone, from build/bench/codec_bench (JSON lines). Control plane.
import { runToEnd } from './children.mjs';
import { alignTable } from './report.mjs';

const TIMEOUT_MS = 120_000;

/** Runs codec_bench on the server's core. Resolves to its rows, one object a line. */
export async function runMicro(context) {
  const program = await context.program('codec_bench');
  const output = await runToEnd(program, [], context.cores.server, TIMEOUT_MS);
  return parseMicro(output);
}

/** JSON lines -> objects. Throws, with the line, on anything else. */
export function parseMicro(output) {
  return output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(`codec_bench: not JSON: ${line.slice(0, 200)}`);
      }
    });
}

/** The rows as a table whose columns are the members of all rows, in order of appearance. */
export function formatMicro(rows) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => {
    if (value === undefined || value === null) return '';
    if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
    return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  };
  return alignTable([columns, ...rows.map((row) => columns.map((name) => cell(row[name])))]);
}
