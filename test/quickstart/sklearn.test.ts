// The quick start with scikit-learn, and the pages of clients, whose blocks print, in order, what
// they state. The reading and comparing of blocks is tested as well.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import { blocksOf, splitPrinted, type Block } from './blocks.js';
import { describeQuickStarts, quickStartBlocks } from './quick-starts.js';
import { LIBRARIES, QuickStarts, libraryOf } from './running.js';

describeQuickStarts(['sklearn']);

const pageBlocks = (name: string) =>
  blocksOf(readFileSync(join(packageRoot(), 'docs', 'guides', name), 'utf8'));

/** The blocks before the requests of docs/guides/clients.md: the model and its server. */
function servingBlocks(): readonly Block[] {
  const blocks = pageBlocks('clients.md');
  const serving = blocks.find(({ text }) => text.startsWith('npx serval serve'));
  assert.ok(blocks[0] !== undefined && serving !== undefined);
  return [blocks[0], serving];
}

const PAGES = [
  { name: 'clients.md', before: () => [], printing: 10 },
  { name: 'client-js.md', before: servingBlocks, printing: 6 },
];
for (const { name, before, printing } of PAGES) {
  describe(`docs/guides/${name}`, () => {
    const starts = new QuickStarts();
    after(() => starts.remove());

    it('prints what it says, block by block', async (context) => {
      const { folder, missing } = starts.python('sklearn');
      if (missing !== '') {
        context.skip(missing);
        return;
      }
      const blocks = [...before(), ...pageBlocks(name)];
      const outputs = await starts.run(blocks, folder);
      assert.equal(outputs.length, blocks.length);
      let said = 0;
      for (const [i, { line, printed, language }] of blocks.entries()) {
        await context.test(`line ${line}, ${language}`, () => {
          if (printed !== '') splitPrinted(outputs[i] ?? '', printed);
        });
        said += printed === '' ? 0 : 1;
      }
      assert.ok(said >= printing, `only ${said} blocks say what they print`);
    });
  });
}

describe('blocks', () => {
  it('are those of a section, with what they print', () => {
    const page =
      '# A\n```sh\nx\n```\n## B\n```sh\nls\n# a  b\nrm a\n```\n```js\n// 1\n```\n## C\n```\n';
    const [first, second, third] = blocksOf(page, '## B');
    assert.deepEqual(first, { language: 'sh', line: 6, text: 'ls\n# a  b\nrm a', printed: 'a  b' });
    assert.equal(second?.printed, '1');
    assert.equal(third, undefined);
    assert.throws(() => blocksOf(page, '## D'), /no line "## D"/);
    assert.throws(() => blocksOf(page), /line 15: the fence is not closed/);
    assert.throws(() => blocksOf('```text\n```\n'), /line 1: expected sh, python, js or ts/);
  });

  it('of the quick start are one for each library', () => {
    assert.deepEqual(quickStartBlocks().map(libraryOf), LIBRARIES);
  });

  it('print the same where numbers differ in the fifth digit, and else not', () => {
    const { before, answer } = splitPrinted('made\n[1.00001,\n "x"]\n', '[1.0, "x"]');
    assert.equal(before, 'made');
    assert.equal(answer, '[1.00001,\n "x"]');
    for (const output of ['[1.01, "x"]', '[1.0, "y"]', '1.0, "x"]', '', '[1.0, "x"] z']) {
      assert.throws(() => splitPrinted(output, '[1.0, "x"]'), /expected at the end/, output);
    }
  });
});
