// The XML reader: unchanged elements, limits, and the same results as saxes. Test time only.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { SaxesParser } from 'saxes';
import { XML_ATTRIBUTES_MAX, XML_DEPTH_MAX } from '../../../../ts/base/limits.js';
import { XmlScanner } from '../../../../ts/importers/pmml/xml/scanner.js';
import { type XmlElement, readXml } from '../../../../ts/importers/pmml/xml/reader.js';

const folder = mkdtempSync(join(tmpdir(), 'serval-xml-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function read(text: string | Uint8Array): Promise<XmlElement> {
  const path = join(folder, 'document.xml');
  writeFileSync(path, text);
  return readXml(path);
}

// Events as text, including white space between elements; undefined: an error.
function scanned(text: string, piece: number): string | undefined {
  const events: string[] = [];
  let run = '';
  const flush = () => {
    if (run !== '') events.push(`"${run}"`);
    run = '';
  };
  const scanner = new XmlScanner({
    open(name, attributes) {
      flush();
      events.push(`<${name} ${JSON.stringify(attributes.toObject())}`);
    },
    text(part) {
      run += part;
    },
    close() {
      flush();
      events.push('>');
    },
  });
  try {
    for (let at = 0; at < text.length; at += piece) scanner.write(text.slice(at, at + piece));
    scanner.finish();
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error));
    return undefined;
  }
  return events.join('');
}

function bySaxes(text: string): string | undefined {
  const events: string[] = [];
  let run = '';
  let depth = 0;
  const flush = () => {
    if (run !== '') events.push(`"${run}"`);
    run = '';
  };
  const parser = new SaxesParser({ xmlns: false });
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('doctype', () => {
    throw new Error('doctype');
  });
  parser.on('opentag', ({ name, attributes }) => {
    flush();
    depth += 1;
    events.push(`<${name} ${JSON.stringify({ ...attributes })}`);
  });
  const text_of = (part: string) => {
    if (depth > 0) run += part;
  };
  parser.on('text', text_of);
  parser.on('cdata', text_of);
  parser.on('closetag', () => {
    flush();
    depth -= 1;
    events.push('>');
  });
  try {
    parser.write(text).close();
  } catch {
    return undefined;
  }
  return events.join('');
}

const GOOD = [
  '<a/>',
  '<?xml version="1.0" encoding="UTF-8"?>\n<a b="1" c=\'2\'>t</a>\n',
  '<a><b/><b x="y"/> <c>one &amp; two &#65;&#x1F600; &lt;&gt;&quot;&apos;</c></a>',
  '<a><!-- a <b> & c --><![CDATA[<x> & ]] ]>]]><?pi some?></a><!-- end -->',
  '<a b="line\r\nbreak\tand &#10; reference">one\r\ntwo\rthree</a>',
  '<ns:a xmlns:ns="u" ns:b="1"><ns:c/></ns:a >',
  '<élan naïve="ü">日本語</élan>',
  '<a>text ] ]] > end</a>',
  '<a b = "1"   c\n=\n"2" ></a\n>',
  '<a constructor="1" toString="2" hasOwnProperty="3"/>',
];
const BAD = [
  '',
  'text',
  '<a>',
  '<a></b>',
  '<a/><b/>',
  '</a>',
  '<a b=1/>',
  '<a b/>',
  '<a b="1" b="2"/>',
  '<a b="1"c="2"/>',
  '<a b="<"/>',
  '<a>&unknown;</a>',
  '<a>a & b</a>',
  '<a>&#0;</a>',
  '<a>&#xD800;</a>',
  '<a>]]></a>',
  '<a>\u0001</a>',
  '<a b="\u0008"/>',
  '<a><!-- -- --></a>',
  '<a><![CDATA[</a>',
  '<a/>text',
  ' <?xml version="1.0"?><a/>',
  '<1a/>',
  '< a/>',
  '<a / >',
  '<!DOCTYPE a><a/>',
  '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
  '<a><!ELEMENT b></a>',
  '<a b="x',
  '<a><?pi',
];

test('the scanner and saxes see the same, whatever the pieces', () => {
  for (const text of [...GOOD, ...BAD]) {
    const expected = bySaxes(text);
    for (const piece of [1, 2, 3, 7, 1000]) {
      assert.equal(scanned(text, piece), expected, `${JSON.stringify(text)} by ${piece}`);
    }
  }
  assert.ok(GOOD.every((text) => scanned(text, 1000) !== undefined));
  assert.ok(BAD.every((text) => scanned(text, 1000) === undefined));
});

test('random documents, cut anywhere and broken anywhere', () => {
  let seed = 42;
  const random = (most: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % most;
  };
  const parts = [
    '<a>',
    '</a>',
    '<b x="1">',
    '</b>',
    '<c/>',
    'text',
    '&amp;',
    ' ',
    '<!--x-->',
    '&#65;',
  ];
  for (let round = 0; round < 500; round += 1) {
    const inner = Array.from({ length: random(12) }, () => parts[random(parts.length)]).join('');
    let text = `<r>${inner}</r>`;
    if (random(3) === 0) {
      const at = random(text.length);
      text = text.slice(0, at) + '<>&"/= '[random(7)] + text.slice(at + random(2));
    }
    assert.equal(scanned(text, 1 + random(5)), bySaxes(text), text);
  }
});

test('elements: names without prefix, text, lines', async () => {
  const root = await read('<p:a>\n <p:b x="1">one</p:b>\n\n <c/>\n</p:a>');
  assert.equal(root.name, 'a');
  assert.equal(root.text, '');
  assert.deepEqual(
    root.children.map(({ name, text, line }) => ({ name, text, line })),
    [
      { name: 'b', text: 'one', line: 2 },
      { name: 'c', text: '', line: 4 },
    ],
  );
  assert.equal(root.children[0]?.attributes['x'], '1');
  assert.equal(root.children[0]?.attributes['constructor'], undefined);
});

test('encodings by declaration and byte order mark', async () => {
  const latin = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>', 'latin1');
  assert.equal((await read(latin)).text, 'é');
  const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<a>é</a>', 'utf16le')]);
  assert.equal((await read(wide)).text, 'é');
  assert.equal((await read(Buffer.from('\ufeff<a>é</a>'))).text, 'é');
  await assert.rejects(read(Buffer.from('<a>\xe9</a>', 'latin1')), /MODEL|line 1|not valid/);
  const odd = '<?xml version="1.0" encoding="no-such"?><a/>';
  await assert.rejects(read(odd), /no-such/);
});

test('a character whose bytes lie in two pieces of the file', async () => {
  const piece = 1 << 20;
  for (const [word, at] of [
    ['é', 1],
    ['€', 1],
    ['€', 2],
    ['😀', 3],
  ] as const) {
    const text = `<a>${'x'.repeat(piece - '<a>'.length - at)}${word}${'y'.repeat(2 * piece)}</a>`;
    const root = await read(text);
    assert.ok(root.text.length > 3 * piece - 10 && root.text.includes(`x${word}y`), word);
  }
  const cut = Buffer.from(`<a>${'x'.repeat(piece - 4)}é${'y'.repeat(piece)}</a>`);
  cut[piece] = 0x79; // the second byte of "é"
  await assert.rejects(read(cut), /line 1: .*not valid/);
});

test('limits and what is refused, with its line', async () => {
  const deep = '<a>'.repeat(XML_DEPTH_MAX + 1);
  await assert.rejects(read(deep), /nest deeper than 4096/);
  const many = Array.from({ length: XML_ATTRIBUTES_MAX + 1 }, (_, i) => ` a${i}="1"`).join('');
  await assert.rejects(read(`<a${many}/>`), /more than 256 attributes/);
  await assert.rejects(read(`<a b="${'x'.repeat(2_000_000)}"/>`), /longer than 1048576/);
  const doctype = '<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "file:///etc/passwd">\n<a/>';
  await assert.rejects(read(doctype), /line 2: a document type declaration is not accepted/);
  await assert.rejects(read('<a>\n\n</b>'), /line 3: <\/b> closes <a>|line 3: .*closes <a>/);
  await assert.rejects(read('<a __proto__="1"/>'), /__proto__/);
  await assert.rejects(read('\u0000\u0001binary'), /line 1/);
});

test('reads a file that gzip compressed', async () => {
  const root = await read(gzipSync('<a x="1"><b>t\u00e9xt</b></a>'));
  assert.equal(root.attributes['x'], '1');
  assert.equal(root.children[0]?.text, 't\u00e9xt');
  const two = Buffer.concat([gzipSync('<a>'), gzipSync('</a>')]);
  assert.equal((await read(two)).name, 'a', 'a file of two members');
});

test('refuses gzip data that is damaged or inflates out of proportion', async () => {
  const packed = gzipSync(`<a>${'x'.repeat(10_000)}</a>`);
  await assert.rejects(read(packed.subarray(0, 20)), /the gzip data is damaged: unexpected end/);
  const damaged = Buffer.from(packed);
  damaged.fill(0xff, 12, 20);
  await assert.rejects(read(damaged), /document\.xml: the gzip data is damaged: /);
  const bomb = gzipSync(`<a>${' '.repeat(40_000_000)}</a>`);
  await assert.rejects(read(bomb), /compressed bytes inflate to more than \d+$/);
  await assert.rejects(read(gzipSync('<a>')), /line 1: /);
});
