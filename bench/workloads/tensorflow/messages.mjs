// Decoding a PredictRequest of 150,528 floats, and encoding the response, against protobuf's own
// C++ on the same bytes: rows from wire_tf_bench.
import { runToEnd } from '../../children.mjs';
import { parseMicro } from '../../micro.mjs';
import { judgeFigures, spread } from '../../statistics.mjs';

const TIMEOUT_MS = 120_000;
const REFERENCE = 'protobuf C++';
const TARGET = { relation: '<=', limit: 1 };
// Typed values of a decoded message can have any alignment: the worst one counts.
const ROWS = [
  { id: 'tf-wire-decode-typed', prefix: 'decode floats typed', what: 'float_val, decode' },
  { id: 'tf-wire-decode-content', prefix: 'decode floats content', what: 'tensor_content, decode' },
  { id: 'tf-wire-encode-typed', prefix: 'encode floats typed', what: 'float_val, encode' },
  { id: 'tf-wire-encode-content', prefix: 'encode floats content', what: 'tensor_content, encode' },
];

/** The row for one kind of line of wire_tf_bench. */
export function wireRow({ id, prefix, what }, measured) {
  const found = measured.filter(({ name }) => name.startsWith(prefix));
  if (found.length === 0) throw new Error(`wire_tf_bench: no '${prefix}'`);
  if (!found.every(({ reference }) => reference.startsWith('protobuf'))) {
    throw new Error('wire_tf_bench was built without protobuf: scripts/ensure-tools.sh bench');
  }
  const ratios = found.map((one) => one.ns / one.reference_ns);
  const worst = found[ratios.indexOf(Math.max(...ratios))];
  const sample = (ns) => ({ usPerRequest: ns / 1000, perSecond: 1e9 / ns });
  const row = {
    id,
    title: `150,528 floats as ${what}, in C++`,
    reference: REFERENCE,
    form: 'ratio',
    target: TARGET,
    note: 'the worst of four alignments, if there are four',
  };
  return {
    ...judgeFigures(row, [Math.max(...ratios)]),
    spread: spread(ratios),
    sides: { serval: sample(worst.ns), reference: sample(worst.reference_ns) },
    rounds: found,
  };
}

async function run(context) {
  const program = await context.program('wire_tf_bench');
  const output = await runToEnd(program, ['floats'], context.cores.server, TIMEOUT_MS);
  const measured = parseMicro(output);
  return ROWS.map((each) => wireRow(each, measured));
}

export const messages = [{ id: 'tf-wire', title: 'PredictRequest in C++', run }];
