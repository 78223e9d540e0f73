// The second table: the codecs alone, and each request's other costs, from build/bench/codec_bench
// and stats_bench (JSON lines). Control plane.
import { runToEnd } from './children.mjs';
import { alignTable } from './report.mjs';

const TIMEOUT_MS = 120_000;

const PROGRAMS = ['codec_bench', 'stats_bench'];

/** Runs the programs on the server's core. Resolves to their rows, separately for each program. */
export async function runMicro(context) {
  const tables = [];
  for (const name of PROGRAMS) {
    const program = await context.program(name);
    const output = await runToEnd(program, [], context.cores.server, TIMEOUT_MS);
    tables.push(parseMicro(output, name).map(withVerdict));
  }
  return tables;
}

/** Adds whether the target is met, if there is one. */
export function withVerdict(row) {
  if (row.target_ns === undefined) return row;
  return { ...row, met: row.ns_per_call < row.target_ns ? 'yes' : 'NO' };
}

/** Parses JSON lines into objects. Throws with the line on anything else. */
export function parseMicro(output, name = 'codec_bench') {
  return output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(`${name}: not JSON: ${line.slice(0, 200)}`);
      }
    });
}

/**
 * Formats the rows as a table whose columns are the members of all rows, in order of appearance.
 */
export function formatMicro(rows) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => {
    if (value === undefined || value === null) return '';
    if (typeof value !== 'number' || Number.isInteger(value)) return String(value);
    return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  };
  return alignTable([columns, ...rows.map((row) => columns.map((name) => cell(row[name])))]);
}
