// Plans in C++, from a request's tensors to the response's, without protocol and transport: rows
// from tabular_plan_bench.
import { runToEnd } from '../../children.mjs';
import { parseMicro } from '../../micro.mjs';
import { judgeFigures } from '../../statistics.mjs';

const PROGRAM = 'tabular_plan_bench';
const TIMEOUT_MS = 120_000;
const ROWS = [
  { id: 'tabular-plan-iris', name: 'iris_tree', title: 'plan of the iris tree', limitUs: 2 },
  { id: 'tabular-plan-40', name: 'pipeline_40', title: 'plan of 40 stages', limitUs: 15 },
];

/** The row for one line of tabular_plan_bench. */
export function planRow({ id, name, title, limitUs }, measured) {
  const found = measured.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${PROGRAM}: no '${name}'`);
  return judgeFigures(
    {
      id,
      title: `${title}, one row, in C++`,
      form: 'time',
      target: { relation: '<', limit: limitUs },
      note: 'the fastest of many runs',
    },
    [found.ns_per_run / 1000],
  );
}

async function run(context) {
  const program = await context.program(PROGRAM);
  const measured = parseMicro(await runToEnd(program, [], context.cores.server, TIMEOUT_MS));
  return ROWS.map((row) => planRow(row, measured));
}

export const plans = [{ id: 'tabular-plan', title: 'plans in C++', run }];
