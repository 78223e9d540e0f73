// Schema files: their valid content, and their effects.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode, type ServalError } from '../../../../ts/base/errors.js';
import type { Field } from '../../../../ts/importers/plan/generated/plan.js';
import { applySchema, parseSchema, readSchema } from '../../../../ts/importers/plan/schema.js';
import { typeOfTensor, widens } from '../../../../ts/importers/plan/v2-types.js';
import { filledFolder } from '../../temp-folder.js';
import { fieldsPlan } from './plans.js';

type Tensor = { name: string; datatype: string; shape: number[]; parameters?: object };

const tensor = (name: string, datatype: string, ...shape: number[]): Tensor => ({
  name,
  datatype,
  shape: shape.length === 0 ? [-1] : shape,
});

/** Every field that the plan needs, as declared by the model. */
const NEEDED: readonly Tensor[] = [
  tensor('age', 'FP64'),
  tensor('when', 'DATE'),
  tensor('free', 'FP64'),
  tensor('numbers', 'VECTOR', -1, 1, -1),
  tensor('features', 'VECTOR', -1, 4),
  tensor('words', 'STRING', -1, 1, -1),
];

function applied(inputs: readonly Tensor[], outputs: readonly Tensor[] = []) {
  return applySchema(
    fieldsPlan(),
    parseSchema(JSON.stringify({ inputs, outputs }), 's.json'),
    's.json',
  );
}

/** The field of a plan whose schema has this tensor in place of the required one. */
function fieldWith(one: Tensor): Field | undefined {
  const inputs = NEEDED.map((each) => (each.name === one.name ? one : each));
  return applied(inputs).plan.fields.find(({ name }) => name === one.name);
}

function refused(make: () => unknown, ...patterns: readonly RegExp[]): void {
  assert.throws(make, (error: ServalError) => {
    assert.equal(error.code, ErrorCode.ModelInvalid);
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  });
}

test('a schema that says what the model says changes nothing', () => {
  const { plan, warnings } = applied(NEEDED);
  const own = fieldsPlan();
  const typed = plan.fields.filter(({ name }) => name !== 'free' && name !== 'numbers');
  assert.deepEqual(
    typed,
    own.fields.filter(({ any }) => any !== true),
  );
  assert.deepEqual([plan.outputs, warnings], [own.outputs, []]);
});

test("fields whose type the model does not say get the schema's", () => {
  const free = (...args: Parameters<typeof tensor>): unknown => {
    const { type, element, size, any, precision, scale } = fieldWith(tensor(...args)) ?? {};
    return [type, element, size, any, precision, scale].filter((one) => one !== undefined);
  };
  assert.deepEqual(free('free', 'STRING'), ['string']);
  assert.deepEqual(free('free', 'BYTES', -1, 1), ['string']);
  assert.deepEqual(free('free', 'INT32'), ['int32']);
  assert.deepEqual(free('free', 'UINT8'), ['int16']);
  assert.deepEqual(free('free', 'TIMESTAMP'), ['timestamp']);
  assert.deepEqual(free('free', 'STRING', -1, 1, -1), ['list', 'string']);
  assert.deepEqual(free('free', 'FP64', -1, 3), ['list', 'double']);
  assert.deepEqual(free('numbers', 'FP64', -1, 3), ['vector', 3]);
  assert.deepEqual(free('numbers', 'VECTOR', -1, 1, -1), ['vector', -1]);
  const decimal = { ...tensor('free', 'FP64'), parameters: { precision: '10', scale: 2 } };
  const { type, precision, scale } = fieldWith(decimal) ?? {};
  assert.deepEqual([type, precision, scale], ['decimal', 10, 2]);
});

test('a narrower type is good, another is not', () => {
  for (const good of ['FP32', 'INT64', 'INT8', 'UINT32', 'FP16']) {
    assert.equal(fieldWith(tensor('age', good))?.type, 'double');
  }
  assert.equal(fieldWith(tensor('when', 'STRING'))?.type, 'date', 'text is parsed');
  refused(() => fieldWith(tensor('age', 'STRING')), /field "age" is FP64, got STRING/);
  refused(() => fieldWith(tensor('age', 'FP64', -1, 1, -1)), /"age" is FP64, got a list of FP64/);
  refused(() => fieldWith(tensor('when', 'TIMESTAMP')), /"when" is DATE, got TIMESTAMP/);
  refused(() => fieldWith(tensor('features', 'VECTOR', -1, 5)), /VECTOR of 4, got VECTOR of 5/);
  refused(
    () => fieldWith(tensor('words', 'FP64', -1, 1, -1)),
    /list of STRING, got a list of FP64/,
  );
});

test('fields that are missing or too many', () => {
  refused(() => applied(NEEDED.slice(2)), /needs the field "age"/, /needs the field "when"/);
  const { warnings } = applied([...NEEDED, tensor('more', 'FP64')]);
  assert.deepEqual(warnings, ['s.json: "more" is ignored: the model has no such field']);
  assert.equal(applied([...NEEDED, tensor('label', 'STRING')]).warnings.length, 0);
  assert.deepEqual(applied([]).plan.fields, fieldsPlan().fields, 'no inputs: the model says them');
});

test('outputs: those that are listed, in this order', () => {
  const { plan } = applied(NEEDED, [tensor('features', 'VECTOR', -1, 4)]);
  assert.deepEqual(
    plan.outputs.map(({ name, extra }) => [name, extra]),
    [
      ['features', false],
      ['age', true],
    ],
  );
  refused(
    () => applied(NEEDED, [tensor('age', 'STRING'), tensor('none', 'FP64')]),
    /"age" is FP64, got STRING/,
    /outputs: the model has no output "none"/,
  );
});

test('refuses invalid schemas with every reason', () => {
  const parse = (json: unknown) => () => parseSchema(JSON.stringify(json), 's.json');
  refused(() => parseSchema('{', 's.json'), /schema file s\.json: .*JSON/);
  refused(parse([]), /expected an object/);
  refused(parse({ inputs: {} }), /inputs: expected a list/);
  refused(parse({ fields: [] }), /unknown member "fields"/);
  refused(parse({ inputs: [tensor('a', 'FP64'), tensor('a', 'FP64')] }), /"a" occurs twice/);
  refused(
    parse({ inputs: [1, { name: 'a' }, tensor('b', 'UINT64'), tensor('c', 'FP64', -1, 2, 3)] }),
    /inputs\[0\]: expected/,
    /inputs\[1\]: expected/,
    /"b": expected a datatype of .*got UINT64/,
    /"c": expected a shape of .*got \[-1, 2, 3\]/,
  );
  for (const parameters of [
    { precision: 39, scale: 0 },
    { precision: 3, scale: 4 },
    { scale: 1 },
  ]) {
    refused(parse({ inputs: [{ ...tensor('a', 'FP64'), parameters }] }), /precision/);
  }
  refused(
    parse({ inputs: [{ ...tensor('a', 'STRING'), parameters: { precision: 3, scale: 1 } }] }),
    /precision/,
  );
});

test('a schema file is read as UTF-8 text', async (t) => {
  const folder = filledFolder(t, {
    'good.json': JSON.stringify({ inputs: NEEDED }),
    'bad.json': new Uint8Array([0x7b, 0xff]),
  });
  assert.equal((await readSchema(join(folder, 'good.json'))).inputs.length, NEEDED.length);
  for (const name of ['bad.json', 'none.json']) {
    await assert.rejects(readSchema(join(folder, name)), /schema file .*(encoded|no such file)/);
  }
});

test('widens types', () => {
  const of = (datatype: string, ...shape: number[]) => {
    const type = typeOfTensor(datatype, shape, false);
    return typeof type === 'string' ? assert.fail(type) : type;
  };
  const pairs: readonly (readonly [string, string, boolean])[] = [
    ['INT8', 'INT64', true],
    ['INT64', 'INT32', false],
    ['INT64', 'FP64', true],
    ['FP64', 'FP32', true],
    ['INT32', 'FP32', false],
    ['INT16', 'FP32', true],
    ['FP32', 'INT64', false],
    ['BOOL', 'INT8', false],
    ['DATE', 'TIMESTAMP', false],
  ];
  for (const [from, to, good] of pairs) {
    assert.equal(widens(of(from, -1), of(to, -1)), good, `${from} -> ${to}`);
  }
  assert.ok(widens(of('FP64', -1, 3), of('VECTOR', -1, 3)));
  assert.ok(!widens(of('FP64', -1), of('VECTOR', -1, 3)));
});
