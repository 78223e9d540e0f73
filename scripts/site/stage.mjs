// Copies the pages of docs/ and what they link to into a folder for the site's generator. Links are
// rewritten to the new places: pages of docs/ keep their paths, other files of the repository are
// in repository/, and a linked folder gets a page that lists its files. Build time only.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';

const DOCS = 'docs/';
const OTHERS = 'repository';

/** The place in the site of a path of the repository; `isFolder` if it is a folder. Pure. */
export function placeOf(path, isFolder = false) {
  if (path === 'docs' || path === 'docs/README.md') return 'index.md';
  const moved = path.startsWith(DOCS) ? path.slice(DOCS.length) : `${OTHERS}/${path}`;
  if (isFolder) return `${moved}/index.md`;
  // The generator makes README.md the index of its folder.
  return moved.replace(/(^|\/)README\.md$/, '$1index.md');
}

// Python's Markdown needs a blank line before a list, and four columns for each level of one.
function listsFor(text, before, state) {
  const item = /^( *)(?:[-*+]|\d+\.) /.exec(text);
  if (item === null) {
    if (text.trim() === '') return text;
    const indent = /^ */.exec(text)[0].length;
    if (!state.inList || indent === 0) {
      if (before.trim() === '') state.inList = false;
      return text;
    }
    return `${' '.repeat(Math.ceil(indent / 2) * 4 - (indent % 2 === 1 ? 2 : 0))}${text.trimStart()}`;
  }
  const startsList = !state.inList && before.trim() !== '';
  state.inList = true;
  const levels = Math.floor(item[1].length / 2);
  return `${startsList ? '\n' : ''}${'    '.repeat(levels)}${text.trimStart()}`;
}

/**
 * Returns the text of a page for the generator: `onLink(target)` returns what a relative link
 * becomes. Code is left as it is. Pure but for onLink.
 */
export function rewritten(page, onLink) {
  let fence = '';
  let before = '';
  const state = { inList: false };
  const lines = page.split('\n').map((text) => {
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1] ?? '';
    if (fence === '' && mark !== '') fence = mark;
    else if (fence !== '') {
      if (text.trim() === fence) fence = '';
      return text;
    }
    // The generator knows only a language there; the tests' words after it are not for readers.
    if (mark !== '') return text.replace(/^(\s*(?:```+|~~~+)\s*[^\s`]*).*$/, '$1');
    const listed = listsFor(text, before, state);
    before = text;
    // The text between backquotes is code.
    return listed.replace(/`[^`]*`|\]\(([^)\s]+)( "[^"]*")?\)/g, (all, target, title = '') =>
      target === undefined || /^[a-z]+:/.test(target) ? all : `](${onLink(target)}${title})`,
    );
  });
  return lines.join('\n');
}

const titleOf = (text) => /^# (.*)$/m.exec(text)?.[1];

// A page that lists the files of a linked folder: pages by their titles, others by their names.
function listing(root, folder, visit) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'README.md')
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = entries.map((entry) => {
    const path = join(folder, entry.name);
    const place = visit(path);
    const text = entry.name.endsWith('.md') ? readFileSync(join(root, path), 'utf8') : '';
    const name = titleOf(text) ?? (entry.isDirectory() ? `${entry.name}/` : entry.name);
    return `- [${name}](${relative(dirname(placeOf(folder, true)), place)})`;
  });
  const title = folder === 'docs/decisions' ? 'Decisions' : `${folder}/`;
  return `# ${title}\n\n${lines.join('\n')}\n`;
}

/**
 * Fills `to` with the pages of docs/ of the repository at `root`, and with what they link to.
 * Throws if a link leads nowhere.
 */
export function stageSite(root, to, first) {
  rmSync(to, { recursive: true, force: true });
  const queue = [];
  const seen = new Set();
  const visit = (path) => {
    const isFolder = statSync(join(root, path)).isDirectory();
    const place = placeOf(path, isFolder);
    if (!seen.has(path)) {
      seen.add(path);
      queue.push({ path, place, isFolder });
    }
    return place;
  };
  const pages = readdirSync(join(root, 'docs'), { recursive: true })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path));
  for (const path of [...pages, 'docs/decisions', ...first]) visit(path);
  for (const { path, place, isFolder } of queue) {
    const target = join(to, place);
    mkdirSync(dirname(target), { recursive: true });
    const readme = join(path, 'README.md');
    if (isFolder && path !== 'docs') {
      // A folder's README.md has the same place as its listing.
      if (existsSync(join(root, readme))) visit(readme);
      else writeFileSync(target, listing(root, path, visit));
    } else if (!isFolder && path.endsWith('.md')) {
      const onLink = (link) => {
        const [file, anchor] = link.split('#');
        if (file === '') return link;
        const found = normalize(join(dirname(path), file)).replace(/\/$/, '');
        if (!existsSync(join(root, found))) throw new Error(`site: ${path} links to ${link}`);
        const moved = relative(dirname(place), visit(found));
        return anchor === undefined ? moved : `${moved}#${anchor}`;
      };
      writeFileSync(target, rewritten(readFileSync(join(root, path), 'utf8'), onLink));
    } else if (!isFolder) {
      copyFileSync(join(root, path), target);
    }
  }
  return [...seen].map((path) => basename(path)).length;
}

/**
 * The navigation of docs/README.md: [{title, pages: [{title, place}]}], a section for each heading
 * with a table, a page for each link in a table's first column. Pure.
 */
export function navigation(readme) {
  return readme
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const rows = section.split('\n').filter((line) => line.startsWith('| ['));
      const pages = rows.flatMap((row) =>
        [...row.split(' | ', 1)[0].matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)].map(
          ([, title, target]) => ({ title, place: placeOf(normalize(join('docs', target))) }),
        ),
      );
      return { title: section.split('\n', 1)[0].trim(), pages };
    })
    .filter(({ pages }) => pages.length > 0);
}
