// Files of LightGBM and XGBoost, one row and 1,000 rows of 30 columns, against the libraries' C
// functions and the compilers of such models, with one thread each. One row: calls of Serval's C
// library; otherwise the engine's time in a server.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { doublesOf, floatsOf } from '../../bodies.mjs';
import { expectFloats } from '../../check.mjs';
import { runToEnd } from '../../children.mjs';
import { oneAtATime } from '../../load/grpc-load.mjs';
import { startTrees, treeModels } from '../../trees/reference.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { newModelFolder } from '../repositories.mjs';
import { byEngine, openServalGrpc } from '../sides.mjs';

const MODEL = 'trees';
const COLUMNS = 30;
const COMPILE_MS = 120_000;
const FLOAT_BYTES = 4;
const ARGS = ['--intra-op-threads', '1'];
const TOLERANCE = 1e-9;
// XGBoost adds floats.
const FLOAT_TOLERANCE = 1e-5;
const SHAP_TOLERANCE = 1e-6;
const MODELS = {
  'few.lightgbm.txt': { name: '100 trees of depth 8', as: 'model.txt' },
  'few.xgboost.ubj': { name: '100 trees of depth 8', as: 'model.ubj' },
  'many.lightgbm.txt': { name: '1,000 trees of 255 leaves', as: 'model.txt' },
};

function modelFolder(context, from, as) {
  const folder = newModelFolder(context, MODEL);
  copyFileSync(from, join(folder, '1', as));
  return folder;
}

/** By row: the features' values, then the expected value, as LightGBM has them. */
function contributions(values, expected, count) {
  return Array.from({ length: count }, (_, row) => [
    ...values.subarray(row * COLUMNS, (row + 1) * COLUMNS),
    expected[row],
  ]).flat();
}

function readAnswer(answer, { isShap, isFloat, count }) {
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = rawOutputs(answer);
  if (isShap) return contributions(doublesOf(first), doublesOf(second), count);
  return [...(isFloat ? floatsOf(first) : doublesOf(first))];
}

async function openEngine(context, root, { file, count, isShap = false }) {
  const folder = await treeModels(context);
  const rows = readFileSync(join(folder, 'rows.floats')).subarray(0, count * COLUMNS * FLOAT_BYTES);
  const isFloat = file.includes('xgboost');
  const names = isShap ? ['shap_values', 'expected_value'] : ['margin'];
  const tensor = { name: 'x', datatype: 'FP32', shape: [count, COLUMNS] };
  let answered = [];
  const side = await openServalGrpc(context, root, {
    model: MODEL,
    path: modelFolder(context, join(folder, file), MODELS[file].as),
    plan: () => ({
      message: modelInferRequest(MODEL, [{ tensor, bytes: rows }], names),
      check: (answer) => {
        answered = readAnswer(answer, { isShap, isFloat, count });
      },
    }),
    load: oneAtATime,
    args: ARGS,
  });
  return { ...byEngine(side, side.server.http, MODEL), answered };
}

/** Serval's C library, called as the others are. */
async function openCompiled(context, root, { file, count }) {
  const source = modelFolder(context, join(await treeModels(context), file), MODELS[file].as);
  const out = join(context.tempDir, `compiled-${context.nextId()}`);
  const compile = [join(root, 'bin', 'serval.mjs'), 'compile', source];
  await runToEnd(process.execPath, [...compile, '--out', out], context.cores.all, COMPILE_MS);
  const library = join(root, 'build', 'Release', 'libserval.so');
  const side = await startTrees(context, 'serval', out, count, library);
  return { ...side, answered: [...side.answer] };
}

async function openLibrary(context, serval, { kind, file, count, isShap = false }) {
  const side = await startTrees(context, kind, file, count);
  const tolerance = isShap ? SHAP_TOLERANCE : TOLERANCE;
  const near = file.includes('xgboost') ? FLOAT_TOLERANCE : tolerance;
  expectFloats(kind, serval.answered, [...side.answer], near);
  return side;
}

function row(id, what, { reference, limit, ...options }) {
  return {
    id,
    title: what,
    reference: `${reference}, one thread`,
    metric: 'rate',
    target: { relation: '>=', limit },
    openServal: (context, root) =>
      (options.count === 1 && !options.isShap ? openCompiled : openEngine)(context, root, options),
    openReference: (context, serval) => openLibrary(context, serval, options),
  };
}

const LIBRARIES = [
  ['lightgbm', 'few.lightgbm.txt', 'LightGBM C API'],
  ['xgboost', 'few.xgboost.ubj', 'XGBoost C API'],
  ['lleaves', 'few.lightgbm.txt', 'lleaves, compiled'],
  ['treelite', 'few.lightgbm.txt', 'Treelite (tl2cgen), compiled'],
];

const few = LIBRARIES.flatMap(([kind, file, reference]) =>
  [1, 1000].map((count) =>
    row(
      `trees-${kind}-${count}`,
      `${MODELS[file].name}, ${count} ${count === 1 ? 'row, C library' : 'rows, engine'}`,
      { kind, file, count, reference, limit: count === 1 ? 1 : 1.5 },
    ),
  ),
);
const MANY = 'many.lightgbm.txt';
const many = [
  row('trees-many-lightgbm', `${MODELS[MANY].name}, 1000 rows, engine`, {
    ...{ kind: 'lightgbm', file: MANY, count: 1000, limit: 1.5 },
    reference: 'LightGBM C API',
  }),
];
const shap = [1, 1000].map((count) =>
  row(`trees-shap-${count}`, `Shapley values, 100 trees, ${count} row${count === 1 ? '' : 's'}`, {
    ...{ kind: 'shap', file: 'few.lightgbm.txt', count, isShap: true, limit: 3 },
    reference: 'LightGBM pred_contrib',
  }),
);

export const trees = [...few, ...many, ...shap];
