// Reads the package indexes of the user's configuration as pip does: flags, environment, files.
// Control plane; reads small files. Source: pip's documentation, "Configuration".
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const PYPI = 'https://pypi.org/simple';

export interface PipSettings {
  /** The index and the extra ones, in the order in which they are queried. */
  readonly indexes: readonly string[];
  /** A file of additional trusted certificates (PEM); undefined: only the default ones. */
  readonly certificates: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Files later in the list win. */
export function pipFiles(env: Environment, home = homedir()): readonly string[] {
  const wanted = env['PIP_CONFIG_FILE'];
  if (wanted === '/dev/null') return [];
  const systemDirs = (env['XDG_CONFIG_DIRS'] ?? '').split(':').filter((dir) => dir !== '');
  const system = (systemDirs.length === 0 ? ['/etc/xdg'] : systemDirs).map((dir) =>
    join(dir, 'pip', 'pip.conf'),
  );
  const userDir = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const prefix = env['VIRTUAL_ENV'];
  return [
    ...system,
    '/etc/pip.conf',
    join(home, '.pip', 'pip.conf'),
    join(userDir, 'pip', 'pip.conf'),
    ...(prefix ? [join(prefix, 'pip.conf')] : []),
    ...(wanted ? [wanted] : []),
  ].filter((path) => existsSync(path));
}

/** `indexUrl`: --index-url; overrides everything else, as pip's does. */
export function pipSettings(
  indexUrl: string | undefined,
  env: Environment = process.env,
  files: readonly string[] = pipFiles(env),
): PipSettings {
  const written = new Map<string, string>();
  for (const path of files) {
    for (const [key, value] of readSettings(readFileSync(path, 'utf8'))) written.set(key, value);
  }
  const value = (name: string): string | undefined => {
    const variable = `PIP_${name.replaceAll('-', '_').toUpperCase()}`;
    return env[variable] || written.get(name);
  };
  const main = indexUrl || value('index-url') || PYPI;
  const extra = (value('extra-index-url') ?? '').split(/\s+/).filter((url) => url !== '');
  return {
    indexes: [...new Set([main, ...extra].map((url) => url.replace(/\/+$/, '')))],
    certificates: value('cert'),
  };
}

/**
 * Values of the sections [global], [download] and [install], by name; a later section wins.
 * Indented lines continue the previous value.
 */
export function readSettings(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let section = '';
  let key: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;].*)?$/.test(line)) continue;
    const header = /^\[([^\]]+)\]/.exec(line);
    const counts = ['global', 'download', 'install'].includes(section);
    if (header !== null) {
      section = header[1] ?? '';
      key = undefined;
    } else if (/^\s/.test(line)) {
      if (counts && key !== undefined) found.set(key, `${found.get(key)} ${line.trim()}`.trim());
    } else if (counts) {
      const [, name = '', value = ''] = /^([^=:]+?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
      key = name.replaceAll('_', '-').toLowerCase();
      if (key !== '') found.set(key, value.trim());
    }
  }
  return found;
}
