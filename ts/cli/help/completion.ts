// Generates the scripts of `serval completion` for bash, zsh or fish from the table of commands.
// The scripts do not run Serval. Control plane; pure.
import type { FlagRow } from '../../config/values/flag-row.js';
import { COMMANDS, type CommandRow, type SHELLS } from './commands.js';

type Shell = (typeof SHELLS)[number];

/** Allowed values of a flag or a plain argument; "any": unknown. */
type Values = 'files' | 'folders' | 'any' | readonly string[];

/** Ends with a newline. */
export function completionScript(shell: Shell): string {
  if (shell === 'bash') return bashScript();
  return shell === 'zsh' ? zshScript() : fishScript();
}

function valuesOf({ type, value }: FlagRow): Values {
  switch (type.kind) {
    case 'bool':
      return ['true', 'false'];
    case 'choice':
      return type.choices;
    case 'graph-optimization':
      return ['none', 'basic', 'extended', 'all'];
    case 'providers':
      return ['auto', 'cpu', 'cuda', 'tensorrt'];
    case 'path':
    case 'path-list':
    case 'text':
      if (value === 'DIR') return 'folders';
      return value === 'FILE' || value === 'PATH' ? 'files' : 'any';
    case 'int-or-auto':
      return ['auto'];
    case 'int':
    case 'size':
    case 'text-list':
      return 'any';
  }
}

/** Values of plain arguments: of the first one, and of all later ones. */
function argumentsOf({ completes }: CommandRow): readonly [first: Values, later: Values] {
  if (completes === 'paths') return ['files', 'files'];
  if (completes === 'commands') {
    const names = [...COMMANDS.map((row) => row.name), 'all'];
    return [names, names];
  }
  if ('first' in completes) return [completes.first, completes.then];
  return [completes, completes];
}

const namesOf = (row: FlagRow): readonly string[] => [row.name, ...row.aliases];
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function bashScript(): string {
  const names = COMMANDS.map((row) => row.name).join(' ');
  return `# Completion of serval for bash: source <(serval completion bash)
_serval_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }
_serval_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}
_serval() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  # --flag=value comes as three words.
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $prev == "=" && COMP_CWORD -gt 2 ]]; then
    prev="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if (( COMP_CWORD == 1 )); then
    _serval_words "${names} --help --version" "$cur"
    return
  fi
  case "\${COMP_WORDS[1]} $prev" in
${COMMANDS.flatMap(bashValues).join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${COMMANDS.map(bashCommand).join('\n')}
  esac
}
complete -F _serval serval
`;
}

/** A case for each kind of value of a command's flags. */
function bashValues(row: CommandRow): readonly string[] {
  const patterns = new Map<string, string[]>();
  for (const one of row.flags) {
    const action = bashAction(valuesOf(one));
    const own = namesOf(one).map((name) => `"${row.name} --${name}"`);
    patterns.set(action, [...(patterns.get(action) ?? []), ...own]);
  }
  return [...patterns].map(
    ([action, names]) => `    ${names.join(' |\\\n    ')})\n      ${action}\n      return ;;`,
  );
}

function bashAction(values: Values): string {
  if (values === 'any') return ':';
  if (values === 'files') return '_serval_paths -f "$cur"';
  if (values === 'folders') return '_serval_paths -d "$cur"';
  return `_serval_words "${values.join(' ')}" "$cur"`;
}

function bashCommand(row: CommandRow): string {
  const flags = [...row.flags.flatMap(namesOf), 'help'].map((name) => `--${name}`);
  return `    ${row.name})
      if [[ $cur == -* ]]; then
        _serval_words "${flags.join(' ')}" "$cur"
      else
        ${bashArguments(row)}
      fi ;;`;
}

/** The word after the command is its first argument. */
function bashArguments(row: CommandRow): string {
  const [first, later] = argumentsOf(row);
  if (first === later) return bashAction(first);
  const [one, others] = [bashAction(first), bashAction(later)];
  return `if (( COMP_CWORD == 2 )); then ${one}; else ${others}; fi`;
}

function zshScript(): string {
  const described = COMMANDS.map((row) => `    ${quoted(`${row.name}:${row.summary}`)}`);
  return `#compdef serval
# Completion of serval for zsh: in a file _serval in a folder of $fpath, or
# source <(serval completion zsh)
_serval() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${COMMANDS.map(zshCommand).join('\n')}
  esac
}
if [ "$funcstack[1]" = "_serval" ]; then
  _serval "$@"
else
  compdef _serval serval
fi
`;
}

function zshCommand(row: CommandRow): string {
  const flags = row.flags.flatMap((one) => {
    const values = zshAction(valuesOf(one));
    const what = `[${zshText(one.help)}]:${zshText(one.value)}:${values}`;
    return namesOf(one).map((name) => quoted(`*--${name}=${what}`));
  });
  const specs = [...flags, quoted('(- *)--help[show help]')];
  const [first, later] = argumentsOf(row);
  const spec = (at: string, values: Values): string =>
    quoted(`${at}:${typeof values === 'string' ? 'path' : 'word'}:`) + quoted(zshAction(values));
  const last = [...(first === later ? [] : [spec('1', first)]), spec('*', later)].join(' ');
  return `    ${row.name})\n      _arguments \\\n        ${[...specs, last].join(' \\\n        ')} ;;`;
}

const zshText = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');

function zshAction(values: Values): string {
  if (values === 'any') return ' ';
  if (values === 'files') return '_files';
  if (values === 'folders') return '_files -/';
  return `(${values.join(' ')})`;
}

function fishScript(): string {
  const commands = COMMANDS.map(
    (row) => `complete -c serval -n __fish_use_subcommand -a ${row.name} -d ${fish(row.summary)}`,
  );
  return [
    '# Completion of serval for fish: serval completion fish | source',
    'complete -c serval -f',
    ...commands,
    'complete -c serval -l help -s h -d "show help"',
    'complete -c serval -l version -s v -d "show the version"',
    ...COMMANDS.flatMap(fishCommand),
    '',
  ].join('\n');
}

function fishCommand(row: CommandRow): readonly string[] {
  const here = `complete -c serval -n '__fish_seen_subcommand_from ${row.name}'`;
  const flags = row.flags.flatMap((one) =>
    namesOf(one).map(
      (name) => `${here} -l ${name} ${fishAction(valuesOf(one))} -d ${fish(one.help)}`,
    ),
  );
  const [first, later] = argumentsOf(row);
  if (first === 'files') return [...flags, `${here} -F`];
  if (first.length === 0 || typeof first === 'string') return flags;
  if (first === later) return [...flags, `${here} -a ${fish(first.join(' '))}`];
  const words = `__fish_seen_subcommand_from ${first.join(' ')}`;
  const [before, after] = [`; and not ${words}'`, `; and ${words}'`];
  return [
    ...flags,
    `${here.slice(0, -1)}${before} -a ${fish(first.join(' '))}`,
    `${here.slice(0, -1)}${after} -a '(__fish_complete_directories)'`,
  ];
}

function fishAction(values: Values): string {
  if (values === 'any') return '-x';
  if (values === 'files') return '-r -F';
  if (values === 'folders') return "-x -a '(__fish_complete_directories)'";
  return `-x -a ${fish(values.join(' '))}`;
}

const fish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
