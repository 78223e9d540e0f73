// SQLTransformer in a pipeline: the columns after it, and which columns become request fields.
import { deepEqual, rejects, throws } from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';
import { PlanError, runPlan } from '../plan/run-plan.js';
import { answers, doubles, ints, texts } from './support/answers.js';
import { fieldsOf, outputsOf, planOf, refuses } from './support/lowered.js';
import { pipeline, type StageSketch } from './support/model.js';
import { assembler, linear, stringIndexer } from './support/stages.js';

const sql = (statement: string): StageSketch => ({
  class: 'feature.SQLTransformer',
  uid: 'SQL_1',
  params: { statement },
});
const doubled = linear([2], 0);

describe('SQLTransformer', () => {
  test('adds columns; what it reads first is a field', async () => {
    const model = pipeline(
      sql('SELECT *, a + b AS sum FROM __THIS__'),
      assembler(['sum']),
      doubled,
    );
    const plan = await planOf(model);
    deepEqual(fieldsOf(plan), ['a: any', 'b: any']);
    deepEqual(outputsOf(plan), ['prediction: double', '(sum: any)', '(features: vector)']);
    await answers(model, { a: doubles(1.5), b: ints(2) }, { prediction: [7] });
  });

  test('a field is known by the stages that say what they take', async () => {
    const model = pipeline(
      sql('SELECT *, CONCAT(c, "!") AS loud FROM __THIS__'),
      stringIndexer('c', 'i', ['x']),
      stringIndexer('loud', 'k', ['x!']),
    );
    const plan = await planOf(model);
    deepEqual(fieldsOf(plan), ['c: string']);
    await answers(model, { c: texts('x') }, { i: [0], k: [0] });
  });

  test('behind the model: only what it lists', async () => {
    const model = pipeline(
      assembler(['a']),
      doubled,
      sql("SELECT prediction AS p, IF(prediction > 3, 'high', 'low') AS level FROM __THIS__"),
    );
    deepEqual(outputsOf(await planOf(model)), ['p: double', 'level: string']);
    await answers(model, { a: doubles(1, 2) }, { p: [2, 4], level: ['low', 'high'] });
  });

  test('a column may be another one of the same name', async () => {
    const model = pipeline(sql('SELECT a + 1 AS a FROM __THIS__'), assembler(['a']), doubled);
    await answers(model, { a: doubles(1) }, { prediction: [4] });
  });

  test('a list of texts is declared as one', async () => {
    const model = pipeline(sql("SELECT split(c, ',') AS parts, size(parts) AS n FROM __THIS__"));
    deepEqual(outputsOf(await planOf(model)), ['parts: list', 'n: int32']);
    await answers(model, { c: texts('x,y', 'z') }, { parts: [['x', 'y'], ['z']], n: [2, 1] });
  });

  test('alone: what it makes, and what it passes on', async () => {
    const model = pipeline(
      stringIndexer('c', 'i', ['x', 'y']),
      sql('SELECT *, i * 10 AS ten FROM __THIS__'),
    );
    deepEqual(outputsOf(await planOf(model)), ['i: double', 'ten: double']);
  });

  test('refuses removed, duplicate and unsupported columns', async () => {
    const few = sql('SELECT a FROM __THIS__');
    await refuses(
      pipeline(few, assembler(['a', 'b']), linear([1, 1], 0)),
      /column 'b' has been dropped/,
    );
    await refuses(
      pipeline(few, sql('SELECT b + 1 AS c FROM __THIS__'), doubled),
      /stage 1 'SQL_1': .*unknown column 'b'/,
    );
    await refuses(
      pipeline(sql('SELECT *, a AS x, b AS x FROM __THIS__'), doubled),
      /stage 0 'SQL_1': statement: two columns are named 'x'/,
    );
    await refuses(
      pipeline(sql('SELECT * FROM __THIS__ WHERE a > 0'), { class: 'x.Y', uid: 'y' }, doubled),
      /stage 0 'SQL_1': .*WHERE/,
      /stage 1 'y': stages of class x\.Y are not supported/,
    );
  });
});

describe('SQLTransformer in ANSI mode', () => {
  const of = (version: string) => ({ ...sql('SELECT *, 5 / k AS y FROM __THIS__'), version });
  const given = { k: ints(0, 2) };
  const refused = /^model 'SQL_1': row 0: \(5 \/ k\): DIVIDE_BY_ZERO$/;
  const fails = (plan: Plan) =>
    throws(
      () => runPlan(plan, given),
      (error) => error instanceof PlanError && refused.test(error.message),
    );
  const passes = (plan: Plan) => deepEqual(runPlan(plan, given).columns['y'], [null, 2.5]);

  test('is that of the version of Spark that saved the model', async () => {
    fails(await planOf(of('4.0.1')));
    fails(await planOf(of('4.1.0')));
    passes(await planOf(of('3.5.5')));
  });

  test('is what the setting says', async () => {
    passes(await planOf(of('4.1.0'), { ansi: 'false' }));
    fails(await planOf(of('3.5.5'), { ansi: 'true' }));
    await rejects(
      planOf(of('4.1.0'), { ansi: 'yes' }),
      /spark\.ansi: expected true or false, got 'yes'/,
    );
  });

  test('a column that fails counts only where it is read', async () => {
    const quotient = { ...sql('SELECT *, 5 / k AS r FROM __THIS__'), version: '4.1.0' };
    const guarded = { ...sql('SELECT *, IF(k = 0, -1, r) AS y FROM __THIS__'), uid: 'SQL_2' };
    const plan = await planOf(pipeline(quotient, { ...guarded, version: '4.1.0' }));
    deepEqual(runPlan(plan, given, { outputs: ['y'] }).columns['y'], [-1, 2.5]);
    throws(() => runPlan(plan, given, { outputs: ['y', 'r'] }), /DIVIDE_BY_ZERO/);
    const unguarded = { ...sql('SELECT *, r + 1 AS y FROM __THIS__'), version: '4.1.0' };
    const both = await planOf(pipeline(quotient, unguarded));
    throws(
      () => runPlan(both, given, { outputs: ['y'] }),
      /row 0: \(r \+ 1\): \(5 \/ k\): DIVIDE_BY_ZERO/,
    );
  });

  test('a column that fails refuses the row of the stage that reads it', async () => {
    const quotient = { ...sql('SELECT *, 5 / k AS r FROM __THIS__'), version: '4.1.0' };
    const plan = await planOf(pipeline(quotient, assembler(['r']), doubled));
    throws(() => runPlan(plan, given), /row 0: \(5 \/ k\): DIVIDE_BY_ZERO/);
    const { columns } = runPlan(plan, { k: ints(2) });
    deepEqual(columns['prediction'], [5]);
  });

  test('a row is missing where the request asks for that', async () => {
    const plan = await planOf(of('4.1.0'));
    const { columns, refused: rows } = runPlan(plan, given, { nullForInvalid: true });
    deepEqual([columns['y'], rows], [[null, 2.5], [0]]);
  });

  test('a column without AS has the name that its version of Spark gives it', async () => {
    const named = (version: string) =>
      planOf({ ...sql('SELECT *, k BETWEEN 1 AND 2 FROM __THIS__'), version });
    deepEqual(outputsOf(await named('4.1.0')), ['between(k, 1, 2): bool']);
    deepEqual(outputsOf(await named('3.5.5')), ['((k >= 1) AND (k <= 2)): bool']);
  });
});
