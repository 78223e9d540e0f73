// Finds function bodies by their braces, precisely enough to measure them: a brace opens a function
// if the text before it reads like one. Test time only.
import { lineAt, splitSource } from './lexer.mjs';

const NOT_A_FUNCTION =
  /^(?:else\s+)?(?:if|for|while|switch|catch|do|try|namespace|class|struct|enum|union|extern)\b/;
// A list of tests, not a function.
const NOT_MEASURED = /^(?:await\s+)?(?:describe|suite|overListeners)\s*\(/;

const OPENS_FUNCTION = {
  cpp: /\)\s*(?:const|noexcept|override|final|mutable|&|\s)*(?:->[^;]*?)?(?::[^:].*)?$/s,
  script: /(?:\)\s*(?::[^=;]*)?|=>)\s*$/s,
};

// Returns [{line, lines, head}]: the first line, the length in lines, and the text before the
// brace.
export function functionsIn(text, language) {
  const { code } = splitSource(text, language);
  const found = [];
  const open = [];
  let headStart = 0;
  let parentheses = 0;
  for (let at = 0; at < code.length; at += 1) {
    const c = code[at];
    if (c === '(') parentheses += 1;
    else if (c === ')') parentheses -= 1;
    else if (c === ';' && parentheses === 0) headStart = at + 1;
    else if (c === '{') {
      const kind = braceKind(code, headStart, at, language);
      open.push({ ...kind, headStart, parentheses });
      parentheses = 0;
      if (!kind.initializer) headStart = at + 1;
    } else if (c === '}') {
      const brace = open.pop();
      if (brace === undefined) continue;
      parentheses = brace.parentheses;
      if (brace.isFunction) found.push(measure(code, brace, at));
      headStart = brace.initializer || parentheses > 0 ? brace.headStart : at + 1;
    }
  }
  return found.sort((a, b) => a.line - b.line);
}

// `x_{1}` in C++ is an initializer: the text before it belongs to what follows.
function braceKind(code, headStart, at, language) {
  const head = code.slice(headStart, at).trim();
  const initializer = language === 'cpp' && /[\w>\]]/.test(code[at - 1] ?? '');
  const plain = { initializer, isFunction: false };
  if (initializer || head === '' || NOT_A_FUNCTION.test(head)) return plain;
  if (NOT_MEASURED.test(head)) return plain;
  return { initializer, isFunction: OPENS_FUNCTION[language].test(head), head };
}

function measure(code, brace, end) {
  const start = brace.headStart + (/\S/.exec(code.slice(brace.headStart))?.index ?? 0);
  const line = lineAt(code, start);
  return { line, lines: lineAt(code, end) - line + 1, head: brace.head };
}
