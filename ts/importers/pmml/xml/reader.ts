// Reads an XML file, compressed with gzip or not, into elements: no document types, no entities
// except XML's five predefined ones, with limits. A caller may consume an element while it is read
// (trees of forests), so that a document of 100 MB is never in memory as a whole. Importer's worker
// thread.
import { isAscii } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { type Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { XML_FILE_BYTES_MAX, XML_TEXT_CHARS_MAX } from '../../../base/limits.js';
import { isBomb } from '../../plan/archive/listing.js';
import type { AttributeList } from './attribute-list.js';
import { type XmlEvents, XmlScanner } from './scanner.js';

/** One element. Names are local ones: a prefix is cut off. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly children: XmlElement[];
  /** Character data directly inside; '' where that is only white space between children. */
  text: string;
  readonly line: number;
  /** The result of XmlOptions.capture, which holds the element's children then. */
  compact?: unknown;
}

/** Takes an element with all that is in it as it is read. */
export interface XmlCapture extends XmlEvents {
  /** Returns the value for XmlElement.compact. */
  finish(): unknown;
}

export interface XmlOptions {
  /** Called for every element of vendors, or with attributes of theirs, with the names of those
   * around it. */
  readonly vendor?: (found: VendorMarkup, around: readonly string[]) => void;
  /** Asked of every element that begins, with the names of those around it, outermost first. */
  readonly capture?: (name: string, around: readonly string[]) => XmlCapture | undefined;
}

/** An element whose name begins with "X-", or that has attributes whose names begin with "x-". */
export interface VendorMarkup {
  readonly element: string;
  readonly line: number;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Whether elements of that name are a vendor's. */
export function isVendorElement(name: string): boolean {
  return name.charCodeAt(1) === 0x2d && (name.startsWith('X') || name.startsWith('x'));
}

/** An element without anything in it yet. */
export function elementOf(name: string, attributes: AttributeList, line: number): XmlElement {
  return { name, attributes: attributes.toObject(), children: [], text: '', line };
}

const PIECE_BYTES = 1 << 20;
const BLANK = /^[ \t\r\n]*$/;
const DECLARED = /^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/;

/** A name without its prefix, as elements have them: for attributes that name elements. */
export function localName(name: string): string {
  const colon = name.indexOf(':');
  return colon < 0 ? name : name.slice(colon + 1);
}

/** Selects the decoder by the file's first bytes. Errors: RangeError for an unknown encoding. */
function decoderFor(head: Uint8Array): TextDecoder {
  if (head[0] === 0xff && head[1] === 0xfe) return new TextDecoder('utf-16le', { fatal: true });
  if (head[0] === 0xfe && head[1] === 0xff) return new TextDecoder('utf-16be', { fatal: true });
  const text = Buffer.from(head.subarray(0, 256)).toString('latin1');
  const declared = DECLARED.exec(text)?.[1]?.toLowerCase() ?? 'utf-8';
  // Without a byte order mark the declaration could not have been read were it UTF-16.
  const label = declared.startsWith('utf-16') ? 'utf-8' : declared;
  return new TextDecoder(label, { fatal: true });
}

// State of an element that is known only at its end.
interface Open {
  readonly element: XmlElement;
  text: string;
  chars: number;
}

class Reader implements XmlEvents {
  root: XmlElement | undefined;
  readonly #scanner = new XmlScanner(this);
  readonly #open: Open[] = [];
  readonly #names: string[] = [];
  readonly #capture: XmlOptions['capture'];
  readonly #vendor: XmlOptions['vendor'];
  #taker: XmlCapture | undefined;
  #takenDepth = 0;

  constructor(options: XmlOptions) {
    this.#capture = options.capture;
    this.#vendor = options.vendor;
  }

  write(chunk: string): void {
    this.#scanner.write(chunk);
  }

  finish(): XmlElement {
    this.#scanner.finish();
    return this.root as XmlElement;
  }

  get line(): number {
    return this.#scanner.line;
  }

  open(qualified: string, attributes: AttributeList, line: number): void {
    const name = localName(qualified);
    const names = attributes.vendorNames;
    if (names.length > 0 || isVendorElement(name)) {
      const found = new Map(names.map((each) => [each, attributes.get(each) ?? '']));
      this.#vendor?.({ element: name, line, attributes: found }, this.#names);
    }
    if (this.#taker !== undefined) {
      this.#takenDepth += 1;
      this.#taker.open(name, attributes, line);
      return;
    }
    const taker = this.#capture?.(name, this.#names);
    const element = elementOf(name, attributes, line);
    const around = this.#open.at(-1);
    if (around === undefined) this.root = element;
    else around.element.children.push(element);
    this.#open.push({ element, text: '', chars: 0 });
    this.#names.push(name);
    this.#taker = taker;
    this.#takenDepth = 0;
    taker?.open(name, attributes, line);
  }

  text(text: string): void {
    if (this.#taker !== undefined) {
      this.#taker.text(text);
      return;
    }
    const open = this.#open.at(-1);
    if (open === undefined) return;
    open.chars += text.length;
    if (open.chars > XML_TEXT_CHARS_MAX) {
      const reason = `the text of <${open.element.name}> is longer than ${XML_TEXT_CHARS_MAX}`;
      throw new SyntaxError(reason);
    }
    // White space between children is nobody's.
    if (open.text !== '' || open.element.children.length === 0 || !BLANK.test(text)) {
      open.text += text;
    }
  }

  close(): void {
    if (this.#taker !== undefined) {
      this.#taker.close();
      this.#takenDepth -= 1;
      if (this.#takenDepth >= 0) return;
      (this.#open.at(-1) as Open).element.compact = this.#taker.finish();
      this.#taker = undefined;
    }
    const open = this.#open.pop() as Open;
    this.#names.pop();
    const { element, text } = open;
    if (text !== '') element.text = element.children.length > 0 && BLANK.test(text) ? '' : text;
  }
}

/** A file's pieces as text. Pieces of ASCII, in most files all, are only copied. */
class PieceDecoder {
  readonly #decoder: TextDecoder;
  readonly #isUtf8: boolean;
  #mayWait = false; // the first bytes of a character, in the decoder

  /** Errors: RangeError for an unknown encoding. */
  constructor(first: Uint8Array) {
    this.#decoder = decoderFor(first);
    this.#isUtf8 = this.#decoder.encoding === 'utf-8';
  }

  /** Errors: TypeError for bytes that are invalid in the encoding. */
  decode(piece: Buffer): string {
    const isPlain = this.#isUtf8 && isAscii(piece);
    const text =
      isPlain && !this.#mayWait
        ? piece.toString('latin1')
        : this.#decoder.decode(piece, { stream: true });
    this.#mayWait = !isPlain;
    return text;
  }

  finish(): string {
    return this.#decoder.decode();
  }
}

// The first bytes of a gzip file: RFC 1952.
async function sizeIfGzip(path: string): Promise<number | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    const isGzip = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
    return isGzip ? (await file.stat()).size : undefined;
  } finally {
    await file.close();
  }
}

async function readInto(reader: Reader, path: string): Promise<XmlElement> {
  let decoder: PieceDecoder | undefined;
  let bytes = 0;
  const packed = await sizeIfGzip(path);
  const write = (part: Buffer): void => {
    decoder ??= new PieceDecoder(part);
    bytes += part.byteLength;
    if (bytes > XML_FILE_BYTES_MAX) {
      throw new SyntaxError(`the file is larger than ${XML_FILE_BYTES_MAX} bytes`);
    }
    if (packed !== undefined && isBomb(packed, bytes)) {
      throw new SyntaxError(`${packed} compressed bytes inflate to more than ${bytes - 1}`);
    }
    reader.write(decoder.decode(part));
  };
  const file = createReadStream(path, { highWaterMark: PIECE_BYTES });
  if (packed === undefined) {
    for await (const part of file) write(part as Buffer);
  } else {
    await inflate(file, write);
  }
  if (decoder !== undefined) reader.write((decoder as PieceDecoder).finish());
  return reader.finish();
}

// Errors: those of `take`, which end the streams; of zlib.
async function inflate(file: Readable, take: (part: Buffer) => void): Promise<void> {
  let fault: unknown;
  const sink = new Writable({
    write(part: Buffer, _encoding, done): void {
      try {
        take(part);
        done();
      } catch (error) {
        fault = error;
        done(error as Error);
      }
    },
  });
  try {
    await pipeline(file, createGunzip({ chunkSize: PIECE_BYTES }), sink);
  } catch (error) {
    throw fault ?? error;
  }
}

/**
 * The root element of an XML file. What gzip compressed is inflated within the limits of archives.
 * Errors: ModelInvalid naming the line, for what is not well-formed, has a document type
 * declaration, or passes a limit (ts/base/limits.ts).
 */
export async function readXml(path: string, options: XmlOptions = {}): Promise<XmlElement> {
  const reader = new Reader(options);
  try {
    return await readInto(reader, path);
  } catch (error) {
    if (error instanceof ServalError || !(error instanceof Error)) throw error;
    if (/^Z_/.test((error as NodeJS.ErrnoException).code ?? '')) {
      const reason = `the gzip data is damaged: ${error.message}`;
      throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${reason}`);
    }
    if (error.name !== 'SyntaxError' && error.name !== 'RangeError' && error.name !== 'TypeError') {
      throw error;
    }
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: line ${reader.line}: ${error.message}`);
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
