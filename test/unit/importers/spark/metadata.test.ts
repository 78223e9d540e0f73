// A Spark stage's metadata, and stage folders: as versions 2 to 4 write them, and broken ones.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StageFolder } from '../../../../ts/importers/spark/read/folder.js';
import { isBefore, parseMetadata } from '../../../../ts/importers/spark/read/metadata.js';
import { Params } from '../../../../ts/importers/spark/read/params.js';
import { StageProblem } from '../../../../ts/importers/spark/read/problem.js';
import { modelFiles, openFiles, pipeline, type StageSketch } from './support/model.js';

const problem = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StageProblem, String(error));
  assert.match(error.message, message);
  return true;
};

const METADATA = {
  class: 'org.apache.spark.ml.feature.Binarizer',
  timestamp: 1,
  sparkVersion: '3.5.5',
  uid: 'Binarizer_1',
  paramMap: { threshold: 0.5 },
  defaultParamMap: { threshold: 0, outputCol: 'out' },
};
const parse = (change: object) => parseMetadata(JSON.stringify({ ...METADATA, ...change }), 'file');

describe('metadata', () => {
  test('names of classes, by Scala and by Python', () => {
    const types: [string, string][] = [
      ['org.apache.spark.ml.PipelineModel', 'PipelineModel'],
      ['org.apache.spark.ml.feature.Binarizer', 'Binarizer'],
      ['pyspark.ml.pipeline.PipelineModel', 'PipelineModel'],
      ['pyspark.ml.classification.OneVsRestModel', 'OneVsRestModel'],
      ['org.apache.spark.ml.a.b.C', 'C'],
      ['org.jpmml.sparkml.feature.Binarizer', 'org.jpmml.sparkml.feature.Binarizer'],
      ['com.org.apache.spark.ml.Binarizer', 'com.org.apache.spark.ml.Binarizer'],
      ['Binarizer', 'Binarizer'],
    ];
    for (const [className, type] of types) assert.equal(parse({ class: className }).type, type);
  });

  test('the first line counts; parameters without defaults are as good', () => {
    const { params, uid, extra } = parseMetadata(
      `\n${JSON.stringify({ ...METADATA, defaultParamMap: undefined, numClasses: 3 })}\n{"x":1}\n`,
      'file',
    );
    assert.equal(uid, 'Binarizer_1');
    assert.equal(params.number('threshold'), 0.5);
    assert.equal(extra('numClasses'), 3);
    assert.equal(extra('toString'), undefined);
  });

  test('refuses invalid metadata', () => {
    const bad: [string, RegExp][] = [
      ['', /^file is empty$/],
      ['nothing', /^file is not JSON: /],
      ['[1]', /^file: expected a JSON object, got \[1\]$/],
      ['{}', /^file: 'class': expected a string, got nothing$/],
      [JSON.stringify({ ...METADATA, uid: 7 }), /^file: 'uid': expected a string, got 7$/],
      [JSON.stringify({ ...METADATA, sparkVersion: '1.6.3' }), /Spark '1.6.3': expected 2.0 or/],
      [JSON.stringify({ ...METADATA, sparkVersion: 'x' }), /Spark 'x': expected 2.0 or later/],
      [JSON.stringify({ ...METADATA, paramMap: [] }), /'paramMap': expected an object, got \[\]/],
    ];
    for (const [text, message] of bad) {
      assert.throws(() => parseMetadata(text, 'file'), problem(message));
    }
  });

  test('versions compare as numbers', () => {
    assert.ok(isBefore('2.4.8', 3, 0));
    assert.ok(isBefore('2.1.0-SNAPSHOT', 2, 2));
    assert.ok(!isBefore('3.0.0', 3, 0));
    assert.ok(!isBefore('2.10.0', 2, 4));
    assert.ok(!isBefore('4.1.0', 3, 9));
  });
});

describe('parameters', () => {
  const params = new Params(
    {
      splits: ['-Inf', 0, 1.5, 'Inf'],
      nested: [[1, 'NaN'], []],
      names: ['a', 'b'],
      flag: true,
      text: 'Gaussian',
      vector: { type: 0, size: 3, indices: [1], values: [4] },
      nothing: null,
    },
    { flag: false, n: 4, nothing: 5, dense: { type: 1, values: [1, 2] } },
  );

  test('are read by their type, set ones before defaults', () => {
    assert.deepEqual(params.numbers('splits'), [-Infinity, 0, 1.5, Infinity]);
    assert.deepEqual(params.numberLists('nested'), [[1, Number.NaN], []]);
    assert.deepEqual(params.texts('names'), ['a', 'b']);
    assert.equal(params.flag('flag'), true);
    assert.equal(params.integer('n'), 4);
    assert.equal(params.number('nothing'), 5);
    assert.deepEqual(params.vector('vector'), Float64Array.of(0, 4, 0));
    assert.deepEqual(params.vector('dense'), Float64Array.of(1, 2));
    assert.equal(params.choice('text', ['gaussian', 'binomial'], 'binomial'), 'gaussian');
    assert.equal(params.text('absent', 'fallback'), 'fallback');
    assert.equal(params.isSet('n'), false);
    assert.equal(params.has('n'), true);
    assert.equal(params.has('constructor'), false);
    assert.equal(params.with({ flag: null, n: 9 }).integer('n'), 9);
  });

  test('of another type, absent, or of a value that nobody knows', () => {
    const bad: [() => unknown, RegExp][] = [
      [() => params.number('flag'), /^parameter flag is true: expected a number$/],
      [() => params.integer('splits'), /expected an integer$/],
      [() => params.texts('splits'), /expected a list of strings$/],
      [() => params.numbers('names'), /^parameter names is \["a","b"\]: expected a list of num/],
      [() => params.text('absent'), /^parameter absent is not in the metadata$/],
      [() => params.vector('names'), /expected a vector$/],
      [() => params.choice('text', ['a', 'b'], 'a'), /text: expected one of a, b, got 'Gaussian'$/],
    ];
    for (const [read, message] of bad) assert.throws(read, problem(message));
  });
});

describe('stage folders', () => {
  const stage = (uid: string): StageSketch => ({ class: 'feature.Tokenizer', uid });
  const ten = pipeline(...Array.from({ length: 11 }, (_, i) => stage(`Tokenizer_${i}`)));

  test('stages are found by number and uid, with leading zeros or without', async () => {
    const folder = await StageFolder.open(openFiles(modelFiles(ten)), '');
    const names = folder.stageNames();
    assert.equal(names.length, 11);
    assert.equal(names[0], 'stages/00_Tokenizer_0');
    assert.equal(names[10], 'stages/10_Tokenizer_10');
    const child = await folder.child(names[3] ?? '');
    assert.equal(child.metadata.uid, 'Tokenizer_3');
    const few = await StageFolder.open(openFiles(modelFiles(pipeline(stage('T')))), '');
    assert.deepEqual(few.stageNames(), ['stages/0_T']);
  });

  test('a stage without its folder', async () => {
    const files = modelFiles(pipeline(stage('a'), stage('b')));
    for (const name of [...files.keys()]) if (name.startsWith('stages/1_')) files.delete(name);
    const folder = await StageFolder.open(openFiles(files), '');
    assert.throws(() => folder.stageNames(), problem(/^stages\/ has no folder of stage 1 'b'$/));
  });

  test('metadata of Spark 4, in a part with a name of its own, behind an empty one', async () => {
    const files = modelFiles(stage('a'));
    const bytes = files.get('metadata/part-00000') as Uint8Array;
    files.set('metadata/part-00000', new Uint8Array(0));
    files.set('metadata/part-00001-8dee05a9-c000.txt', bytes);
    const { metadata } = await StageFolder.open(openFiles(files), '');
    assert.equal(metadata.uid, 'a');
  });

  test('refuses invalid stages', async () => {
    const open = (files: [string, string][]) =>
      StageFolder.open(
        openFiles(new Map(files.map(([name, text]) => [name, Buffer.from(text, 'latin1')]))),
        '',
      );
    const bad: [[string, string][], RegExp][] = [
      [[['model.json', '{}']], /^the model has no metadata\/part-\* file$/],
      [[['metadata/_SUCCESS', '']], /^the model has no metadata\/part-\* file$/],
      [[['metadata/part-0', '']], /^metadata contains only empty files$/],
      [[['metadata/part-0', '\xff']], /^metadata\/part-0 is not UTF-8$/],
      [[['metadata', '{}']], /metadata is a file, not a folder.*Spark Connect/],
    ];
    for (const [files, message] of bad) await assert.rejects(open(files), problem(message));
    const large = { ...openFiles(modelFiles(stage('a'))), size: () => 2 ** 27 };
    await assert.rejects(
      StageFolder.open(large, ''),
      problem(/^metadata\/part-00000: expected at most 67108864 bytes, got 134217728$/),
    );
  });

  test('tables: none, one that Spark did not write', async () => {
    const files = modelFiles(stage('a'));
    const folder = await StageFolder.open(openFiles(files), '');
    await assert.rejects(folder.table(), problem(/^data is missing$/));
    files.set('data/part-0.arrow', Buffer.from('ARROW1'));
    const other = await StageFolder.open(openFiles(files), '');
    await assert.rejects(other.table(), problem(/^data has no part-\*.parquet file$/));
  });
});
