// Reads an XML file into elements: no document types, no entities but XML's own five, with limits.
// Whoever wants can compact an element as soon as it ends (trees of forests), so that a document of
// 100 MB never stands in memory as a whole. Importer's worker thread.
import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import { type SaxesAttributePlain, SaxesParser, type SaxesTagPlain } from 'saxes';
import { ErrorCode, ServalError } from '../errors.js';
import {
  XML_ATTRIBUTES_MAX,
  XML_ATTRIBUTE_CHARS_MAX,
  XML_DEPTH_MAX,
  XML_FILE_BYTES_MAX,
  XML_TEXT_CHARS_MAX,
} from '../limits.js';

/** One element. Names are local ones: a prefix is cut off. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly children: XmlElement[];
  /** Character data directly inside; '' where that is only white space between children. */
  text: string;
  readonly line: number;
  /** What `ended` made of it, where it did. */
  compact?: unknown;
}

export interface XmlOptions {
  /** Called with every element that ends and the names of those around it, outermost first. */
  readonly ended?: (element: XmlElement, around: readonly string[]) => void;
}

const BLANK = /^[ \t\r\n]*$/;
const DECLARED = /^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/;

function localName(name: string): string {
  const colon = name.indexOf(':');
  return colon < 0 ? name : name.slice(colon + 1);
}

/** The decoder that the file's first bytes ask for. Errors: RangeError for an unknown encoding. */
function decoderFor(head: Uint8Array): TextDecoder {
  if (head[0] === 0xff && head[1] === 0xfe) return new TextDecoder('utf-16le', { fatal: true });
  if (head[0] === 0xfe && head[1] === 0xff) return new TextDecoder('utf-16be', { fatal: true });
  const text = Buffer.from(head.subarray(0, 256)).toString('latin1');
  const declared = DECLARED.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  // Without a byte order mark the declaration could not have been read were it UTF-16.
  const label = declared.startsWith('utf-16') ? 'utf-8' : declared;
  return new TextDecoder(label, { fatal: true });
}

// What of an element is not settled before it ends.
interface Open {
  readonly element: XmlElement;
  readonly text: string[];
  chars: number;
}

class Reader {
  root: XmlElement | undefined;
  readonly #parser = new SaxesParser({ xmlns: false });
  readonly #open: Open[] = [];
  readonly #names: string[] = [];
  readonly #ended: XmlOptions['ended'];
  #attributes: Record<string, string> = {};
  #attributeCount = 0;

  constructor(options: XmlOptions) {
    this.#ended = options.ended;
    this.#parser.on('error', (error) => {
      throw new SyntaxError(error.message.replace(/^\d+:\d+: /, ''));
    });
    this.#parser.on('doctype', () => this.#refuse('a document type declaration is not accepted'));
    this.#parser.on('opentagstart', (tag) => this.#start(tag.name));
    this.#parser.on('attribute', (attribute) => this.#attribute(attribute));
    this.#parser.on('opentag', (tag) => this.#opened(tag));
    this.#parser.on('closetag', () => this.#closed());
    this.#parser.on('text', (text) => this.#text(text));
    this.#parser.on('cdata', (text) => this.#text(text));
  }

  write(chunk: string): void {
    this.#parser.write(chunk);
  }

  finish(): XmlElement {
    this.#parser.close();
    if (this.root === undefined) this.#refuse('there is no root element');
    return this.root as XmlElement;
  }

  get where(): string {
    return `line ${this.#parser.line}, column ${this.#parser.column}`;
  }

  #refuse(reason: string): never {
    throw new SyntaxError(reason);
  }

  #start(name: string): void {
    if (this.#open.length >= XML_DEPTH_MAX) {
      this.#refuse(`elements nest deeper than ${XML_DEPTH_MAX} (at <${name.slice(0, 80)}>)`);
    }
    this.#attributes = {};
    this.#attributeCount = 0;
  }

  #attribute({ name, value }: SaxesAttributePlain): void {
    if (name === '__proto__') this.#refuse('an attribute is named __proto__');
    this.#attributeCount += 1;
    if (this.#attributeCount > XML_ATTRIBUTES_MAX) {
      this.#refuse(`an element has more than ${XML_ATTRIBUTES_MAX} attributes`);
    }
    if (value.length > XML_ATTRIBUTE_CHARS_MAX) {
      this.#refuse(`attribute ${name.slice(0, 80)} is longer than ${XML_ATTRIBUTE_CHARS_MAX}`);
    }
    if (!name.startsWith('xmlns')) this.#attributes[name] = value;
  }

  #opened(tag: SaxesTagPlain): void {
    const name = localName(tag.name);
    const element: XmlElement = {
      name,
      attributes: this.#attributes,
      children: [],
      text: '',
      line: this.#parser.line,
    };
    const around = this.#open.at(-1);
    if (around === undefined) this.root = element;
    else around.element.children.push(element);
    this.#open.push({ element, text: [], chars: 0 });
    this.#names.push(name);
  }

  #text(text: string): void {
    const open = this.#open.at(-1);
    if (open === undefined) return;
    open.chars += text.length;
    if (open.chars > XML_TEXT_CHARS_MAX) {
      this.#refuse(`the text of <${open.element.name}> is longer than ${XML_TEXT_CHARS_MAX}`);
    }
    if (open.text.length > 0 || open.element.children.length === 0 || !BLANK.test(text)) {
      open.text.push(text);
    }
  }

  #closed(): void {
    const open = this.#open.pop();
    this.#names.pop();
    if (open === undefined) return;
    const text = open.text.length === 1 ? (open.text[0] as string) : open.text.join('');
    open.element.text = open.element.children.length > 0 && BLANK.test(text) ? '' : text;
    this.#ended?.(open.element, this.#names);
  }
}

async function readInto(reader: Reader, path: string): Promise<XmlElement> {
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    const part = chunk as Uint8Array;
    decoder ??= decoderFor(part);
    bytes += part.byteLength;
    if (bytes > XML_FILE_BYTES_MAX) {
      throw new SyntaxError(`the file is larger than ${XML_FILE_BYTES_MAX} bytes`);
    }
    reader.write(decoder.decode(part, { stream: true }));
  }
  if (decoder !== undefined) reader.write(decoder.decode());
  return reader.finish();
}

/**
 * The root element of an XML file.
 * Errors: ModelInvalid naming line and column, for what is not well-formed, has a document type
 * declaration, or passes a limit (ts/limits.ts).
 */
export async function readXml(path: string, options: XmlOptions = {}): Promise<XmlElement> {
  const reader = new Reader(options);
  try {
    return await readInto(reader, path);
  } catch (error) {
    if (error instanceof ServalError || !(error instanceof Error)) throw error;
    if (error.name !== 'SyntaxError' && error.name !== 'RangeError' && error.name !== 'TypeError') {
      throw error;
    }
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${reader.where}: ${error.message}`);
  }
}

/** Its first child of that name. */
export function child(element: XmlElement, name: string): XmlElement | undefined {
  return element.children.find((each) => each.name === name);
}

/** All its children of that name. */
export function children(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((each) => each.name === name);
}
