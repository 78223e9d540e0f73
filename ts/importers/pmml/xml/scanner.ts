// A streaming XML 1.0 scanner: well-formedness checked, no document types, no entities but XML's
// five. It is here because forests are documents of 100 MB and more: of 20 MB saxes made 3.9 s of
// CPU, this one 0.9 s with the trees' tables; test/unit/importers/pmml/xml.test.ts holds the two to
// the same answers. Importer's worker thread.
import {
  XML_ATTRIBUTES_MAX,
  XML_ATTRIBUTE_CHARS_MAX,
  XML_DEPTH_MAX,
  XML_TOKEN_CHARS_MAX,
} from '../../../base/limits.js';
import { AttributeList, ownText } from './attribute-list.js';

/** Events of the scanner. An error thrown by one ends the scan. */
export interface XmlEvents {
  /** `attributes` are the next tag's when this returns: who keeps them copies them. */
  open(name: string, attributes: AttributeList, line: number): void;
  /** Character data, in pieces; entities resolved. */
  text(text: string): void;
  close(): void;
}

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const BANG = 33;
const QUOTE = 34;
const AMPERSAND = 38;
const APOSTROPHE = 39;
const SLASH = 47;
const LESS = 60;
const EQUALS = 61;
const GREATER = 62;
const QUESTION = 63;

// 1: may begin a name, 2: may stand in one.
const NAME = new Uint8Array(128);
for (let c = 0; c < 128; c += 1) {
  const letter = String.fromCharCode(c);
  if (/[A-Za-z_:]/.test(letter)) NAME[c] = 3;
  else if (/[-.0-9]/.test(letter)) NAME[c] = 2;
}

const FIVE: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;
const SURROGATES = /[\ud800-\udfff]/;
const SLOTS = 1024;

// Beyond the buffer's end the code is undefined: neither a blank nor part of a name.
function isBlank(code: number | undefined): boolean {
  return code === SPACE || code === NEWLINE || code === RETURN || code === TAB;
}

function isName(code: number | undefined, mask: number): boolean {
  if (code === undefined) return false;
  return code < 128 ? ((NAME[code] as number) & mask) !== 0 : code !== 0xd7 && code !== 0xf7;
}

function allowed(text: string): string {
  if (FORBIDDEN.test(text)) throw new SyntaxError('a character that XML does not allow');
  return text;
}

export class XmlScanner {
  readonly #events: XmlEvents;
  readonly #open: string[] = [];
  readonly #names: (string | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #attributes = new AttributeList();
  #buffer = '';
  #codes = new Uint16Array(0); // of the buffer's characters: numbers are faster found in numbers
  #at = 0;
  #line = 1;
  #lineStart = 0; // lines up to there are counted
  #started = false;
  #rooted = false;
  #begun = false; // whether any text precedes the next token

  constructor(events: XmlEvents) {
    this.#events = events;
  }

  /** The line that is being read. */
  get line(): number {
    this.#countLines(this.#at);
    return this.#line;
  }

  /** Errors: SyntaxError. */
  write(chunk: string): void {
    this.#buffer = this.#at === this.#buffer.length ? chunk : this.#buffer.slice(this.#at) + chunk;
    const units = Buffer.from(this.#buffer, 'utf16le');
    this.#codes = new Uint16Array(units.buffer, units.byteOffset, this.#buffer.length);
    this.#at = 0;
    this.#lineStart = 0;
    if (!this.#started && this.#buffer.length > 0) {
      if (this.#codes[0] === 0xfeff) this.#at = 1;
      this.#started = true;
    }
    while (this.#at < this.#buffer.length && this.#next()) {}
    this.#countLines(this.#at);
    if (this.#buffer.length - this.#at > XML_TOKEN_CHARS_MAX) {
      throw new SyntaxError(`a tag or comment is longer than ${XML_TOKEN_CHARS_MAX} characters`);
    }
  }

  /** Errors: SyntaxError, where anything is still open. */
  finish(): void {
    if (this.#at < this.#buffer.length)
      throw new SyntaxError('the document ends inside a tag or text');
    if (this.#open.length > 0) throw new SyntaxError(`<${this.#open.at(-1)}> is not closed`);
    if (!this.#rooted) throw new SyntaxError('there is no root element');
  }

  #countLines(to: number): void {
    const buffer = this.#buffer;
    let at = buffer.indexOf('\n', this.#lineStart);
    while (at >= 0 && at < to) {
      this.#line += 1;
      at = buffer.indexOf('\n', at + 1);
    }
    this.#lineStart = Math.max(to, this.#lineStart);
  }

  // One tag, comment, or piece of text. False: it is not whole yet.
  #next(): boolean {
    const codes = this.#codes;
    const second = codes[this.#at + 1];
    if (codes[this.#at] !== LESS) {
      this.#begun = true;
      return this.#text();
    }
    if (second === undefined) return false;
    if (second === QUESTION) return this.#instruction();
    this.#begun = true;
    if (second === SLASH) return this.#endTag();
    if (second === BANG) return this.#declaration();
    return this.#startTag();
  }

  #text(): boolean {
    const buffer = this.#buffer;
    const codes = this.#codes;
    let end = this.#at;
    while (isBlank(codes[end])) end += 1;
    if (end < buffer.length && codes[end] === LESS) {
      // White space between tags: it is part of an element's text only if the element has no
      // children.
      if (this.#open.length > 0) this.#events.text(this.#lines(buffer.slice(this.#at, end)));
      this.#at = end;
      return true;
    }
    const next = buffer.indexOf('<', end);
    let stop = next < 0 ? this.#wholeText() : next;
    if (stop === this.#at) return false;
    // A carriage return may have its newline in the next piece.
    if (next < 0 && codes[stop - 1] === RETURN) stop -= 1;
    if (stop === this.#at) return false;
    const text = buffer.slice(this.#at, stop);
    if (this.#open.length === 0) {
      if (!/^[ \t\r\n]*$/.test(text)) throw new SyntaxError('text outside the root element');
    } else {
      if (text.includes(']]>')) throw new SyntaxError('"]]>" in text');
      this.#events.text(this.#resolved(this.#lines(allowed(text))));
    }
    this.#at = stop;
    return true;
  }

  // Returns how far an unfinished text can be consumed.
  #wholeText(): number {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const entity = buffer.lastIndexOf('&');
    let stop = buffer.length;
    if (entity >= this.#at && buffer.indexOf(';', entity) < 0) {
      if (stop - entity > 16) throw new SyntaxError('an & that starts no entity');
      stop = entity;
    }
    // A "]]>" may be split.
    while (stop > this.#at && codes[stop - 1] === 0x5d) stop -= 1;
    return stop;
  }

  #lines(text: string): string {
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  #resolved(text: string): string {
    if (!text.includes('&')) return text;
    return text.replace(/&([^;&]{0,32})(;?)/g, (_, name: string, end: string) => {
      if (end === '') throw new SyntaxError('an & that starts no entity');
      if (name.startsWith('#')) return this.#character(name);
      const found = Object.hasOwn(FIVE, name) ? FIVE[name] : undefined;
      if (found === undefined) throw new SyntaxError(`entity &${name}; is not declared`);
      return found;
    });
  }

  #character(name: string): string {
    const hex = /^#x([0-9a-fA-F]+)$/.exec(name)?.[1];
    const decimal = /^#([0-9]+)$/.exec(name)?.[1];
    const code = hex === undefined ? Number.parseInt(decimal ?? '', 10) : Number.parseInt(hex, 16);
    const good = code === 9 || code === 10 || code === 13 || (code >= 32 && code <= 0x10ffff);
    if (!good) throw new SyntaxError(`&${name}; is not an XML character`);
    const made = String.fromCodePoint(code);
    const single = made.length === 1;
    if (single && (SURROGATES.test(made) || made === '\ufffe' || made === '\uffff')) {
      throw new SyntaxError(`&${name}; is not an XML character`);
    }
    return made;
  }

  // The end of the name at `from`; `from` where there is none. Its text: #nameAt.
  #nameEnd(from: number): number {
    const codes = this.#codes;
    if (!isName(codes[from], 1)) return from;
    let end = from + 1;
    while (isName(codes[end], 2)) end += 1;
    return end;
  }

  // Returns one shared string per name, however often it occurs.
  #nameAt(from: number, end: number): string {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const length = end - from;
    const code = (at: number) => codes[at] as number;
    const slot =
      (code(from) * 31 + code(from + (length >> 1)) * 17 + code(end - 1) * 7 + length) &
      (SLOTS - 1);
    const known = this.#names[slot];
    if (known !== undefined && known.length === length && buffer.startsWith(known, from)) {
      return known;
    }
    const name = ownText(buffer.slice(from, end));
    this.#names[slot] = name;
    return name;
  }

  #startTag(): boolean {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const from = this.#at + 1;
    let at = this.#nameEnd(from);
    if (at >= buffer.length) return false;
    if (at === from) throw new SyntaxError('a < that starts no tag');
    const name = this.#nameAt(from, at);
    const attributes = this.#attributes;
    attributes.clear();
    for (;;) {
      const before = at;
      while (isBlank(codes[at])) at += 1;
      if (at >= buffer.length) return false;
      const code = codes[at];
      if (code === GREATER || code === SLASH) break;
      if (at === before) throw new SyntaxError(`no space between attributes of <${name}>`);
      const end = this.#attribute(at, attributes, name);
      if (end < 0) return false;
      at = end;
      if (attributes.count > XML_ATTRIBUTES_MAX) {
        throw new SyntaxError(`<${name}> has more than ${XML_ATTRIBUTES_MAX} attributes`);
      }
    }
    const empty = codes[at] === SLASH;
    if (empty) {
      at += 1;
      if (at >= buffer.length) return false;
      if (codes[at] !== GREATER) throw new SyntaxError(`a / inside <${name}>`);
    }
    this.#opened(name, attributes);
    this.#at = at + 1;
    if (empty) this.#closed();
    return true;
  }

  #opened(name: string, attributes: AttributeList): void {
    if (this.#open.length === 0 && this.#rooted) throw new SyntaxError('a second root element');
    if (this.#open.length >= XML_DEPTH_MAX) {
      throw new SyntaxError(`elements nest deeper than ${XML_DEPTH_MAX} (at <${name}>)`);
    }
    this.#rooted = true;
    this.#countLines(this.#at);
    this.#open.push(name);
    this.#events.open(name, attributes, this.#line);
  }

  #closed(): void {
    this.#open.pop();
    this.#events.close();
  }

  // Reads name="value" at `from` into the attributes. Its end, or -1: it is not whole yet.
  #attribute(from: number, attributes: AttributeList, tag: string): number {
    const buffer = this.#buffer;
    const codes = this.#codes;
    let at = this.#nameEnd(from);
    if (at >= buffer.length) return -1;
    if (at === from) throw new SyntaxError(`<${tag}> has an attribute without a name`);
    const name = this.#nameAt(from, at);
    while (isBlank(codes[at])) at += 1;
    if (at >= buffer.length) return -1;
    if (codes[at] !== EQUALS) {
      throw new SyntaxError(`attribute ${name} of <${tag}> has no value`);
    }
    at += 1;
    while (isBlank(codes[at])) at += 1;
    if (at >= buffer.length) return -1;
    const quote = codes[at];
    if (quote !== QUOTE && quote !== APOSTROPHE) {
      throw new SyntaxError(`the value of ${name} of <${tag}> is not quoted`);
    }
    const begin = at + 1;
    let plain = true;
    let code = 0;
    for (at = begin; at < buffer.length; at += 1) {
      code = codes[at] as number;
      if (code === quote) break;
      if (code === LESS) throw new SyntaxError(`a < in the value of ${name} of <${tag}>`);
      if (code === AMPERSAND || code < SPACE || code > 0xfffd) plain = false;
    }
    if (at - begin > XML_ATTRIBUTE_CHARS_MAX) {
      throw new SyntaxError(`the value of ${name} is longer than ${XML_ATTRIBUTE_CHARS_MAX}`);
    }
    if (at >= buffer.length) return -1;
    if (attributes.has(name)) throw new SyntaxError(`<${tag}> has attribute ${name} twice`);
    if (name === '__proto__') throw new SyntaxError('an attribute is named __proto__');
    const value = buffer.slice(begin, at);
    const spaced = plain ? value : allowed(value).replace(/\r\n|[\t\r\n]/g, ' ');
    attributes.add(name, plain ? value : this.#resolved(spaced));
    return at + 1;
  }

  #endTag(): boolean {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const from = this.#at + 2;
    let at = this.#nameEnd(from);
    const end = at;
    while (isBlank(codes[at])) at += 1;
    if (at >= buffer.length) return false;
    const name = this.#open.at(-1);
    if (name === undefined || name.length !== end - from || !buffer.startsWith(name, from)) {
      const got = buffer.slice(from, Math.min(end, from + 80));
      throw new SyntaxError(`</${got}> closes ${name === undefined ? 'nothing' : `<${name}>`}`);
    }
    if (codes[at] !== GREATER) throw new SyntaxError(`</${name}> is not terminated`);
    this.#at = at + 1;
    this.#closed();
    return true;
  }

  // A comment or a CDATA section.
  #declaration(): boolean {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const rest = buffer.length - this.#at;
    if (buffer.startsWith('<!--', this.#at)) {
      const end = buffer.indexOf('--', this.#at + 4);
      if (end < 0 || end + 2 >= buffer.length) return false;
      if (codes[end + 2] !== GREATER) throw new SyntaxError('"--" in a comment');
      allowed(buffer.slice(this.#at, end));
      this.#at = end + 3;
      return true;
    }
    if (buffer.startsWith('<![CDATA[', this.#at)) {
      if (this.#open.length === 0) throw new SyntaxError('text outside the root element');
      const end = buffer.indexOf(']]>', this.#at + 9);
      if (end < 0) return false;
      this.#events.text(this.#lines(allowed(buffer.slice(this.#at + 9, end))));
      this.#at = end + 3;
      return true;
    }
    if (
      rest < 9 &&
      ('<!--'.startsWith(buffer.slice(this.#at, this.#at + 4)) ||
        '<![CDATA['.startsWith(buffer.slice(this.#at)))
    ) {
      return false;
    }
    if ('<!DOCTYPE'.startsWith(buffer.slice(this.#at, this.#at + 9))) {
      throw new SyntaxError('a document type declaration is not accepted');
    }
    throw new SyntaxError('an unknown declaration after <!');
  }

  #instruction(): boolean {
    const buffer = this.#buffer;
    const codes = this.#codes;
    const end = buffer.indexOf('?>', this.#at + 2);
    if (end < 0) return false;
    const from = this.#at + 2;
    const nameEnd = this.#nameEnd(from);
    const name = buffer.slice(from, nameEnd);
    allowed(buffer.slice(from, end));
    if (nameEnd === from || (nameEnd < end && !isBlank(codes[nameEnd]))) {
      throw new SyntaxError('a processing instruction without a name');
    }
    if (name.toLowerCase() === 'xml') {
      if (name !== 'xml' || this.#begun) {
        throw new SyntaxError('an XML declaration that is not at the start of the document');
      }
      if (!/^\s+version\s*=\s*(["'])1\.[0-9]+\1/.test(buffer.slice(nameEnd, end))) {
        throw new SyntaxError('an XML declaration without a version');
      }
    }
    this.#begun = true;
    this.#at = end + 2;
    return true;
  }
}
