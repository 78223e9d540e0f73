// The texts of `serval help`: the overview, a short page for each command, and the long one with
// all of its settings. Control plane; pure.
import type { FlagRow } from '../../config/values/flag-row.js';
import { COMMANDS, type CommandRow } from './commands.js';
import { grouped } from './groups.js';

const COLUMNS_MAX = 100;
const INDENT = 34;
const OVERVIEW_INDENT = 36;
const EXAMPLE_INDENT = 48;
/** Pages with fewer flags are not divided into groups. */
const GROUPED_MIN = 20;
const NAMES =
  'Flags are written --flag value or --flag=value; dashes, underscores and camelCase mean the ' +
  'same, and the last of several wins. The YAML file of --config uses the same names as keys, ' +
  'and "paths" for PATH.';

/** Every command, with a line each. */
export function overview(): string {
  const commands = COMMANDS.map((row) => line(`  ${usageOf(row)}`, row.summary, OVERVIEW_INDENT));
  return (
    "serval: an inference server (TensorFlow Serving's and Predict Protocol V2 APIs)\n\n" +
    `${commands.join('')}\nserval help COMMAND shows examples and settings.\n`
  );
}

/** A command's page; `all`: with every setting and its other names. */
export function commandPage(row: CommandRow, all: boolean): string {
  const usage = `serval ${row.name} ${row.takes}`.trim();
  const examples = row.examples.map((one) => line(`  ${one.line}`, one.what, EXAMPLE_INDENT));
  return [
    `${usage}\n\n${wrapped(row.about)}`,
    `Examples:\n\n${examples.join('')}`,
    ...settings(row, all),
  ].join('\n');
}

/** All pages in their long form. */
export function allPages(): string {
  return [overview(), ...COMMANDS.map((row) => commandPage(row, true))].join(
    `\n${'-'.repeat(COLUMNS_MAX)}\n`,
  );
}

function usageOf({ name, takes }: CommandRow): string {
  return `serval ${name} ${takes}`.trim();
}

function settings(row: CommandRow, all: boolean): readonly string[] {
  const { flags, common } = row;
  if (flags.length === 0) return [];
  if (!all && common !== undefined) {
    const shown = common.flatMap((name) => flags.filter((one) => one.name === name));
    const more = line('  --help all', `all ${flags.length} settings`);
    return [`Common settings:\n\n${shown.map(shortLine).join('')}${more}`];
  }
  if (flags.length < GROUPED_MIN) {
    return [`Settings:\n\n${flags.map(longLine).join('')}`];
  }
  const groups = grouped(flags).map(({ title, rows }) => {
    return `${title}:\n\n${rows.map(longLine).join('')}`;
  });
  return [wrapped(NAMES), ...groups];
}

function shortLine(row: FlagRow): string {
  return line(`  --${row.name} ${row.value}`, helpOf(row));
}

function longLine(row: FlagRow): string {
  const names = [row.name, ...row.aliases].map((name) => `--${name}`).join(', ');
  return line(`  ${names} ${row.value}`, helpOf(row));
}

/** Its help, plus allowed values if the help does not mention them, and its default. */
export function helpOf(row: FlagRow): string {
  const standard = row.default === '' ? '' : ` (${row.default})`;
  const { type } = row;
  if (type.kind !== 'choice') return `${row.help}${standard}`;
  const unsaid = type.choices.filter((choice) => !row.help.includes(choice));
  const choices = unsaid.length === 0 ? '' : `: ${type.choices.join(', ')}`;
  return `${row.help}${choices}${standard}`;
}

/** Two columns; the right one begins on a new line if the left one is long. */
function line(left: string, right: string, indent = INDENT): string {
  const blank = ' '.repeat(indent);
  const lines = words(right, COLUMNS_MAX - indent);
  if (left.length < indent - 1) return `${left.padEnd(indent)}${lines.join(`\n${blank}`)}\n`;
  return `${left}\n${blank}${lines.join(`\n${blank}`)}\n`;
}

function wrapped(text: string): string {
  return `${words(text, COLUMNS_MAX).join('\n')}\n`;
}

/** Wraps into lines of at most `columns`; longer words are kept whole. */
function words(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
