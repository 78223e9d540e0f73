// Compares native/backend/onnxruntime/api.h with an official onnxruntime_c_api.h: slot numbers,
// function types, enum values, and that every function that we call exists in the version that we
// request. Usage: node compare_ort_header.mjs [OFFICIAL_HEADER]; default: ORT_HEADER, then
// /usr/include and /usr/local/include. Exit status: 0 equal, 1 different, 77 no official header
// (with the reason).
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const say = (line) => process.stdout.write(`${line}\n`);
const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const ourPath = join(root, 'native/backend/onnxruntime/api.h');
const differences = [];

function findBelow(folder, depth) {
  if (depth === 0 || !existsSync(folder)) return undefined;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile() && entry.name === 'onnxruntime_c_api.h') return path;
    const below = entry.isDirectory() ? findBelow(path, depth - 1) : undefined;
    if (below !== undefined) return below;
  }
  return undefined;
}

function findOfficial() {
  const named = process.argv[2] ?? process.env.ORT_HEADER;
  if (named !== undefined && named !== '') {
    if (existsSync(named)) return named;
    say(`no such header: ${named}`);
    process.exit(1);
  }
  for (const base of ['/usr/include', '/usr/local/include', '/opt/onnxruntime/include']) {
    const found =
      findBelow(join(base, 'onnxruntime'), 5) ??
      [join(base, 'onnxruntime_c_api.h')].find(existsSync);
    if (found !== undefined) return found;
  }
  return undefined;
}

const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '');

// Returns the text between the brace that opens after `head` and its partner.
function bodyOf(text, head) {
  const start = text.search(head);
  if (start < 0) throw new Error(`no ${head} in the header`);
  const open = text.indexOf('{', start);
  let depth = 0;
  for (let i = open; i < text.length; i += 1) {
    if (text[i] === '{') depth += 1;
    if (text[i] === '}' && (depth -= 1) === 0) return text.slice(open + 1, i);
  }
  throw new Error(`unclosed ${head}`);
}

function splitTop(text, separator) {
  const parts = [];
  let depth = 0;
  let part = '';
  for (const c of text) {
    if ('([{'.includes(c)) depth += 1;
    if (')]}'.includes(c)) depth -= 1;
    if (c === separator && depth === 0) {
      parts.push(part);
      part = '';
    } else {
      part += c;
    }
  }
  parts.push(part);
  return parts.map((piece) => piece.trim()).filter((piece) => piece !== '');
}

// The type of one argument or result: without annotation and name, with normalized spaces.
function typeOnly(text, named) {
  let type = text
    .replace(/\b_[A-Z]\w*_\b\s*(\([^)]*\))?/g, ' ')
    .replace(/\b(struct|enum|class)\b/g, ' ')
    .replace(/\bORTCHAR_T\b/g, 'char')
    .replace(/\bORT_API_CALL\b/g, ' ')
    .replace(/\bOrtStatusPtr\b/g, 'OrtStatus*');
  if (named && /^\s*void\s*$/.test(type)) return '';
  const isArray = /\[\]\s*$/.test(type);
  type = type.replace(/\[\]\s*$/, '');
  const isType = (word) => /^(int|bool|char)\s*$/.test(word);
  if (named) type = type.replace(/\b\w+\s*$/, (word) => (isType(word) ? word : ''));
  return `${type}${isArray ? '*' : ''}`
    .replace(/\s*\*\s*/g, '* ')
    .replace(/\s+/g, ' ')
    .trim();
}

const functionType = (result, args) =>
  `${typeOnly(result, false)}(${splitTop(args, ',')
    .map((arg) => typeOnly(arg, true))
    .filter((arg) => arg !== '')
    .join(', ')})`;

// name -> {slot, type} of the official table. Every declaration is one slot.
function officialSlots(text) {
  const plainPointer =
    /^(.*?)\( ?(?:ORT_API_CALL)? ?\* ?(\w+) ?\) ?\((.*?)\) ?(?:NO_EXCEPTION.*)?$/;
  const slots = new Map();
  let slot = 0;
  for (const declaration of splitTop(bodyOf(text, /struct OrtApi \{/), ';')) {
    const flat = declaration.replace(/^#.*$/gm, '').replace(/\s+/g, ' ').trim();
    if (flat === '') continue;
    let match;
    if ((match = /^ORT_API2_STATUS\( ?(\w+) ?,?(.*)\)$/.exec(flat))) {
      slots.set(match[1], { slot, type: functionType('OrtStatus*', match[2]) });
    } else if ((match = /^ORT_CLASS_RELEASE\((\w+)\)$/.exec(flat))) {
      slots.set(`Release${match[1]}`, { slot, type: `void(Ort${match[1]}*)` });
    } else if ((match = /^ORT_API_T\( ?(.*?), ?(\w+) ?,?(.*)\)$/.exec(flat))) {
      slots.set(match[2], { slot, type: functionType(match[1], match[3]) });
    } else if ((match = plainPointer.exec(flat))) {
      slots.set(match[2], { slot, type: functionType(match[1], match[3]) });
    } else {
      throw new Error(`cannot read slot ${slot} of the official header: ${flat}`);
    }
    slot += 1;
  }
  return { slots, count: slot };
}

function ourSlots(text) {
  const slots = new Map();
  let slot = 0;
  for (const declaration of splitTop(bodyOf(text, /struct OrtApi \{/), ';')) {
    const flat = declaration.replace(/\s+/g, ' ').trim();
    const placeholder = /^void\* slots_(\d+)\[(\d+)\]$/.exec(flat);
    if (placeholder) {
      if (Number(placeholder[1]) !== slot) {
        differences.push(`placeholder slots_${placeholder[1]} stands at slot ${slot}`);
      }
      slot += Number(placeholder[2]);
      continue;
    }
    const match = /^(.*?) ?\(\*(\w+)\)\((.*)\)$/.exec(flat);
    if (!match) throw new Error(`cannot read slot ${slot} of our header: ${flat}`);
    slots.set(match[2], { slot, type: functionType(match[1], match[3]) });
    slot += 1;
  }
  return slots;
}

// enumerator -> number, of every enum in the text.
function enumerators(text) {
  const values = new Map();
  for (const match of text.matchAll(/\benum\s+\w+\s*(?::\s*int\s*)?\{([^}]*)\}/g)) {
    let next = 0;
    for (const entry of match[1]
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean)) {
      const [name, number] = entry.split('=').map((part) => part.trim());
      if (number !== undefined) next = values.get(number) ?? Number(number);
      values.set(name, next);
      next += 1;
    }
  }
  return values;
}

// "name type" of each member of OrtCustomOp, in order: the runtime reads it by position.
function customOpMembers(text) {
  return splitTop(bodyOf(text, /struct OrtCustomOp \{/), ';').map((declaration) => {
    const flat = declaration.replace(/\s+/g, ' ').trim();
    const match = /^(.*?)\( ?(?:ORT_API_CALL)? ?\* ?(\w+) ?\) ?\((.*)\)$/.exec(flat);
    return match ? `${match[2]} ${functionType(match[1], match[3])}` : flat;
  });
}

// Returns the minor version that introduced `name`, from the header's "\since Version 1.x" remark;
// undefined if it has none.
function versionOf(raw, name) {
  const before = '(ORT_API2_STATUS\\(\\s*|ORT_API_T\\([^,]*,\\s*|\\*\\s*)';
  const at = raw.search(new RegExp(`${before}${name}\\b`));
  const comment = raw.lastIndexOf('/**', at);
  const between = comment < 0 ? '' : raw.slice(comment, at);
  const since = between.includes(';') ? null : /\\since Version 1\.(\d+)/.exec(between);
  return since === null ? undefined : Number(since[1]);
}

const officialPath = findOfficial();
if (officialPath === undefined) {
  say('skipped: no onnxruntime_c_api.h; set ORT_HEADER or install libonnxruntime-dev');
  process.exit(77);
}
const raw = readFileSync(officialPath, 'utf8');
const official = withoutComments(raw);
const written = readFileSync(ourPath, 'utf8');
const ours = withoutComments(written);
// Functions that are newer than the oldest version that we request: a comment marks them, so that
// nobody calls them with the older table. Function -> minor version.
const REMARK = /\/\/ Since 1\.(\d+): only call it through[^\n]*\n[^(]*\(\*(\w+)\)/g;
const remarked = new Map([...written.matchAll(REMARK)].map(([, minor, name]) => [name, +minor]));
const theirVersion = Number(/#define ORT_API_VERSION (\d+)/.exec(raw)?.[1]);
const constant = (name) => Number(new RegExp(`${name} = (\\d+)`).exec(ours)?.[1]);
const wanted = constant('kOrtApiVersion');
const shapeVersion = constant('kOrtShapeApiVersion');

const theirs = officialSlots(official);
const notInHeader = [];
let compared = 0;
for (const [name, our] of ourSlots(ours)) {
  const their = theirs.slots.get(name);
  if (their === undefined) {
    if (our.slot >= theirs.count && theirVersion < shapeVersion) notInHeader.push(name);
    else differences.push(`${name}: slot ${our.slot} here, not in the official header`);
    continue;
  }
  compared += 1;
  if (their.slot !== our.slot) {
    differences.push(`${name}: slot ${our.slot} here, ${their.slot} in the official header`);
  }
  if (their.type !== our.type) {
    differences.push(`${name}: here ${our.type}\n    official ${their.type}`);
  }
  const since = versionOf(raw, name);
  const isKnown = since === shapeVersion || since === remarked.get(name);
  if (since !== undefined && since > wanted && !isKnown) {
    differences.push(`${name}: came with 1.${since}, we ask for version ${wanted}`);
  }
}
const theirNumbers = enumerators(official);
let numbers = 0;
for (const [name, value] of enumerators(ours)) {
  const their = theirNumbers.get(name);
  if (their === undefined) differences.push(`${name}: not in the official header`);
  else if (their !== value) differences.push(`${name}: ${value} here, ${their} officially`);
  else numbers += 1;
}
const theirOp = customOpMembers(official);
const ourOp = customOpMembers(ours);
for (let i = 0; i < Math.max(theirOp.length, ourOp.length); i += 1) {
  if (theirOp[i] === ourOp[i]) continue;
  differences.push(`OrtCustomOp, member ${i}: here ${ourOp[i]}\n    official ${theirOp[i]}`);
}
const base = bodyOf(official, /struct OrtApiBase \{/).replace(/\s+/g, ' ');
if (!/GetApi\).*;.*GetVersionString\)/.test(base)) differences.push(`OrtApiBase: official ${base}`);

say(
  `${officialPath} (version ${theirVersion}, ${theirs.count} slots): ` +
    `${compared} functions, ${numbers} numbers and ${ourOp.length} members of OrtCustomOp compared`,
);
if (notInHeader.length > 0) {
  say(`not compared, newer than that header (1.${shapeVersion}): ${notInHeader.join(', ')}`);
}
for (const difference of differences) say(`different: ${difference}`);
process.exit(differences.length === 0 ? 0 : 1);
