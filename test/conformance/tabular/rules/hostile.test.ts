// Malicious models, and requests to models that are slow for some strings, on a running server:
// each is refused by name in the repository index, uses little time and memory, and does not affect
// the others. Source: tabular.md 2.3, issue "Bad input".
import assert from 'node:assert/strict';
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer } from '../../../e2e/support/serval-process.js';
import { document } from '../../../unit/importers/pmml/documents.js';
import { tarGzOf, zipOf } from '../../../unit/importers/plan/archive/archives.js';
import { Asking } from './asking.js';
import { type Files, Repository, bundle, stages, statement, writeFiles } from './models.js';

const SUMS = statement('SELECT *, a + b AS sum FROM __THIS__');
const entries = Object.entries(SUMS).map(([name, content]) => ({ name, content }));
const zip = (...more: Parameters<typeof zipOf>[0]): Files => ({
  'model.zip': zipOf([...entries, ...more]),
});
/** The valid model's archive, with a last file that differs from its directory entry. */
const spoilt = (with_: Partial<Parameters<typeof zipOf>[0][number]>): Files => ({
  'model.zip': zipOf(
    entries.map((one, i) => (i < entries.length - 1 ? one : { ...one, ...with_ })),
  ),
});
const pmml = (text: string | Uint8Array): Files => ({ 'model.pmml': text });
const doctype = (inner: string, body: string): Files =>
  pmml(`<?xml version="1.0"?>\n<!DOCTYPE PMML [${inner}]>\n${body}`);
const LINK = 0o120777;
const MEGABYTE = 2 ** 20;

/** Ten entities, each consisting of ten of the previous one: the "billion laughs" attack. */
const LAUGHS = Array.from({ length: 10 }, (_, i) => {
  const value = i === 0 ? 'lol' : `&l${i - 1};`.repeat(10);
  return `<!ENTITY l${i} "${value}">`;
}).join('');

/** By the fault: the files, and the text in the index. */
const HOSTILE: Readonly<Record<string, readonly [Files, RegExp]>> = {
  zip_escape: [zip({ name: '../../../evil', content: 'x' }), /relative path|points outside/],
  zip_absolute: [
    zip({ name: '/tmp/serval-evil', content: 'x' }),
    /relative path|points outside|absolute/,
  ],
  zip_backslash: [zip({ name: '..\\evil', content: 'x' }), /model\.zip/],
  zip_link: [zip({ name: 'link', content: '/etc/passwd', mode: LINK }), /link/],
  zip_bomb: [
    zip({ name: 'bomb', content: Buffer.alloc(64 * MEGABYTE) }),
    /times|inflate|bomb|ratio/,
  ],
  zip_lie: [spoilt({ unpackedBytes: 2 }), /part-00000.*(?:2|bytes)/],
  zip_crc: [spoilt({ crc: 1 }), /part-00000.*(?:crc|checksum)/i],
  zip_overlap: [spoilt({ overlaps: true }), /overlap/],
  zip_encrypted: [zip({ name: 'locked', content: 'x', flags: 0x801 }), /encrypted/],
  zip_twice: [zip({ name: 'metadata/part-00000', content: '{}' }), /twice/],
  not_an_archive: [{ 'model.zip': 'PK but no more' }, /model\.zip/],
  xml_laughs: [doctype(LAUGHS, document('&l9;')), /line 2: a document type declaration/],
  xml_external: [
    doctype('<!ENTITY x SYSTEM "file:///etc/passwd">', document('&x;')),
    /line 2: a document type declaration/,
  ],
  xml_entity: [pmml(document('<Header>&undefined;</Header>')), /undefined/],
  xml_deep: [pmml(document('<Extension>'.repeat(5000))), /nest deeper than 4096/],
  xml_wide: [pmml(document(`<Extension a="${'x'.repeat(2 * MEGABYTE)}"/>`)), /longer than 1048576/],
  xml_cut: [pmml(document('').slice(0, 60)), /model\.pmml|line/],
  xml_lower: [pmml(document('').replaceAll('PMML ', 'pmml ').replace('/PMML', '/pmml')), /pmml/],
  xml_bytes: [pmml(Buffer.from([0x3c, 0x50, 0x4d, 0x4d, 0x4c, 0xff, 0x3e])), /model\.pmml|line 1/],
  java_stage: [
    stages(['feature.SQLTransformer', {}], ['com.evil.Gadget', {}]),
    /com\.evil\.Gadget/,
  ],
  tensorflow_op: [
    bundle({ graph: { op: 'tensorflow', outputs: { out: 'y' } } }),
    /'tensorflow'.*TensorFlow graphs inside bundles are not supported/,
  ],
  bad_pattern: [
    stages([
      'feature.RegexTokenizer',
      { inputCol: 's', outputCol: 'w', pattern: '(?<=a+b', gaps: true },
    ]),
    /\(\?<=a\+b/,
  ],
  back_reference: [
    statement("SELECT *, regexp_replace(s, '(a)\\\\k<none>', 'b') AS r FROM __THIS__"),
    /regexp|pattern|none/,
  ],
  deep_statement: [
    statement(`SELECT *, ${'('.repeat(5000)}1${')'.repeat(5000)} AS y FROM __THIS__`),
    /nest|deep/,
  ],
};

describe('hostile models beside good ones', () => {
  const repository = new Repository({
    ...Object.fromEntries(Object.entries(HOSTILE).map(([name, [files]]) => [name, files])),
    sums: SUMS,
    // (a+)+$ needs 2^n steps in a backtracking matcher.
    slow: stages([
      'feature.RegexTokenizer',
      { inputCol: 's', outputCol: 'w', pattern: '(a+)+$', gaps: false, minTokenLength: 0 },
    ]),
    rlike: statement("SELECT *, s RLIKE '^(([a-z])+.)+[A-Z]([a-z])+$' AS y FROM __THIS__"),
    like: statement(`SELECT *, s LIKE '${'%a'.repeat(30)}b' AS y FROM __THIS__`),
  });
  let asking: Asking;
  let reasons: ReadonlyMap<string, string>;
  before(async () => {
    const { folder } = repository;
    writeFiles(join(folder, 'folder_link', '1'), SUMS);
    symlinkSync('/etc/passwd', join(folder, 'folder_link', '1', 'stages', 'link'));
    const bomb = [...entries, { name: 'bomb', content: '\0'.repeat(64 * MEGABYTE) }];
    writeFiles(join(folder, 'tar_bomb', '1'), { 'model.tar.gz': await tarGzOf(bomb) });
    const linked = [...entries, { name: 'l', type: 'symlink', linkname: '/etc/passwd' } as const];
    writeFiles(join(folder, 'tar_link', '1'), { 'model.tar.gz': await tarGzOf(linked) });
    asking = new Asking(await startServer([folder, '--strict-readiness=false']));
    const [, text] = await asking.post('/v2/repository/index', {});
    const index = JSON.parse(text) as { name: string; state: string; reason?: string }[];
    reasons = new Map(
      index.map(({ name, state, reason = '' }) => [name, state === 'READY' ? 'READY' : reason]),
    );
  });
  after(async () => {
    asking.client.close();
    await asking.server.stop();
    repository.remove();
  });

  for (const [name, [, words]] of Object.entries(HOSTILE)) {
    test(`${name} is refused by name`, () => assert.match(reasons.get(name) ?? '', words));
  }
  test('links and bombs of folders and tars are refused', () => {
    assert.match(reasons.get('folder_link') ?? '', /"stages\/link".*link to/);
    assert.match(reasons.get('tar_link') ?? '', /link/);
    assert.match(reasons.get('tar_bomb') ?? '', /times|inflate|bomb|ratio/);
    assert.ok(!existsSync(join(repository.folder, '..', 'evil')));
    assert.ok(!existsSync('/tmp/serval-evil'));
  });

  test('no reason shows what a file elsewhere holds', () => {
    for (const reason of reasons.values()) assert.doesNotMatch(reason, /root:/);
  });

  test('requests to a model that is not there are 503', async () => {
    const body = { inputs: [{ name: 'x', datatype: 'FP64', shape: [1], data: [1] }] };
    const [status, text] = await asking.post('/v2/models/zip_bomb/infer', body);
    assert.equal(status, 503, text);
  });

  test('patterns that explode elsewhere answer in linear time', async () => {
    const ask = (model: string, text: string): Promise<unknown> =>
      asking.ask('rest', model, [{ name: 's', datatype: 'STRING', shape: [1], data: [text] }]);
    const began = performance.now();
    const many = 'a'.repeat(100_000);
    assert.deepEqual(await ask('rlike', `${many}!`), [
      { name: 'y', datatype: 'BOOL', shape: [1], parameters: {}, data: [false] },
    ]);
    assert.deepEqual(await ask('like', many), [
      { name: 'y', datatype: 'BOOL', shape: [1], parameters: {}, data: [false] },
    ]);
    const words = (await ask('slow', `${'a'.repeat(50)}!`)) as readonly { data: unknown[] }[];
    assert.deepEqual(words[0]?.data, []);
    const spent = performance.now() - began;
    assert.ok(spent < 30_000, `${spent} ms`);
  });

  test('the good one answers', async () => {
    const numbers = ['a', 'b'].map((name, i) => ({
      name,
      datatype: 'INT32',
      shape: [1],
      data: [i + 1],
    }));
    await asking.answers('sums', numbers, [{ name: 'sum', data: [3] }]);
  });
});
