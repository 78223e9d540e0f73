// Reads and writes results: bench/results/<name>.json and .svg. Control plane.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawChart } from './chart.mjs';

const DIGITS = 6; // of a kept number: no measurement has more
// A single round is kept without them; the medians over all rounds have them.
const LEFT_OUT = new Set(['p999Us', 'requests', 'bytesPerAnswer']);

const rounded = (_key, value) =>
  typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;

const shortRounds = (rounds) =>
  JSON.parse(JSON.stringify(rounds, (key, value) => (LEFT_OUT.has(key) ? undefined : value)));

const keptRow = (row) =>
  row.rounds === undefined ? row : { ...row, rounds: shortRounds(row.rounds) };

/** Writes the run as `name`; returns the paths of its JSON and its SVG chart. */
export function saveRun(folder, name, run) {
  mkdirSync(folder, { recursive: true });
  const json = join(folder, `${name}.json`);
  const svg = join(folder, `${name}.svg`);
  writeFileSync(json, `${JSON.stringify({ ...run, rows: run.rows.map(keptRow) }, rounded)}\n`);
  writeFileSync(svg, drawChart(run.rows, run.machine));
  return { json, svg };
}

/** Reads the saved run `name`; throws an error that lists the saved ones if there is none. */
export function loadRun(folder, name) {
  const path = join(folder, `${name}.json`);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -5));
  const saved = names.join(', ') || 'none';
  throw new Error(`no saved run '${name}' in ${folder}; saved: ${saved}`);
}
