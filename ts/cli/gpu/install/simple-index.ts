// Finds a file in a package index: the simple repository API, as JSON or as a page of links.
// Control plane. Source: PEP 503, PEP 691.
import type { Wheel } from '../../../models/placement/wheels.js';
import { InstallError } from './install-error.js';
import { get, shown, textOf, type WebOptions } from './web.js';

const ACCEPT = 'application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1';
/** Maximum size of one package's file list: PyPI's longest have a few megabytes. */
const PAGE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The wheel's URL in the first index that has the file. Errors: InstallError with the result of
 * each index.
 */
export async function findWheel(
  wheel: Wheel,
  indexes: readonly string[],
  options: WebOptions,
): Promise<string> {
  const said: string[] = [];
  const all = wheel.index === undefined ? indexes : [...new Set([...indexes, wheel.index])];
  for (const index of all) {
    try {
      const links = await filesOf(`${index}/${wheel.package}/`, options);
      const found = links.get(wheel.file);
      if (found !== undefined) return found;
      said.push(`${shown(index)} has ${links.size} files of ${wheel.package}, but not this one`);
    } catch (error) {
      if (!(error instanceof InstallError)) throw error;
      said.push(error.message);
    }
  }
  throw new InstallError(
    `${wheel.package} ${wheel.version}: no index has ${wheel.file}: ${said.join('; ')}`,
  );
}

/** URLs by file name. */
async function filesOf(page: string, options: WebOptions): Promise<ReadonlyMap<string, string>> {
  const found = await get(page, { accept: ACCEPT }, options);
  if (found.status !== 200) {
    found.body.destroy();
    throw new InstallError(`${shown(page)} answered ${found.status}`);
  }
  const text = await textOf(found, PAGE_BYTES_MAX);
  const isJson = /[/+]json\b/.test(found.headers['content-type'] ?? '');
  const links = isJson ? jsonLinks(text, page) : pageLinks(text);
  return new Map([...links].map(([name, url]) => [name, withLogin(new URL(url, found.url), page)]));
}

/** An index that requires a password requires it for its files as well. */
function withLogin(url: URL, page: string): string {
  const { origin, username, password } = new URL(page);
  if (url.origin === origin && url.username === '') {
    url.username = username;
    url.password = password;
  }
  url.hash = '';
  return url.href;
}

function jsonLinks(text: string, page: string): ReadonlyMap<string, string> {
  try {
    const { files } = JSON.parse(text) as { files: { filename: string; url: string }[] };
    return new Map(files.map(({ filename, url }) => [String(filename), String(url)]));
  } catch {
    throw new InstallError(`${shown(page)}: expected a list of files as in PEP 691`);
  }
}

/** Parses <a href="...">name</a>; the file's name is the last part of the link's path. */
export function pageLinks(html: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, double, single] of html.matchAll(
    /<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')/gi,
  )) {
    const href = (double ?? single ?? '').replaceAll('&amp;', '&');
    const path = href.replace(/[?#].*$/, '');
    const name = decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
    if (name !== '') found.set(name, href);
  }
  return found;
}
