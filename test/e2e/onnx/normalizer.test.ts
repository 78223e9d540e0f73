// StringNormalizer without the machine's locales: the results of ONNX Runtime's kernel with
// en_US.UTF-8 installed. scikit-learn's text exports contain one that names no locale. Source: ONNX
// Runtime 1.30.0 in Python with the locales of Debian 12 (glibc 2.36).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { loadModel } from '../../../ts/api.js';
import type { OnnxAttribute, OnnxGraph, OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { folderOf, written } from './support.js';

type Attributes = Readonly<Record<string, OnnxAttribute>>;

const text = (string: string): OnnxAttribute => ({ string });
const LOWER = { case_change_action: text('LOWER') };
const UPPER = { case_change_action: text('UPPER') };
const EXACT = { is_case_sensitive: { int: 1 } };
const words = (...strings: string[]): Attributes => ({ stopwords: { strings } });

const node = (attributes: Attributes) => ({
  op: 'StringNormalizer',
  inputs: ['s'],
  outputs: ['y'],
  attributes,
});

const S = { name: 's', type: 'string' } as const;
const Y = { name: 'y', type: 'string' } as const;

const graph = (attributes: Attributes): OnnxGraph => ({
  name: 'normalizer',
  inputs: [S],
  outputs: [Y],
  nodes: [node(attributes)],
});

async function answer(
  t: TestContext,
  model: OnnxModel,
  data: readonly string[],
  shape: readonly number[] = [data.length],
): Promise<unknown> {
  const loaded = await loadModel(written(folderOf(t), 'model.onnx', model));
  try {
    const { y } = await loaded.infer({ s: { data: [...data], shape, datatype: 'BYTES' } });
    return y === undefined ? undefined : [y.shape, y.data];
  } finally {
    await loaded.close();
  }
}

const GIVEN = ['The Cat', 'the', 'SAT', 'Ünï ẞß İı Σς ǅ', 'fi'];

describe('StringNormalizer', () => {
  const cases: readonly (readonly [string, Attributes, readonly string[]])[] = [
    ['changes nothing by default', {}, GIVEN],
    ['lowers', LOWER, ['the cat', 'the', 'sat', 'ünï ßß iı σς ǆ', 'fi']],
    ['raises', UPPER, ['THE CAT', 'THE', 'SAT', 'ÜNÏ ẞß İI ΣΣ Ǆ', 'FI']],
    [
      'leaves stop words out',
      { ...EXACT, ...words('the') },
      ['The Cat', 'SAT', 'Ünï ẞß İı Σς ǅ', 'fi'],
    ],
    [
      'leaves stop words of any case out',
      { ...LOWER, ...words('THE', 'sat') },
      ['the cat', 'ünï ßß iı σς ǆ', 'fi'],
    ],
    [
      'compares in the case that it changes to',
      { ...UPPER, ...words('THE', 'sat') },
      ['THE CAT', 'ÜNÏ ẞß İI ΣΣ Ǆ', 'FI'],
    ],
    [
      'keeps the case of what it compared without case',
      words('THE', 'sat'),
      ['The Cat', 'Ünï ẞß İı Σς ǅ', 'fi'],
    ],
    [
      'has ASCII only in the locale C',
      { ...LOWER, locale: text('C') },
      ['the cat', 'the', 'sat', 'Ünï ẞß İı Σς ǅ', 'fi'],
    ],
    [
      'has two letters i in Turkish',
      { ...UPPER, locale: text('tr_TR.UTF-8') },
      ['THE CAT', 'THE', 'SAT', 'ÜNÏ ẞß İI ΣΣ Ǆ', 'Fİ'],
    ],
    [
      'takes any locale, installed or not',
      { ...LOWER, locale: text('xx_YY') },
      ['the cat', 'the', 'sat', 'ünï ßß iı σς ǆ', 'fi'],
    ],
  ];
  for (const [name, attributes, expected] of cases) {
    it(name, async (t) => {
      const got = await answer(t, { graph: graph(attributes) }, GIVEN);
      assert.deepEqual(got, [[expected.length], expected]);
    });
  }

  it('keeps a row a row, and answers one empty string where none is left', async (t) => {
    const of = { graph: graph({ ...LOWER, ...words('a') }) };
    assert.deepEqual(await answer(t, of, ['A', 'B'], [1, 2]), [[1, 1], ['b']]);
    assert.deepEqual(await answer(t, of, ['A'], [1, 1]), [[1, 1], ['']]);
    assert.deepEqual(await answer(t, of, ['A', 'a']), [[1], ['']]);
  });

  it('refuses other shapes and no strings', async (t) => {
    const of = { graph: graph(LOWER) };
    const message = /StringNormalizer: expected strings of shape \[n\] or \[1,n\], got \[2,1\]/;
    await assert.rejects(answer(t, of, ['A', 'B'], [2, 1]), { message });
    await assert.rejects(answer(t, of, []), { message: /expected at least one string, got none/ });
  });

  it('is replaced in the branches of an If', async (t) => {
    const branch = (attributes: Attributes): OnnxGraph => ({
      name: 'branch',
      inputs: [],
      outputs: [Y],
      nodes: [node(attributes)],
    });
    const model: OnnxModel = {
      graph: {
        name: 'branches',
        inputs: [S],
        outputs: [{ name: 'out', type: 'string' }],
        initializers: [{ name: 'yes', type: 'bool', dims: [], data: Uint8Array.of(1) }],
        nodes: [
          {
            op: 'If',
            inputs: ['yes'],
            outputs: ['out'],
            attributes: {
              then_branch: { graph: branch(LOWER) },
              else_branch: { graph: branch(UPPER) },
            },
          },
        ],
      },
    };
    const loaded = await loadModel(written(folderOf(t), 'model.onnx', model));
    const { out } = await loaded.infer({ s: ['The', 'CAT'] });
    await loaded.close();
    assert.deepEqual(out?.data, ['the', 'cat']);
  });

  // Every character, in strings of 4,096.
  const HASHES = {
    'en_US.UTF-8 LOWER': 'f7eb6001bc0cbc4cf4e9c6b79e90606539d05839ab27623b99b6ef72c76db917',
    'en_US.UTF-8 UPPER': '2c7ad9f09e72d951759ead0404b3eabec1fc3bcdf82cf4ac76b6316fb61cb2bf',
    'tr_TR.UTF-8 LOWER': '60706965ab88b47950f1be22c10cc1c754249f698cebf6755fd24dd1cd89399c',
    'tr_TR.UTF-8 UPPER': '47a3da649428db2155673f0d67f1f86c7a8706e270b0b8ecf093312426defbc7',
    'C LOWER': '744427ceed711072aaacd4d97d8e343591b2c1712182c9c768972c266ada3199',
    'C UPPER': '7a2f161bdc99c2216740b58905da565cad70c1ae21e25f90617da4e9ca885d35',
  } as const;
  for (const [name, expected] of Object.entries(HASHES)) {
    it(`changes every character as ${name}`, async (t) => {
      const [locale = '', action = ''] = name.split(' ');
      const model = { graph: graph({ case_change_action: text(action), locale: text(locale) }) };
      const all: string[] = [];
      for (let c = 1; c < 0x110000; c++) {
        if (c < 0xd800 || c > 0xdfff) all.push(String.fromCodePoint(c));
      }
      const texts: string[] = [];
      for (let i = 0; i < all.length; i += 4096) texts.push(all.slice(i, i + 4096).join(''));
      const [, data] = (await answer(t, model, texts)) as [unknown, readonly string[]];
      assert.equal(createHash('sha256').update(data.join('')).digest('hex'), expected);
    });
  }
});
