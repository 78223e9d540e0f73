// The blocks of docs/guides/quickstart.md, each in an empty folder: a block prints what it says,
// and the same as the library that made the model. Test time only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import { blocksOf, near, numbersOf, quotedOf, splitPrinted, type Block } from './blocks.js';
import { QuickStarts, libraryOf, type Library } from './running.js';

// The tolerance for the same model in single precision.
const TOLERANCE = 1e-5;

export function quickStartBlocks(): readonly Block[] {
  const page = join(packageRoot(), 'docs', 'guides', 'quickstart.md');
  return blocksOf(readFileSync(page, 'utf8'));
}

/** Tests the blocks of these libraries. Test files share the libraries: each file has 300 s. */
export function describeQuickStarts(libraries: readonly Library[]): void {
  describe(`docs/guides/quickstart.md with ${libraries.join(' and ')}`, () => {
    const starts = new QuickStarts();
    after(() => starts.remove());
    const blocks = quickStartBlocks();

    for (const library of libraries) {
      it(library, async (context) => {
        const block = blocks.find((one) => libraryOf(one) === library);
        assert.ok(block !== undefined, `the page has no quick start with ${library}`);
        const { folder, missing } = starts.python(library);
        if (missing !== '') {
          context.skip(missing);
          return;
        }
        const [output = ''] = await starts.run([block], folder);
        checkAnswer(output, block.printed);
      });
    }
  });
}

function checkAnswer(output: string, printed: string): void {
  const { before, answer } = splitPrinted(output, printed);
  const served = numbersOf(answer);
  const own = numbersOf(before).slice(-served.length);
  assert.ok(served.length > 0 && own.length === served.length, output);
  served.forEach((value, i) => assert.ok(near(value, own[i] ?? NaN, TOLERANCE), output));
  const [last = ''] = before.split('\n').slice(-1);
  for (const word of quotedOf(last)) assert.ok(quotedOf(answer).includes(word), output);
}
