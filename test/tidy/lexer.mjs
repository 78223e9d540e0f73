// Splits a source text into code and comments, so that each rule checks the right one: strings and
// comments become blanks, and lines keep their places. Knows C++ (raw strings, digit separators)
// and TypeScript (templates, regular expressions). Test time only.

const REGEX_MAY_FOLLOW = /(^|[(,=:[!&|?{};+\-*%<>~^]|\b(return|typeof|case|in|of|=>))\s*$/;

// Returns {code, comments}: both as long as `text`, each with blanks in place of the other; both
// keep line breaks. String contents are blanks in both (the quotes stay in code) unless
// `keepStrings`.
export function splitSource(text, language, { keepStrings = false } = {}) {
  const code = [...blankOf(text)];
  const comments = [...blankOf(text)];
  const put = (target, from, to) => {
    for (let index = from; index < to; index += 1) target[index] = text[index];
  };
  let at = 0;
  let braces = [];
  while (at < text.length) {
    const token = tokenAt(text, at, language, braces);
    if (token.kind === 'comment') put(comments, at, token.end);
    else if (token.kind === 'code' || keepStrings) put(code, at, token.end);
    else {
      put(code, at, at + 1);
      put(code, token.end - 1, token.end);
    }
    braces = token.braces ?? braces;
    at = token.end;
  }
  return { code: code.join(''), comments: comments.join('') };
}

function blankOf(text) {
  return text.replace(/[^\n]/g, ' ').split('');
}

function tokenAt(text, at, language, braces) {
  if (text.startsWith('//', at)) return { kind: 'comment', end: endOf(text, '\n', at) };
  if (text.startsWith('/*', at)) {
    const close = text.indexOf('*/', at + 2);
    return { kind: 'comment', end: close < 0 ? text.length : close + 2 };
  }
  return language === 'cpp' ? cppToken(text, at) : scriptToken(text, at, braces);
}

function endOf(text, mark, from) {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found;
}

function cppToken(text, at) {
  const raw = /^R"([^()\\ ]{0,16})\(/.exec(text.slice(at, at + 20));
  if (raw !== null && !/\w/.test(text[at - 1] ?? '')) {
    const mark = `)${raw[1]}"`;
    const close = text.indexOf(mark, at);
    return { kind: 'string', end: close < 0 ? text.length : close + mark.length };
  }
  if (text[at] === '"') return { kind: 'string', end: endOfQuoted(text, at) };
  const separator = text[at] === "'" && /[0-9a-fA-F]/.test(text[at - 1] ?? '');
  if (text[at] === "'" && !separator) return { kind: 'string', end: endOfQuoted(text, at) };
  return { kind: 'code', end: at + 1 };
}

// `braces` holds, for each open brace, whether it opened a template's ${.
function scriptToken(text, at, braces) {
  const c = text[at];
  if (c === '"' || c === "'") return { kind: 'string', end: endOfQuoted(text, at) };
  if (c === '`') return templateToken(text, at, braces);
  if (c === '{') return { kind: 'code', end: at + 1, braces: [...braces, false] };
  if (c === '}') {
    const rest = braces.slice(0, -1);
    if (braces.at(-1) === true) return templateToken(text, at, rest);
    return { kind: 'code', end: at + 1, braces: rest };
  }
  if (c === '/' && REGEX_MAY_FOLLOW.test(text.slice(Math.max(0, at - 40), at))) {
    return { kind: 'string', end: endOfRegex(text, at) };
  }
  return { kind: 'code', end: at + 1 };
}

// Reads from a backtick or the } that ends an inserted expression to the next ${ or the closing
// backtick.
function templateToken(text, at, braces) {
  for (let index = at + 1; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '`') return { kind: 'string', end: index + 1, braces };
    else if (text.startsWith('${', index)) {
      return { kind: 'string', end: index + 2, braces: [...braces, true] };
    }
  }
  return { kind: 'string', end: text.length, braces };
}

function endOfQuoted(text, at) {
  for (let index = at + 1; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === text[at]) return index + 1;
    else if (text[index] === '\n') return index;
  }
  return text.length;
}

function endOfRegex(text, at) {
  let inClass = false;
  for (let index = at + 1; index < text.length && text[index] !== '\n'; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === '[') inClass = true;
    else if (text[index] === ']') inClass = false;
    else if (text[index] === '/' && !inClass) return index + 1;
  }
  return at + 1;
}

// Returns the 1-based line of an offset.
export function lineAt(text, offset) {
  let line = 1;
  for (let index = 0; index < offset; index += 1) if (text[index] === '\n') line += 1;
  return line;
}
