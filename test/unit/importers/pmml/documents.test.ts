// Whole documents: derived fields, functions, outputs; and all their errors at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { answers, dictionary, document, importText, schema, outputsOf } from './documents.js';

const LEAF = '<Node score="1"><True/></Node>';

function model(fields: string, inner: string, around = '', target = ''): string {
  const names = fields.split(' ').map((each) => each.split(':')[0]);
  return document(`${dictionary(fields)}${around}<TreeModel functionName="regression">
    ${schema(`${names.join(' ')} ${target}`)}${inner}${LEAF}</TreeModel>`);
}

const output = (name: string, inner: string, more = '') =>
  `<OutputField name="${name}" feature="transformedValue" ${more}>${inner}</OutputField>`;
const field = (name: string) => `<FieldRef field="${name}"/>`;
const apply = (name: string, ...inner: string[]) =>
  `<Apply function="${name}">${inner.join('')}</Apply>`;
const number = (value: number) => `<Constant dataType="double">${value}</Constant>`;

test('derived fields refer to each other, wherever they stand', async () => {
  const text = model(
    'x:double',
    `<LocalTransformations><DerivedField name="b" dataType="double" optype="continuous">
      ${apply('+', field('a'), number(1))}</DerivedField></LocalTransformations>
      <Output>${output('out', apply('*', field('b'), field('a')))}</Output>`,
    `<TransformationDictionary><DerivedField name="a" dataType="double" optype="continuous">
      ${apply('*', field('x'), number(2))}</DerivedField></TransformationDictionary>`,
  );
  assert.deepEqual((await answers(text, { x: [3, null] })).columns['out'], [42, null]);
});

test('functions that the document defines', async () => {
  const around = `<TransformationDictionary>
    <DefineFunction name="twice" optype="continuous" dataType="double">
      <ParameterField name="v" dataType="double" optype="continuous"/>${apply('+', field('v'), field('v'))}
    </DefineFunction>
    <DefineFunction name="grade" optype="categorical" dataType="string">
      <ParameterField name="v" optype="continuous" dataType="double"/>
      ${apply('if', apply('greaterThan', apply('twice', field('v')), number(4)), '<Constant>high</Constant>', '<Constant>low</Constant>')}
    </DefineFunction></TransformationDictionary>`;
  const inner = `<Output>${output('out', apply('grade', field('x')))}</Output>`;
  const { columns } = await answers(model('x:double', inner, around), { x: [1, 3] });
  assert.deepEqual(columns['out'], ['low', 'high']);
});

test('behind an `if` nothing is evaluated that is not wanted', async () => {
  const around = `<TransformationDictionary><DerivedField name="log" dataType="double" optype="continuous">
    ${apply('ln', field('x'))}</DerivedField></TransformationDictionary>`;
  const guarded = apply('if', apply('isMissing', field('x')), number(-1), field('log'));
  const inner = `<Output>${output('out', guarded)}</Output>`;
  const { columns } = await answers(model('x:double', inner, around), { x: [1, null] });
  assert.deepEqual(columns['out'], [0, -1]);
});

test('tables: normalising, discretizing, mapping', async () => {
  const inner = `<Output>
    ${output('norm', '<NormContinuous field="x" mapMissingTo="7"><LinearNorm orig="0" norm="0"/><LinearNorm orig="1" norm="10"/><LinearNorm orig="2" norm="5"/></NormContinuous>')}
    ${output('bin', '<Discretize field="x" defaultValue="none" mapMissingTo="?"><DiscretizeBin binValue="low"><Interval closure="closedOpen" leftMargin="0" rightMargin="1"/></DiscretizeBin><DiscretizeBin binValue="high"><Interval closure="closedClosed" leftMargin="1" rightMargin="2"/></DiscretizeBin></Discretize>')}
    ${output('map', '<MapValues outputColumn="out" defaultValue="0" dataType="integer"><FieldColumnPair field="s" column="k"/><FieldColumnPair field="x" column="n"/><InlineTable><row><k>a</k><n>1.0</n><out>5</out></row><row><k>a</k><n>1</n><out>6</out></row><row><k>b</k><n>2</n><out>7</out></row></InlineTable></MapValues>')}
    </Output>`;
  const { columns } = await answers(model('x:double s:string', inner), {
    x: [0.5, 1, 2, 3, null],
    s: ['a', 'a', 'b', 'zz', 'a'],
  });
  assert.deepEqual(columns['norm'], [5, 10, 5, 0, 7]);
  assert.deepEqual(columns['bin'], ['low', 'high', 'high', 'none', '?']);
  assert.deepEqual(columns['map'], [0, 5, 7, 0, null]);
});

test('words of a text', async () => {
  const index = (more: string, term: string) =>
    `<TextIndex textField="s" ${more}><Constant>${term}</Constant></TextIndex>`;
  const inner = `<Output>${output('n', index('', 'sun shines'))}
    ${output('b', index('localTermWeights="binary"', 'sun'))}
    ${output('l', index('localTermWeights="logarithmic"', 'sun'))}
    ${output('c', index('isCaseSensitive="true"', 'sun'))}
    ${output('d', index('maxLevenshteinDistance="1"', 'shine'))}</Output>`;
  const { columns } = await answers(model('s:string', inner), {
    s: ['The Sun shines, and the sun shines.', 'nothing', null],
  });
  assert.deepEqual(columns['n'], [2, 0, null]);
  assert.deepEqual(columns['b'], [1, 0, null]);
  assert.deepEqual(columns['l'], [Math.log10(3), 0, null]);
  assert.deepEqual(columns['c'], [1, 0, null]);
  assert.deepEqual(columns['d'], [2, 0, null]);
});

test('outputs: probabilities by label and of the winner, entities, display values, residual', async () => {
  const text = document(`<DataDictionary><DataField name="x" optype="continuous" dataType="double"/>
    <DataField name="y" optype="categorical" dataType="string"><Value value="a" displayValue="An A"/>
    <Value value="b"/></DataField></DataDictionary>
    <TreeModel functionName="classification">${schema('x > y')}<Output>
    <OutputField name="best" feature="predictedValue"/>
    <OutputField name="shown" feature="predictedDisplayValue"/>
    <OutputField name="p" feature="probability"/>
    <OutputField name="pb" feature="probability" value="b" dataType="double"/>
    <OutputField name="none" feature="probability" value="zz"/>
    <OutputField name="id" feature="entityId"/>
    <OutputField name="rest" feature="residual"/>
    <OutputField name="hidden" feature="transformedValue" isFinalResult="false">
    ${apply('-', number(1), field('pb'))}</OutputField></Output>
    <Node id="root" score="a"><True/>
    <Node id="n1" score="a"><SimplePredicate field="x" operator="lessThan" value="1"/>
    <ScoreDistribution value="a" recordCount="3"/><ScoreDistribution value="b" recordCount="1"/></Node>
    <Node score="b"><SimplePredicate field="x" operator="greaterOrEqual" value="1"/>
    <ScoreDistribution value="a" recordCount="0"/><ScoreDistribution value="b" recordCount="4"/></Node>
    </Node></TreeModel>`);
  const { plan } = await importText(text);
  assert.deepEqual(
    outputsOf(plan).map(({ name, type, extra }) => [name, type, extra ?? false]),
    [
      ['y', 'string', false],
      ['best', 'string', false],
      ['shown', 'string', false],
      ['p', 'double', false],
      ['pb', 'double', false],
      ['none', 'double', false],
      ['id', 'string', false],
      ['rest', 'double', false],
      ['hidden', 'double', true],
    ],
  );
  const { columns } = await answers(text, { x: [0, 2], y: ['a', 'a'] });
  assert.deepEqual(columns['shown'], ['An A', 'b']);
  assert.deepEqual(columns['p'], [0.75, 1]);
  assert.deepEqual(columns['pb'], [0.25, 1]);
  assert.deepEqual(columns['none'], [0, 0]);
  assert.deepEqual(columns['id'], ['n1', '3']);
  assert.deepEqual(columns['rest'], [0.25, -1]);
  assert.deepEqual(columns['hidden'], [0.75, 0]);
});

test('without an Output a classifier answers its probabilities, and confidences where asked', async () => {
  const { plan } = await importText(
    document(`${dictionary('x:double y:string(a|b)')}<TreeModel functionName="classification">
    ${schema('x > y')}<Node score="a"><True/><ScoreDistribution value="a" recordCount="1" confidence="0.5"/>
    <ScoreDistribution value="b" recordCount="1" confidence="0.5"/></Node></TreeModel>`),
  );
  assert.deepEqual(
    outputsOf(plan).map(({ name, extra }) => [name, extra ?? false]),
    [
      ['y', false],
      ['probability(a)', false],
      ['probability(b)', false],
      ['confidence(a)', true],
      ['confidence(b)', true],
    ],
  );
});

test('fields say what they take, and only what is read is treated', async () => {
  const text = document(`${dictionary('x:double s:string(a|b) n:integer when:dateTime y:double')}
    <TreeModel functionName="regression">${schema('x s n when > y')}
    <Node score="1"><True/></Node></TreeModel>`);
  const { plan } = await importText(text);
  assert.deepEqual(
    plan.fields.map(({ name, type, optional, parseText }) => [name, type, optional, parseText]),
    [
      ['x', 'double', true, true],
      ['s', 'string', true, true],
      ['n', 'int32', true, true],
      ['when', 'timestamp', true, true],
    ],
  );
  assert.equal(plan.fields[1]?.about, 'one of "a", "b"');
  assert.equal(plan.nanIsMissing, true);
  // No expression reads s, so its value does not matter.
  assert.deepEqual((await answers(text, { s: ['zz'] })).columns['y'], [1]);
});

test('versions 3.0 to 4.4, and none other', async () => {
  for (const version of ['3.0', '3.1', '3.2', '4.0', '4.1', '4.2', '4.3', '4.4']) {
    const text = document(
      `${dictionary('x:double')}<TreeModel functionName="regression">${schema('x')}${LEAF}</TreeModel>`,
      version,
    );
    const { plan } = await importText(text);
    assert.equal(plan.producer, `PMML ${version}`);
  }
  await assert.rejects(importText(document('', '5.0')), /version "5.0"/);
  await assert.rejects(importText(document('', '2.1')), /version "2.1"/);
});

test('reports all problems at once, with their lines', async () => {
  const text = document(`<DataDictionary><DataField name="x" optype="continuous" dataType="double"/>
<DataField name="z" optype="continuous" dataType="dateDaysSince[0]"/></DataDictionary>
<TreeModel functionName="regression">
<MiningSchema><MiningField name="x" missingValueReplacement="abc"/><MiningField name="gone"/></MiningSchema>
<Output><OutputField name="o" feature="report"/>
<OutputField name="q" feature="transformedValue"><Apply function="nope"><FieldRef field="x"/></Apply></OutputField></Output>
<Node score="1"><SimplePredicate field="who" operator="equal" value="1"/>
<Node score="hello"><SimplePredicate field="x" operator="like" value="1"/></Node></Node></TreeModel>`);
  await assert.rejects(importText(text), (error) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, ErrorCode.ModelInvalid);
    for (const part of [
      /dateDaysSince\[0\] is not supported/,
      /missingValueReplacement: double: "abc" is not a number/,
      /'gone'.*not in the DataDictionary|line 6.*not in the DataDictionary/,
      /field 'who' is not declared/,
      /operator="like" is unknown/,
      /score="hello" is not a number/,
      /feature="report" is not supported/,
      /function nope is neither built in nor defined/,
    ]) {
      assert.match(error.message, part);
    }
    return true;
  });
});

test('refuses cycles, deep nesting and large documents', async () => {
  const loop = model(
    'x:double',
    `<LocalTransformations><DerivedField name="a" dataType="double" optype="continuous">${field('b')}</DerivedField>
    <DerivedField name="b" dataType="double" optype="continuous">${field('a')}</DerivedField></LocalTransformations>
    <Output>${output('o', field('a'))}</Output>`,
  );
  await assert.rejects(importText(loop), /refers to itself/);
  const recursive = `<TransformationDictionary><DefineFunction name="f"><ParameterField name="v"/>
    ${apply('f', field('v'))}</DefineFunction></TransformationDictionary>`;
  const calls = `<Output>${output('o', apply('f', field('x')))}</Output>`;
  await assert.rejects(importText(model('x:double', calls, recursive)), /calls itself/);
  const deep = '<Apply function="abs">'.repeat(300) + field('x') + '</Apply>'.repeat(300);
  const tooDeep = model('x:double', `<Output>${output('o', deep)}</Output>`);
  await assert.rejects(importText(tooDeep), /nest too deep/);
  // Each function calls the previous one twice: 2^40 parts.
  const powers = Array.from(
    { length: 40 },
    (_, i) =>
      `<DefineFunction name="f${i}"><ParameterField name="v"/>${i === 0 ? field('v') : apply('+', apply(`f${i - 1}`, field('v')), apply(`f${i - 1}`, field('v')))}</DefineFunction>`,
  );
  const bomb = model(
    'x:double',
    `<Output>${output('o', apply('f39', field('x')))}</Output>`,
    `<TransformationDictionary>${powers.join('')}</TransformationDictionary>`,
  );
  await assert.rejects(importText(bomb), /too large|too deep/);
});

test('other files, other roots, models that are not supported', async () => {
  await assert.rejects(importText('<pmml version="4.4"/>'), /root element is <pmml>/);
  await assert.rejects(importText('{"not": "xml"}'), /line 1/);
  await assert.rejects(importText(''), /no root element/);
  await assert.rejects(importText(document(dictionary('x:double'))), /no supported model element/);
  const text = (name: string) =>
    document(
      `${dictionary('x:double')}<${name} functionName="regression">${schema('x')}</${name}>`,
    );
  await assert.rejects(
    importText(text('BayesianNetworkModel')),
    /Bayesian networks are not supported/,
  );
  await assert.rejects(importText(text('TextModel')), /text models are not supported/);
  await assert.rejects(importText(text('MadeUpModel')), /MadeUpModel is not supported/);
  await assert.rejects(importText(text('TreeModel')), /has no Node/);
});
