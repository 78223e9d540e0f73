// Plain English in comments, documents and texts that users read: words and openings that a reader
// stumbles over, with what to write instead. Test time only.
import { lineAt, splitSource } from '../lexer.mjs';

// A comment or a text starts with a noun phrase or a verb.
const OPENING = /^(Of|Where|What|Who|Whom|Whose|As|Beside|Behind|With what|Told|Nobody|Somebody)\b/;
const QUESTION = /^[^.:;]*\?/;

// [words, what to write instead]
const GLOSSARY = [
  [/\banew\b/i, 'again, reload'],
  [/\bso many(-th)?\b(?! that)/i, 'the number that is meant'],
  [/\bput up\b/i, 'set'],
  [/\bbytes of no sense\b/i, 'an invalid response'],
  [/\b(?:is|are|was|were) none of\b/i, 'is not one of'],
  [/\bof (?:its|their|his|our) own\b/i, '"its own X"'],
  [/\bmodels? of columns\b/i, 'tabular model'],
  [/\b(?:are|is|was|were|be|been) told\b/i, 'notified, reported'],
  [/\bbehind the first\b/i, 'trailing dimensions'],
  [/\ba look\b/i, 'scan, poll'],
  [/\bas it came\b/i, 'unchanged, raw'],
  [/\bwhat lies\b|\blies (?:in|on|beside|behind|there)\b/i, 'is'],
  [/\bstands (?:in|on|beside|there|by)\b/i, 'is'],
  [/\bmade ready\b/i, 'prepared'],
  [/\bthat much\b/i, 'the amount that is meant'],
  [/\bwho asks\b/i, 'the caller'],
];

// Texts that are quoted from other systems, and the rule itself.
const EXEMPT = [/^test\/tidy\//, /^docs\/spec\//, /\/generated\//];
const DOCUMENT = /\.md$/;

// Comment blocks of a source: {line, text}; lines of one block are joined.
export function commentBlocks(text, language) {
  const { comments, code } = splitSource(text, language);
  const codeLines = code.split('\n');
  const blocks = [];
  let open;
  comments.split('\n').forEach((content, index) => {
    const words = content
      .trim()
      .replace(/^(\/\/|\/\*\*?|\*\/|\*)\s?/, '')
      .replace(/\*\/$/, '')
      .trim();
    const isBlock = content.trim() !== '' && codeLines[index].trim() === '';
    const starts = /^\s*\/\*/.test(content) || !isBlock || open === undefined;
    if (content.trim() === '') {
      open = undefined;
      return;
    }
    if (starts) {
      open = { line: index + 1, text: words };
      blocks.push(open);
      if (!isBlock) open = undefined;
      return;
    }
    open.text = `${open.text} ${words}`.trim();
  });
  return blocks;
}

function problemsOf(text, opening) {
  const found = [];
  if (opening && OPENING.test(text) && !QUESTION.test(text)) {
    found.push(`starts with "${OPENING.exec(text)[1]}": start with a noun phrase or a verb`);
  }
  for (const [pattern, instead] of GLOSSARY) {
    const match = pattern.exec(text);
    if (match !== null) found.push(`"${match[0]}": ${instead}`);
  }
  return found;
}

// Text of a document without code blocks and quotes of code.
function proseLines(text) {
  let fenced = false;
  return text.split('\n').map((line) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    return fenced ? '' : line.replace(/`[^`]*`/g, '');
  });
}

/** Comments of sources and sentences of documents. */
export function plainEnglish({ files }) {
  const found = [];
  for (const { path, text, language } of files) {
    if (EXEMPT.some((each) => each.test(path))) continue;
    if (language === 'cpp' || language === 'script') {
      for (const block of commentBlocks(text, language)) {
        for (const message of problemsOf(block.text, true)) {
          found.push({ path, line: block.line, message });
        }
      }
    } else if (DOCUMENT.test(path)) {
      proseLines(text).forEach((line, index) => {
        for (const message of problemsOf(line, false))
          found.push({ path, line: index + 1, message });
      });
    }
  }
  return found;
}

const TEXT = /(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
const PROSE = /[a-z]{2,} [a-z]{2,} [a-z]{2,}/;

/** Texts in the product's code that read as sentences: help, log lines, errors. */
export function plainTexts({ files }) {
  const found = [];
  for (const { path, text, language } of files) {
    if (!/^(ts|native)\//.test(path) || EXEMPT.some((each) => each.test(path))) continue;
    if (language !== 'cpp' && language !== 'script') continue;
    const { code } = splitSource(text, language, { keepStrings: true });
    for (const match of code.matchAll(TEXT)) {
      if (!PROSE.test(match[2])) continue;
      for (const message of problemsOf(match[2], false)) {
        found.push({ path, line: lineAt(code, match.index), message });
      }
    }
  }
  return found;
}
