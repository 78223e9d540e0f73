// Checks the links of every Markdown page: a relative link leads to a file or folder that git knows
// and its anchor to a heading. Pages of the packages link to pages of the packages only, except
// README.md, which is shown next to the sources. Test time only.
import { dirname, join, normalize } from 'node:path';

// Pages that are copied to another folder, and the files that they find there.
const COPIED = {
  'scripts/packaging/package-readme.md': {
    folder: '.',
    made: ['THIRD-PARTY-LICENSES.txt', 'node/LICENSE'],
  },
};

// Yields {line, text} for each line outside of fenced code.
function* proseLines(page) {
  let fence = '';
  for (const [index, text] of page.split('\n').entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1] ?? '';
    if (fence === '' && mark !== '') fence = mark;
    else if (fence !== '' && text.trim() === fence) fence = '';
    else if (fence === '') yield { line: index + 1, text };
  }
}

// Returns the anchors that GitHub gives the headings of a page; a repeated heading gets -1, -2, ...
export function anchorsOf(page) {
  const anchors = new Set();
  for (const { text } of proseLines(page)) {
    for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
    const title = /^#{1,6} (.*?)\s*#*$/.exec(text)?.[1];
    if (title === undefined) continue;
    const slug = title
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

// Returns {line, target} of each link and image of a page, without code.
export function linksOf(page) {
  return [...proseLines(page)].flatMap(({ line, text }) =>
    [...text.replace(/`[^`]*`/g, '``').matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(
      ([, target]) => ({ line, target }),
    ),
  );
}

// Whether the packages have a path: package.json's list, and what each package adds.
function isShipped(manifest) {
  const shipped = [...(JSON.parse(manifest).files ?? []), 'README.md', 'LICENSE'];
  return (path) => shipped.some((one) => path === one || path.startsWith(`${one}/`));
}

export function relativeLinks({ files, sizes }) {
  const ships = isShipped(files.find(({ path }) => path === 'package.json')?.text ?? '{}');
  const paths = new Set(sizes.map(({ path }) => path));
  const folders = new Set([...paths].flatMap(foldersAbove));
  const pages = new Map(files.map(({ path, text }) => [path, text]));
  const anchors = new Map();
  const found = [];
  for (const { path, text } of files.filter((file) => file.path.endsWith('.md'))) {
    const { folder = dirname(path), made = [] } = COPIED[path] ?? {};
    for (const { line, target } of linksOf(text)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [to, anchor] = target.split('#');
      const file = to === '' ? path : normalize(join(folder, to)).replace(/\/$/, '');
      if (made.includes(file)) continue;
      const say = (message) => found.push({ path, line, message: `${target}: ${message}` });
      if (!paths.has(file) && !folders.has(file)) say(`no file ${file}`);
      else if (path !== 'README.md' && ships(path) && !ships(file)) say('no package has it');
      else if (anchor !== undefined) {
        if (!anchors.has(file)) anchors.set(file, anchorsOf(pages.get(file) ?? ''));
        if (!anchors.get(file).has(anchor)) say(`no heading #${anchor} in ${file}`);
      }
    }
  }
  return found;
}

function foldersAbove(path) {
  const above = [];
  for (let at = dirname(path); at !== '.'; at = dirname(at)) above.push(at);
  return above;
}
