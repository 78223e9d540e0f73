// Writes the table of the flags of `serval serve` into docs/reference/flags.md from
// dist/config/flags.js, between two marks. With --check it compares instead and exits 1 when the
// table is stale. Build time only.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BEGIN = '<!-- flags: written by scripts/flags-page.mjs -->';
const END = '<!-- flags end -->';
const PAGE = 'docs/reference/flags.md';

const cell = (text) => text.replaceAll('|', '\\|');

// Returns the Markdown table of flag rows (ts/config/flags.ts), one line each.
export function flagTable(rows) {
  const lines = rows.map((row) => {
    const own = row.positional ? row.value : `--${row.name} ${row.value}`;
    const names = [own, ...row.aliases.map((alias) => `--${alias}`)];
    const written = names.map((name) => `\`${cell(name)}\``).join(', ');
    const standard = row.default === '' ? '' : `\`${cell(row.default)}\``;
    return `| ${written} | ${standard} | ${cell(row.help)} |`;
  });
  return ['| flag | default | meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

// Returns the text with the part between the marks replaced. Throws when a mark is missing.
export function withTable(text, table) {
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has no "${BEGIN}" ... "${END}"`);
  return `${text.slice(0, from)}${BEGIN}\n${table}\n${text.slice(to)}`;
}

async function main(check) {
  const { SERVE_FLAGS } = await import(join(root, 'dist', 'config', 'flags.js'));
  const path = join(root, PAGE);
  const text = readFileSync(path, 'utf8');
  const wanted = withTable(text, flagTable(SERVE_FLAGS));
  if (wanted === text) return 0;
  if (!check) writeFileSync(path, wanted);
  else process.stderr.write(`${PAGE}: stale table: node scripts/flags-page.mjs\n`);
  return check ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exit(await main(process.argv.includes('--check')));
}
