// docs/reference/benchmarks.md as a whole: the method in words, and the kept runs. Pure.
import { CASES } from '../peers/cases.mjs';
import { DOCKER_PEERS } from '../peers/docker.mjs';
import { PEERS } from '../peers/peers.mjs';
import { workloads } from '../workloads/index.mjs';
import { peersText, runText, workloadTable } from './benchmarks.mjs';

/** The names of the kept runs in bench/results. */
export const KEPT = { published: 'published', peers: 'peers' };

const titles = (peers) => {
  const names = peers.map(({ title }) => title);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
};

const METHOD = `# Benchmarks

Figures of Serval against references, and beside other inference servers. The page is written by
\`bench/pages/write.mjs\` from the runs that are kept in \`bench/results/\`; a test compares it with
them. Figures of a GPU are in [GPUs](../guides/gpu.md). [The comparison](compare.md) is about
features.

## Method

- **One machine.** Client and server run on the same machine over the loopback interface. The load
  generator has one core.
- **In turns.** Each round measures every side, one after the other, so that a slow minute of the
  machine affects all. A figure is the median over the rounds; the spread is the smallest and
  largest round.
- **Checked first.** One response of each server is compared with the expected result, that of ONNX
  Runtime for ONNX models, before anything is timed. A failed request during the measurement makes
  the row an error.
- **References** show what the transport or the runtime costs alone: an echo server in
  uWebSockets.js, gRPC's own C++ echo, nginx, ONNX Runtime in C++, TensorFlow, JPMML-Evaluator,
  MLeap. An echo computes nothing; a runtime alone has no transport.
- **Load generators**: wrk and h2load for small requests, Serval's own client (\`native/load\`) for
  large bodies, fixed rates and slow models. Except for rows "at N/s", the load is a closed loop:
  each connection sends its next request when it has the response. Latencies of a closed loop are
  those of a full queue, so compare rates there, and percentiles in the rows at a fixed rate.
- **CPU per request** is the processor time of all processes of the server, divided by the requests.
  Other programs on the machine change it less than a rate.`;

const repeat = () => `## How to repeat it

\`\`\`sh
# ${workloads.length} workloads, about 95 minutes
make bench ARGS="--rounds 5 --seconds 5 --limit-seconds 7200 --save published"
# Installs the peers, builds the references, makes the models
node bench/peers/run.mjs --prepare
# ${CASES.length} cases, about 8 minutes
node bench/peers/run.mjs
# The peers in images, on a machine with Docker
node bench/peers/run.mjs --only ${DOCKER_PEERS.map(({ id }) => id).join(',')}
# Writes this page and its charts
node bench/pages/write.mjs
\`\`\`

\`--only\`, \`--rounds\` and \`--seconds\` make a run shorter. \`bench/README.md\` describes the
options, \`bench/peers/README.md\` the servers.`;

const notMeasured = () => `## What was not measured

- ${titles(DOCKER_PEERS)} are published as
  container images only, and the machine of these runs has no Docker daemon. \`bench/peers/\` has
  their launches; they were not run yet. The row of Triton is its own server with models in the
  Python backend, which costs more than the ONNX Runtime backend; its release is the one in
  PyTriton's package, older than the current one.
- More than two cores, a network between client and server, a new connection for each request.
- Large language models and token streaming: Serval does not have them.
- Memory under load, and starts with large models of the peers.
- Batching in the peers: none has it configured here. Serval's default batches on its own.`;

const beside = (run) => `## Beside other servers

Every server has the same three ONNX models, gets the same bodies from the same load generators, and
may use both cores of the machine; those of Python run two worker processes with one thread of ONNX
Runtime each. The load generator takes its time from one of the two cores, which costs fast servers
more than slow ones. Serval runs with its defaults.

${titles(PEERS)} are
those that pip can install. The code that calls the model in them is ours and follows the
documentation of each (\`bench/peers/servers/\`). BentoML and LitServe have no protocol for tensors:
their routes read the JSON of V1. References are in italics.

${run === undefined ? 'No run is kept yet.' : peersText(run)}`;

const against = (run) => {
  const figures =
    run === undefined
      ? 'No run is kept yet.'
      : `${runText(run)}

![The distance of each row from its target](../images/benchmarks-workloads.svg)

${workloadTable(run)}`;
  return `## Serval against references

A ratio of rates is Serval's over the reference's, a ratio of times likewise; a difference of
medians is in us. Targets are the project's own. The server has one core, the load another.

${figures}`;
};

/** `runs`: {published, peers}, each the parsed file or undefined. */
export function pageOf({ published, peers }) {
  return `${[METHOD, against(published), beside(peers), repeat(), notMeasured()].join('\n\n')}\n`;
}
