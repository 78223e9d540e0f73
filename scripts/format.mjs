// Formats the sources: C++ with clang-format, TypeScript and JavaScript with Biome, as
// .clang-format and biome.json define.
// node scripts/format.mjs [--check]      --check writes nothing: lists files that differ, exit 1
// Build time only.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Another version breaks lines differently.
const CLANG_FORMAT = 'clang-format-14';
// Generated and vendored files, which no rule of style covers.
export const NOT_WRITTEN_HERE = /\/(generated|third_party)\//;
const BIOME = join(root, 'node_modules', '@biomejs', 'cli-linux-x64', 'biome');

function listed(...patterns) {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((path) => path !== '' && !NOT_WRITTEN_HERE.test(path) && existsSync(join(root, path)));
}

function run(command, args) {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 };
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  return { ok: status === 0, text: `${stdout ?? ''}${stderr ?? ''}`, missing: error !== undefined };
}

/**
 * Formats the sources, or only compares them if `check`. Returns {formatted: whether all files are
 * formatted, text: the tools' output, missing: the names of missing tools}.
 */
export function format(check) {
  const results = [
    [
      CLANG_FORMAT,
      [...(check ? ['--dry-run', '-Werror'] : ['-i']), ...listed('*.cc', '*.h')],
      CLANG_FORMAT,
    ],
    [BIOME, ['format', ...(check ? [] : ['--write']), ...listed('*.ts', '*.mjs')], 'biome'],
  ].map(([command, args, name]) => ({ name, ...run(command, args) }));
  const present = results.filter(({ missing }) => !missing);
  return {
    formatted: present.every(({ ok }) => ok),
    text: present
      .filter(({ ok }) => !ok)
      .map(({ text }) => text)
      .join(''),
    missing: results.filter(({ missing }) => missing).map(({ name }) => name),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { formatted, text, missing } = format(process.argv.includes('--check'));
  process.stdout.write(text);
  for (const name of missing) process.stderr.write(`format: ${name} is not there\n`);
  process.exit(formatted && missing.length === 0 ? 0 : 1);
}
