// The manual page serval(1), from the table of commands: scripts/packaging/man-page.mjs writes it
// into packages. Control plane; pure.
import type { FlagRow } from '../../config/values/flag-row.js';
import { COMMANDS, type CommandRow } from './commands.js';
import { grouped } from './groups.js';
import { helpOf } from './pages.js';

/** In man(7)'s macros, with a final newline. `date`: of the release, "2026-01-31" or "". */
export function manPage(version: string, date: string): string {
  const serve = COMMANDS[0];
  if (serve === undefined) throw new TypeError('no commands');
  return [
    `.TH SERVAL 1 "${roff(date)}" "serval ${roff(version)}" "User Commands"`,
    '.SH NAME',
    'serval \\- inference server',
    '.SH SYNOPSIS',
    ...COMMANDS.flatMap(({ name, takes }) => ['.B serval', roff(`${name} ${takes}`.trim()), '.br']),
    '.SH DESCRIPTION',
    ...COMMANDS.flatMap(described),
    ...COMMANDS.filter((row) => row !== serve && row.flags.length > 0).flatMap((row) => [
      `.SH "FLAGS OF ${row.name.toUpperCase()}"`,
      ...row.flags.flatMap(flagText),
    ]),
    '.SH "FLAGS OF SERVE"',
    ...grouped(serve.flags).flatMap(({ title, rows }) => [
      `.SS "${roff(title)}"`,
      ...rows.flatMap(flagText),
    ]),
    '.SH EXAMPLES',
    ...COMMANDS.flatMap(({ examples }) => examples).flatMap(({ line, what }) => [
      '.TP',
      `.B ${roff(line)}`,
      roff(what),
    ]),
    '.SH "EXIT STATUS"',
    '0: success; 1: failure; 2: the command line or the configuration file is wrong.',
    '.SH ENVIRONMENT',
    '.TP',
    '.B SERVAL_ORT_LIBRARY',
    'an ONNX Runtime library to use instead of the bundled one',
    '',
  ].join('\n');
}

function described({ name, summary, about }: CommandRow): readonly string[] {
  return ['.TP', `.B ${name}`, `${roff(summary)}.`, roff(about)];
}

function flagText(row: FlagRow): readonly string[] {
  const names = [row.name, ...row.aliases].map((name) => `\\fB${roff(`--${name}`)}\\fR`);
  return ['.TP', `${names.join(', ')} \\fI${roff(row.value)}\\fR`, roff(helpOf(row))];
}

/** Escapes backslashes and dashes, and lines that would begin with a roff request. */
function roff(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('"', '\\(dq');
  return /^[.']/.test(plain) ? `\\&${plain}` : plain;
}
