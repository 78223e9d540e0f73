// `make bench-gpu`: Serval's models on a GPU against ONNX Runtime alone on the same one. Control
// plane. Writes bench/results/latest.gpu.json, .md and .svg.
//
//   node bench/gpu/run.mjs --help
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fakeMachine, realMachine } from '../../test/gpu/run.mjs';
import { compileTests } from '../../test/run/suite.mjs';
import { createContext } from '../context.mjs';
import { describeMachine, siblingsOf } from '../machine.mjs';
import { formatErrors } from '../report.mjs';
import { saveRun } from '../results.mjs';
import { splitCores } from './cores.mjs';
import { estimateSeconds, fittingGroups, groupsOf } from './groups.mjs';
import { measureGroups } from './measure.mjs';
import { MODELS, usualFolder } from './models/index.mjs';
import { HELP, parseGpuOptions } from './options.mjs';
import { markdownPage, verdicts } from './report.mjs';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
const FAILED = 1;
const NO_GPU = 2;

const print = (text) => process.stdout.write(`${text}\n`);
const progress = (text) => process.stderr.write(`${text}\n`);

/** Returns the machine to measure on, or a text with the reason why there is none. */
async function findMachine({ fake, compiled }) {
  if (!fake) return realMachine();
  if (!compiled && !compileTests()) throw new Error('tests, which build stand-ins, do not compile');
  const folder = mkdtempSync(join(tmpdir(), 'serval-fake-gpu-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return fakeMachine(folder);
}

function save(folder, name, run) {
  const { json, svg } = saveRun(folder, name, run);
  const page = join(folder, `${name}.md`);
  writeFileSync(page, markdownPage(run));
  return [json, page, svg];
}

/** The groups to measure; prints the estimate and, in a quick run, what is left out. */
function chosenGroups(options) {
  const all = groupsOf(MODELS, options);
  const groups = options.quick ? fittingGroups(all, options) : all;
  const seconds = Math.round(estimateSeconds(groups, options));
  progress(
    `estimated: ${seconds} s for ${groups.length} groups (limit ${options.limitSeconds} s), ` +
      'without the time to make the models',
  );
  const left = all.filter((group) => !groups.includes(group));
  if (left.length > 0) progress(`left out: ${left.map(({ id }) => id).join(', ')}`);
  return groups;
}

async function main() {
  const options = parseGpuOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const groups = chosenGroups(options);
  const machine = await findMachine(options);
  if (typeof machine === 'string') {
    print(`NOT MEASURED, there is no GPU to measure on: ${machine}`);
    return NO_GPU;
  }
  Object.assign(process.env, machine.env);
  const base = createContext(options, { tools: ['taskset'], programs: options.programs });
  const modelsFolder =
    options.modelsFolder ?? (options.tiny ? join(base.tempDir, 'models') : usualFolder());
  const cores = splitCores(base.cores.all, siblingsOf);
  const context = { ...base, cores, machine, modelsFolder };
  const described = {
    ...describeMachine(context.root),
    ...{ gpus: machine.names, driver: machine.driver, library: machine.library },
    ...{ isFake: machine.isFake, cores },
  };
  const rows = await measureGroups(context, groups, progress);
  const run = { machine: described, options, rows, verdicts: verdicts(rows) };
  print(markdownPage(run));
  const errors = formatErrors(rows);
  if (errors !== '') progress(errors);
  const folder = options.out ?? (machine.isFake ? undefined : RESULTS);
  if (folder !== undefined) {
    const names = options.save === undefined ? ['latest'] : ['latest', options.save];
    const written = names.flatMap((name) => save(folder, `${name}.gpu`, run));
    print(`written: ${written.map((path) => relative('.', path)).join(' ')}`);
  }
  return errors === '' ? 0 : FAILED;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    progress(`bench-gpu: ${error.message}`);
    process.exit(FAILED);
  },
);
