// Compares the tables of documents with the sources: the native calls, the rooms, the paths that
// tests are named by, the sizes of pages. Test time only.

const textOf = (files, path) => files.find((file) => file.path === path)?.text ?? '';

// {line, cells} of each row of the tables under `heading`, "" for the whole page.
export function tableRows(page, heading = '') {
  const rows = [];
  let inside = heading === '';
  page.split('\n').forEach((text, index) => {
    if (/^#+ /.test(text) && heading !== '') inside = text.replace(/^#+ /, '') === heading;
    if (!inside || !text.startsWith('| ') || /^\| -+ /.test(text)) return;
    rows.push({
      line: index + 1,
      cells: text
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    });
  });
  return rows;
}

const CALLS_PAGE = 'docs/reference/native-calls.md';
const EXPORTS = 'native/addon/exports.cc';

// The table of calls lists each export of the addon once, and nothing else.
export function nativeCalls({ files }) {
  const exported = [...textOf(files, EXPORTS).matchAll(/exported<"(\w+)"/g)].map(
    ([, name]) => name,
  );
  const [, ...rows] = tableRows(textOf(files, CALLS_PAGE));
  const listed = rows.flatMap(({ line, cells }) =>
    (cells[1] ?? '').split(', ').map((name) => ({ name, line })),
  );
  const found = [];
  const say = (line, message) => found.push({ path: CALLS_PAGE, line, message });
  if (exported.length === 0) say(1, `${EXPORTS} exports nothing`);
  for (const [index, { name, line }] of listed.entries()) {
    if (!exported.includes(name)) say(line, `${EXPORTS} does not export ${name}`);
    if (listed.findIndex((other) => other.name === name) < index)
      say(line, `${name} is listed twice`);
  }
  for (const name of exported) {
    if (!listed.some((one) => one.name === name)) say(1, `${name} is missing in the table`);
  }
  return found;
}

const ROOMS_PAGE = 'ARCHITECTURE.md';
const ROOMS = 'The rooms';
const README_LINES_MAX = 60;

// Each folder of native/ and folder or file of ts/ has a row; a room marked * has a README.md.
export function rooms({ files }) {
  const rows = tableRows(textOf(files, ROOMS_PAGE), ROOMS).filter(({ cells }) =>
    /^(native|ts)\//.test(cells[0] ?? ''),
  );
  const actual = new Set(
    files.flatMap(({ path }) => {
      const room = /^(?:native\/\w+(?=\/)|ts\/[\w-]+(?:\.ts$|(?=\/)))/.exec(path)?.[0];
      return room === undefined ? [] : [room];
    }),
  );
  const found = [];
  for (const { line, cells } of rows) {
    const [room, star] = (cells[0] ?? '').split(' ');
    if (!actual.has(room)) found.push({ path: ROOMS_PAGE, line, message: `no folder ${room}` });
    const hasPage = files.some(({ path }) => path === `${room}/README.md`);
    if (hasPage !== (star === '*')) {
      const message = hasPage ? `${room} has a README.md: mark it *` : `${room} has no README.md`;
      found.push({ path: ROOMS_PAGE, line, message });
    }
  }
  for (const room of actual) {
    if (rows.some(({ cells }) => cells[0]?.split(' ')[0] === room)) continue;
    found.push({ path: ROOMS_PAGE, line: 1, message: `${room} has no row in "${ROOMS}"` });
  }
  return found;
}

const PAGE_BYTES = { 'ARCHITECTURE.md': 12_288, 'README.md': 8192, 'CHANGELOG.md': 4096 };

// The first pages stay short; the README.md of a room has at most 60 lines.
export function pageSizes({ files }) {
  const found = [];
  for (const { path, text } of files) {
    const most = PAGE_BYTES[path];
    const bytes = Buffer.byteLength(text);
    if (most !== undefined && bytes > most) {
      found.push({ path, line: 1, message: `${bytes} bytes, at most ${most}` });
    }
    const lines = text.split('\n').length - 1;
    if (/^(native|ts|test|bench)(\/\w+)?\/README\.md$/.test(path) && lines > README_LINES_MAX) {
      found.push({ path, line: lines, message: `${lines} lines, at most ${README_LINES_MAX}` });
    }
  }
  return found;
}

// Kept runs are written by the bench and not in git.
const PATH =
  /`((?!bench\/results\/latest)(?:native|ts|test|scripts|bench|proto|deploy|docs|examples)\/[\w./-]+)`/g;
const NAMES_PATHS =
  /^(ARCHITECTURE|CONTRIBUTING|SECURITY)\.md$|^docs\/(reference|explanation|guides)\/|^(native|ts|test|bench)\/.*README\.md$/;

// Paths of the repository that pages name in `code` exist.
export function namedPaths({ files, sizes }) {
  const paths = new Set(sizes.map(({ path }) => path));
  const known = (path) =>
    paths.has(path) || [...paths].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
  return files
    .filter(({ path }) => NAMES_PATHS.test(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          [...line.matchAll(PATH)]
            .filter(([, name]) => !known(name))
            .map(([, name]) => ({ path, line: index + 1, message: `there is no ${name}` })),
        ),
    );
}
