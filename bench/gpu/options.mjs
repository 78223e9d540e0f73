// The command line of gpu/run.mjs. Pure.
import { parseArgs } from 'node:util';
import { resultName, SHARED, SHARED_HELP, sharedOptions, wholeNumber } from '../options.mjs';
import { MODES } from './groups.mjs';
import { KINDS } from './kinds.mjs';

const BATCHES = '1,8,64';
const PATHS = ['grpc', 'rest'];
/** Time of a quick run. */
const QUICK_SECONDS = '240';

export const HELP = `node bench/gpu/run.mjs [options]${SHARED_HELP}
  --batches LIST      rows of a request (${BATCHES})
  --paths LIST        of grpc, rest (both)
  --kinds LIST        of plain, graphs, batching, shared, processes (all): plain requests, CUDA
                      graphs, dynamic batching, CUDA shared memory, several load processes
  --modes LIST        of none, isolated (both): where the model's sessions are
  --serval-args=TEXT  more words for serval serve, by spaces
  --models-folder DIR where the models are made and kept (~/.cache/serval/gpu-bench-models)
  --programs DIR      programs of bench/gpu that are built already; nothing is built then
  --out DIR           where results are written (bench/results)
  --save NAME         also keep this run as NAME.gpu.json, .md and .svg
  --tiny              the models scaled down: does it run; not a measurement
  --fake              the same over libraries that stand in for a GPU; written only with --out
  --compiled          with --fake: the tests, which build those libraries, are compiled already
--quick also fits the run into 4 minutes (or --limit-seconds), without the time to make the models:
it measures the runtime alone once a round, REST with single rows only, and lists the rows that it
leaves out.
Exit code: 0 measured (a missed target is a figure), 1 a row could not be, 2 there is no GPU.
`;

/** Returns the words of `text`, in the order of `known`. */
function namesOf(flag, text, known) {
  const names = text.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return known.filter((name) => names.includes(name));
  throw new Error(`${flag}: expected ${known.join(' or ')}, got '${unknown}'`);
}

/** Parses argv into options. Throws with the flag's name if a value is wrong. */
export function parseGpuOptions(argv) {
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    args: argv,
    options: {
      ...SHARED,
      batches: { type: 'string', default: BATCHES },
      paths: { type: 'string', default: PATHS.join(',') },
      modes: { type: 'string', default: MODES.join(',') },
      kinds: { type: 'string', default: KINDS.join(',') },
      programs: { type: 'string' },
      'serval-args': { type: 'string', default: '' },
      'models-folder': { type: 'string' },
      out: { type: 'string' },
      save: { type: 'string' },
      tiny: flag,
      fake: flag,
      compiled: flag,
    },
  });
  const { fake, compiled, out } = values;
  return {
    ...sharedOptions({
      ...values,
      'limit-seconds': values['limit-seconds'] ?? (values.quick ? QUICK_SECONDS : undefined),
    }),
    ...{ quick: values.quick, oneReference: values.quick, fewPaths: values.quick },
    warmSeconds: values.quick ? 1 : 2,
    batches: values.batches.split(',').map((text) => wholeNumber('--batches', text)),
    paths: namesOf('--paths', values.paths, PATHS),
    modes: namesOf('--modes', values.modes, MODES),
    kinds: namesOf('--kinds', values.kinds, KINDS),
    programs: values.programs,
    servalArgs: values['serval-args'].split(' ').filter((word) => word !== ''),
    modelsFolder: values['models-folder'],
    out,
    save: resultName('--save', values.save),
    tiny: values.tiny || fake,
    fake,
    compiled,
  };
}
