// ModelVerification: which records are run, with which tolerances.
// Source: the PMML standard, "Model Verification".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dictionary, document, importText, schema } from './documents.js';

const ROWS = `<InlineTable xmlns:d="urn:data">
  <row><d:x>1</d:x><d:word>a b</d:word><d:y>2.5</d:y></row>
  <row><d:x>3</d:x></row></InlineTable>`;

const model = (verification: string, output = ''): string =>
  document(`${dictionary('x:double word:string y:double')}
    <RegressionModel functionName="regression">${schema('x word > y')}${output}
    <RegressionTable intercept="1.5"><NumericPredictor name="x" coefficient="1"/></RegressionTable>
    ${verification}</RegressionModel>`);

const verified = (fields: string, rows = ROWS): string =>
  `<ModelVerification recordCount="2" fieldCount="3"><VerificationFields>${fields}
    </VerificationFields>${rows}</ModelVerification>`;

const THREE = `<VerificationField field="x" column="d:x"/><VerificationField field="word"/>
  <VerificationField field="y" precision="0.01" zeroThreshold="0.001"/>`;

test('records: inputs and expected values as texts, what is missing left out', async () => {
  const { verification, warnings } = await importText(model(verified(THREE)));
  assert.deepEqual(verification, {
    outputs: [{ name: 'y', precision: 0.01, zeroThreshold: 0.001 }],
    records: [
      {
        inputs: new Map([
          ['x', '1'],
          ['word', 'a b'],
        ]),
        expected: new Map([['y', '2.5']]),
      },
      { inputs: new Map([['x', '3']]), expected: new Map() },
    ],
  });
  assert.deepEqual(warnings, []);
});

test('tolerances that are not said are those of the standard', async () => {
  const fields = THREE.replace(/precision.*"/, '');
  const { verification } = await importText(model(verified(fields)));
  assert.deepEqual(verification?.outputs, [{ name: 'y', precision: 1e-6, zeroThreshold: 1e-16 }]);
});

test('where outputs are named, targets are what the model was trained with', async () => {
  const output = '<Output><OutputField name="out" feature="predictedValue"/></Output>';
  const named = THREE + '<VerificationField field="out" column="d:y"/>';
  const { verification } = await importText(model(verified(named), output));
  assert.deepEqual(
    verification?.outputs.map(({ name }) => name),
    ['out'],
  );
  const others = await importText(model(verified(THREE), output));
  assert.deepEqual(
    others.verification?.outputs.map(({ name }) => name),
    ['y'],
  );
});

const WRONG: readonly [what: string, verification: string, said: RegExp][] = [
  ['no fields', verified(''), /has no VerificationField/],
  ['no rows', verified(THREE, '<TableLocator/>'), /has no InlineTable/],
  ['nothing that is answered', verified('<VerificationField field="x"/>'), /no field of it is/],
  ['a field without a name', verified('<VerificationField column="x"/>'), /has no field/],
  ['a tolerance', verified(THREE.replace('0.01', 'much')), /precision="much": expected a number/],
  ['a tolerance below zero', verified(THREE.replace('0.001', '-1')), /zeroThreshold="-1"/],
];

test('records that cannot be run are a warning that says why', async () => {
  for (const [what, verification, said] of WRONG) {
    const made = await importText(model(verification));
    assert.equal(made.verification, undefined, what);
    assert.equal(made.warnings.length, 1, what);
    assert.match(made.warnings[0] ?? '', /^its ModelVerification is skipped: line \d+ </, what);
    assert.match(made.warnings[0] ?? '', said, what);
  }
  assert.deepEqual((await importText(model(''))).warnings, []);
});
