// Checks words and forms that do not belong in the sources, file headers and names. Test time only.
import { basename } from 'node:path';
import { lineAt, splitSource } from '../lexer.mjs';

const inFolder =
  (folder) =>
  ({ path }) =>
    path.startsWith(`${folder}/`);
const native = inFolder('native');
const typescript = inFolder('ts');
const product = (file) => native(file) || typescript(file) || inFolder('bin')(file);
const inScripts = (file) => typescript(file) || inFolder('bin')(file);
const testFile = ({ path }) => path.startsWith('test/');

// The places that may allocate raw memory: the buffers, and wrappers of foreign runtimes.
const OWNS_RAW_MEMORY = /^native\/(base\/memory\/block_cache|backend\/|addon\/)/;

const CONSOLE = /\bconsole\s*\./g;
const PRINTS = /\bstd::(cout|cerr|clog)\b|(?<![\w.>])(v?f?printf|f?puts|perror)\s*\(/g;
const RAW_MEMORY = /\bnew\s+[A-Za-z_:]|\bdelete\s*(\[\]|[A-Za-z_(*])/g;
const STATUS = /\b(http|grpc)_?status\w*|\bHTTP_\w+|\bGRPC_STATUS\w*/gi;
const ANY = /(?::|\bas|<|\|)\s*any\b(?!\s*[(:])/g;
const EMPTY_NAME =
  /\b(class|struct|interface|enum)\s+(?!Ort)\w+(Manager|Helper|Util|Utils|Impl|Base)\b/g;

// Patterns for code without strings and comments.
const CODE_RULES = [
  {
    where: inScripts,
    but: /^ts\/base\/logger\.ts$/,
    pattern: CONSOLE,
    say: 'console. outside the logger',
  },
  { where: native, pattern: PRINTS, say: 'native code prints nothing' },
  {
    where: native,
    // The one place that may throw: a rule is left from any depth, and the walk of its graph
    // catches it.
    but: /^native\/backend\/rows\/call\.cc$/,
    pattern: /\bthrow\b/g,
    say: 'we throw nothing: return a Result',
  },
  {
    where: native,
    but: OWNS_RAW_MEMORY,
    pattern: RAW_MEMORY,
    say: 'raw new/delete outside base/memory and the runtime wrappers',
  },
  {
    where: native,
    but: /^native\/(transport\/http1\/|load\/wire\/http1_)/, // Names of llhttp
    pattern: STATUS,
    say: 'C++ never names an HTTP or gRPC status',
  },
  { where: typescript, pattern: ANY, say: 'no `any`: parse unknown' },
  { where: typescript, pattern: /\bexport\s+default\b/g, say: 'named exports only' },
  { where: product, pattern: EMPTY_NAME, say: 'a name that says nothing' },
  { where: testFile, pattern: /\b(describe|suite|test|it)\.only\s*\(/g, say: 'a test runs alone' },
  { where: () => true, pattern: /\bdebugger\b\s*;/g, say: 'a breakpoint' },
];

const UNFINISHED_WORDS = ['FIX' + 'ME', 'TO' + 'DO', 'XX' + 'X', 'HA' + 'CK'];
const UNFINISHED = new RegExp(`\\b(${UNFINISHED_WORDS.join('|')})\\b`, 'g');
const STATEMENT = /(?:const|let|auto|return|if|for|while|import|#include)\b[^.]*[;{]/;
const CALL = /[\w.>:-]+\([^)]*\);|\}/;
const COMMENTED_CODE = new RegExp(`^\\s*(?://|\\*)\\s*(?:${STATEMENT.source}|${CALL.source})\\s*$`);

export function words({ files }) {
  const found = [];
  for (const file of files) {
    if (file.language !== 'cpp' && file.language !== 'script') continue;
    const { code } = splitSource(file.text, file.language);
    for (const { where, but, pattern, say } of CODE_RULES) {
      if (!where(file) || but?.test(file.path)) continue;
      for (const match of code.matchAll(pattern)) {
        const line = lineAt(code, match.index);
        found.push({ path: file.path, line, message: `${say}: ${match[0].trim()}` });
      }
    }
  }
  return found;
}

export function unfinished({ files }) {
  const found = [];
  for (const { path, text, language } of files) {
    if (language === undefined) continue;
    for (const match of text.matchAll(UNFINISHED)) {
      found.push({ path, line: lineAt(text, match.index), message: `unfinished: ${match[0]}` });
    }
  }
  return found;
}

export function commentedOutCode({ files }) {
  const found = [];
  for (const { path, text, language } of files) {
    if (language !== 'cpp' && language !== 'script') continue;
    const { comments } = splitSource(text, language);
    comments.split('\n').forEach((content, index) => {
      if (COMMENTED_CODE.test(content)) {
        found.push({ path, line: index + 1, message: `commented-out code: ${content.trim()}` });
      }
    });
  }
  return found;
}

const PRODUCT_HEADER = /^native\/.*\.h$|^ts\//;
const WHERE_IT_RUNS = /thread|plane|hot|start-up|data only/i;
const COMMENT_LINE = /^\s*(\/\/|#(?!\s*include|\s*pragma)|\/?\*|""")/;

// Checks that a file starts by saying what it is; product code also says on which plane or thread
// it runs.
export function headers({ files }) {
  const found = [];
  for (const { path, text, language } of files) {
    if (language === undefined) continue;
    const opening = headerOf(text);
    if (opening.length < 20) {
      found.push({ path, line: 1, message: 'starts without a comment that says what it is' });
    } else if (PRODUCT_HEADER.test(path) && !WHERE_IT_RUNS.test(opening)) {
      found.push({ path, line: 1, message: 'header names neither plane nor thread' });
    }
  }
  return found;
}

function headerOf(text) {
  const lines = text.split('\n');
  if (lines[0]?.startsWith('#!')) lines.shift();
  const end = lines.findIndex((line) => !COMMENT_LINE.test(line));
  return lines.slice(0, end < 0 ? lines.length : end).join(' ');
}

export function fileNames({ files }) {
  const found = [];
  for (const { path, language } of files) {
    const stem = basename(path).replace(/\.[^/]*$/, '');
    if (language === 'cpp' && !/^[a-z0-9_]+$/.test(stem)) {
      found.push({ path, line: 1, message: 'C++ file names are snake_case' });
    }
    if (path.startsWith('ts/') && language === 'script' && !/^[a-z0-9-]+$/.test(stem)) {
      found.push({ path, line: 1, message: 'TypeScript file names are kebab-case' });
    }
  }
  return found;
}
