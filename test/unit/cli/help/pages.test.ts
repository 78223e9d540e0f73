// The texts of `serval help` and the manual page; every command is described.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from '../../../../ts/cli/help/commands.js';
import { groupOf, grouped } from '../../../../ts/cli/help/groups.js';
import { manPage } from '../../../../ts/cli/help/man-page.js';
import { allPages, commandPage, overview } from '../../../../ts/cli/help/pages.js';
import { parseFlags } from '../../../../ts/config/command-line.js';
import { SERVE_FLAGS } from '../../../../ts/config/flags.js';
import { meant, nearWord } from '../../../../ts/base/text.js';

const FLAGS = SERVE_FLAGS.filter((row) => row.positional !== true);
const plain = (text: string): string => text.replace(/\s+/g, ' ');

test('short pages are short, and no line is long', () => {
  assert.ok(overview().split('\n').length < 24, overview());
  for (const row of COMMANDS) {
    const page = commandPage(row, false);
    assert.ok(page.split('\n').length <= 50, `${row.name}: ${page}`);
    assert.ok(
      row.examples.every((one) => page.includes(one.line)),
      row.name,
    );
  }
  const long = allPages()
    .split('\n')
    .filter((line) => line.length > 100 && line.trimStart().includes(' '));
  const widest = long.filter((line) => !/^ {2}--/.test(line));
  assert.deepEqual(widest, []);
});

test('the long page of serve has every flag and alias with its help, once', () => {
  const serve = COMMANDS.find((row) => row.name === 'serve');
  assert.ok(serve);
  const page = plain(commandPage(serve, true));
  for (const row of FLAGS) {
    for (const name of [row.name, ...row.aliases]) assert.ok(page.includes(`--${name}`), name);
    assert.ok(page.includes(plain(row.help)), row.name);
  }
  const rows = grouped(FLAGS).flatMap((group) => group.rows);
  assert.equal(rows.length, FLAGS.length);
  for (const row of FLAGS) assert.notEqual(groupOf(row.name), '', row.name);
  for (const name of serve.common ?? [])
    assert.ok(
      FLAGS.some((row) => row.name === name),
      name,
    );
});

test('the manual has every command and flag, and nothing that roff would read otherwise', () => {
  const page = manPage('1.2.3', '2026-01-31');
  assert.match(page, /^\.TH SERVAL 1 "2026\\-01\\-31" "serval 1\.2\.3"/);
  for (const row of COMMANDS) assert.ok(page.includes(`.B ${row.name}\n`), row.name);
  for (const row of FLAGS) {
    assert.ok(page.includes(`\\fB${`--${row.name}`.replaceAll('-', '\\-')}\\fR`), row.name);
  }
  for (const line of page.split('\n')) {
    assert.match(line, /^(\.(TH|SH|SS|B|TP|br)\b|\\f|[^.'])?/, line);
    assert.ok(!/[^\\]\\[^-eft(&]/.test(line), line);
  }
});

test('what was meant is named only where something is near', () => {
  assert.equal(nearWord('sevre', ['serve', 'inspect']), 'serve');
  assert.equal(nearWord('insp', ['serve', 'inspect']), 'inspect');
  assert.equal(nearWord('JSN', ['text', 'json']), 'json');
  assert.equal(nearWord('zzz', ['serve', 'inspect']), undefined);
  assert.equal(nearWord('', ['serve']), undefined);
  assert.equal(nearWord('x', []), undefined);
  assert.equal(meant('x'.repeat(10_000), ['serve']), '');
  assert.equal(meant('jsn', ['json']), '; did you mean "json"?');
});

test('proposes a word only if it is near enough to be meant', () => {
  const fields = ['name', 'input', 'output', 'platform', 'max_batch_size', 'KIND_GPU'];
  for (const [written, near] of [
    ['imput', 'input'],
    ['max_batchsize', 'max_batch_size'],
    ['kind_gpu', 'KIND_GPU'],
    ['bogus', undefined],
    ['nothing', undefined],
    ['q', undefined],
    ['a_very_long_name_of_something', undefined],
  ] as const) {
    assert.equal(nearWord(written, fields), near, written);
  }
  for (const flag of ['--quantum-entanglement=1', '--zzz']) {
    assert.throws(
      () => parseFlags(['m', flag], '/'),
      (error: Error) => /unknown flag .*; see --help all$/.test(error.message),
    );
  }
});
