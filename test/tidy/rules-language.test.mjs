// The rules of plain English, on bad samples and on good ones that look alike. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commentBlocks, plainEnglish, plainTexts } from './rules/language.mjs';
import { sourceFile } from './source-files.mjs';

const found = (rule, path, text) =>
  rule({ files: [sourceFile(path, text)] }).map(({ line, message }) => `${line} ${message}`);

test('joins the lines of a comment block and keeps tail comments apart', () => {
  const text = '// One\n// block.\nint a;  // tail\n\n/** Two\n * lines. */\nint b;\n';
  assert.deepEqual(commentBlocks(text, 'cpp'), [
    { line: 1, text: 'One block.' },
    { line: 3, text: 'tail' },
    { line: 5, text: 'Two lines.' },
  ]);
});

test('refuses openings and words of the dialect in comments', () => {
  for (const comment of [
    'Of a model, its name.',
    'Where nothing is known, 0.',
    'What a request asks for.',
    'Who owns the bytes.',
    'As the protocol has it.',
    'Reads the file anew.',
    'A thread of its own.',
    'The value is none of these.',
    'The listener is told of it.',
  ]) {
    assert.equal(found(plainEnglish, 'native/base/a.cc', `// ${comment}\n`).length, 1, comment);
  }
  for (const comment of [
    'Reads the file again.',
    'Whether the name is known.',
    'Often called.',
    'Wherever it is.',
    'Asks the user: what is it?',
    'Its own thread.',
  ]) {
    assert.deepEqual(found(plainEnglish, 'ts/base/a.ts', `// ${comment}\n`), [], comment);
  }
});

test('refuses words of the dialect in documents, but not in code of documents', () => {
  assert.equal(found(plainEnglish, 'docs/a.md', 'Read anew.\n').length, 1);
  assert.deepEqual(
    found(plainEnglish, 'docs/a.md', 'Log: `read anew`.\n```\nread anew\n```\n'),
    [],
  );
  assert.deepEqual(found(plainEnglish, 'docs/spec/a.md', 'Read anew.\n'), []);
});

test('refuses words of the dialect in sentences of the product only', () => {
  const text = "const a = 'the file is read anew';\n";
  assert.equal(found(plainTexts, 'ts/base/a.ts', text).length, 1);
  assert.deepEqual(found(plainTexts, 'test/unit/a.test.ts', text), []);
  assert.deepEqual(found(plainTexts, 'ts/base/a.ts', "const a = 'anew';\n"), []);
});
