// The command line of peers/run.mjs. Pure.
import { parseArgs } from 'node:util';
import { resultName, selectByWords, SHARED, sharedOptions, wholeNumber } from '../options.mjs';
import { CASES } from './cases.mjs';
import { DOCKER_PEERS } from './docker.mjs';
import { PEERS } from './peers.mjs';

const CORES = 2;

export const HELP = `node bench/peers/run.mjs [options]
  --only NAMES        peers, comma-separated; without it those that pip installs:
                      ${PEERS.map(({ id }) => id).join(', ')};
                      with Docker: ${DOCKER_PEERS.map(({ id }) => id).join(', ')}
  --cases WORDS       cases by id, or a part of it; comma-separated
  --prepare           install the peers and make the models; measure nothing
  --server-cores N    cores of every server (${CORES}); worker processes of the peers
  --seconds N         whole seconds a point and round (2)
  --rounds N          rounds, each measuring every server (3)
  --quick             1 second, 1 round: does it run; not a measurement
  --limit-seconds N   start no further case after this long (1800)
  --no-references     leave the echoes and ONNX Runtime alone out
  --save NAME         the file in bench/results, without .json (peers)
  --help
`;

/** Peers by their ids, in the order of the table. Throws with the known ones on another word. */
export function selectPeers(only) {
  const known = [...PEERS, ...DOCKER_PEERS];
  if (only === undefined) return PEERS;
  const words = only
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const wrong = words.find((word) => !known.some(({ id }) => id === word));
  if (wrong !== undefined) {
    const ids = known.map(({ id }) => id).join(', ');
    throw new Error(`--only: expected names of ${ids}; got '${wrong}'`);
  }
  return known.filter(({ id }) => words.includes(id));
}

/** Cases by words of `--cases`. Throws with the known ones if none matches. */
export function selectCases(words) {
  const chosen = selectByWords(CASES, words, ({ id }) => [id]);
  if (chosen.length > 0) return chosen;
  const ids = CASES.map(({ id }) => id).join(', ');
  throw new Error(`--cases ${words} matches no case; they are: ${ids}`);
}

/** Parses the argv. Throws with the flag's name if a value is wrong. */
export function parsePeerOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      ...SHARED,
      cases: { type: 'string' },
      save: { type: 'string' },
      'no-references': { type: 'boolean', default: false },
      prepare: { type: 'boolean', default: false },
      'server-cores': { type: 'string' },
    },
  });
  return {
    ...sharedOptions(values),
    cases: values.cases,
    references: !values['no-references'],
    prepare: values.prepare,
    save: resultName('--save', values.save) ?? 'peers',
    serverCores: wholeNumber('--server-cores', values['server-cores'], CORES),
  };
}

/** The cores of the servers: the first `count` of those that we may use. Throws with fewer. */
export function serverCores({ server, all }, count) {
  if (count > all.length) {
    throw new Error(`--server-cores ${count}: this process may use ${all.length} cores`);
  }
  const others = all.filter((core) => !server.includes(core));
  return [...server, ...others].slice(0, count);
}
