// Writes docs/reference/benchmarks.md and its charts in docs/images from the kept runs of
// bench/results. With --check it compares instead, and ends with 1 when a file is stale. Control
// plane.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawChart } from '../chart.mjs';
import { chartGroups } from './benchmarks.mjs';
import { drawPeers } from './charts.mjs';
import { KEPT, pageOf } from './page.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RESULTS = join(ROOT, 'bench', 'results');

/** The kept run `name` of `folder`, or undefined if there is none. */
export function readKept(folder, name) {
  const path = join(folder, `${name}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

/** Every file that is written: {path: text}, paths relative to the repository. */
export function pageFiles(results = RESULTS) {
  const published = readKept(results, KEPT.published);
  const peers = readKept(results, KEPT.peers);
  const files = { 'docs/reference/benchmarks.md': pageOf({ published, peers }) };
  if (published !== undefined) {
    const chart = drawChart(published.rows, published.machine);
    files['docs/images/benchmarks-workloads.svg'] = chart;
  }
  if (peers !== undefined) {
    files['docs/images/benchmarks-peers.svg'] = drawPeers(chartGroups(peers), peers.machine);
  }
  return files;
}

/** The paths of `files` whose text in the repository at `root` differs. */
export function staleFiles(files, root = ROOT) {
  return Object.entries(files)
    .filter(([path, text]) => {
      const file = join(root, path);
      return !existsSync(file) || readFileSync(file, 'utf8') !== text;
    })
    .map(([path]) => path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = pageFiles();
  const stale = staleFiles(files);
  if (process.argv.includes('--check')) {
    for (const path of stale) {
      process.stderr.write(`${path} is stale: node bench/pages/write.mjs\n`);
    }
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    for (const path of stale) {
      writeFileSync(join(ROOT, path), files[path]);
      process.stdout.write(`${relative('.', join(ROOT, path))}\n`);
    }
  }
}
