// Finds nodes in an ONNX file that a provider compiled beforehand: operator EPContext, such as
// TensorRT's engines. Reads tags and lengths and skips weights and engines: a file of gigabytes
// costs small reads. Control plane. Source: field numbers of onnx/onnx.proto; ONNX Runtime's
// operator EPContext (com.microsoft).
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { CONTRIB_DOMAIN } from '../../model/onnx-names.js';
import {
  VARINT_BYTES_MAX,
  WIRE_FIXED32,
  WIRE_FIXED64,
  WIRE_LENGTH,
  WIRE_VARINT,
} from '../../protobuf/wire.js';
import {
  ATTRIBUTE_PROTO,
  FUNCTION_PROTO,
  GRAPH_PROTO,
  MODEL_PROTO,
  NODE_PROTO,
} from '../../protobuf/generated/onnx-fields.js';

export interface ContextNode {
  readonly name: string;
  /** The provider that made it, "TensorrtExecutionProvider"; "" = unspecified. */
  readonly source: string;
}

const OP = 'EPContext';

const READ_BYTES = 16_384;
/** Maximum size of a tag and a length. */
const HEAD_BYTES = 20;
const TEXT_BYTES_MAX = 4096;
/** Nesting of bodies; protobuf's own decoders stop at this many messages. */
const DEPTH_MAX = 100;

/**
 * The first such node, including those in bodies and functions. undefined: there is none, or the
 * file cannot be read to its end, which the load reports.
 */
export async function findContextNode(path: string): Promise<ContextNode | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = await file.stat();
    const search = new Search(file);
    await search.model({ at: 0, bytes: size });
    return search.found;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** A range of the file: a field or a message. */
interface Span {
  readonly at: number;
  readonly bytes: number;
}

type Visit = (field: number, value: Span) => Promise<void> | undefined;

class Search {
  found: ContextNode | undefined;
  readonly #file: FileHandle;
  readonly #block = Buffer.alloc(READ_BYTES);
  /** File offset of the block. */
  #start = 0;
  #bytes = 0;
  #depth = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  model(whole: Span): Promise<void> {
    return this.#fields(whole, (field, value) => {
      if (field === MODEL_PROTO.graph) return this.#nodes(value, GRAPH_PROTO.node);
      return field === MODEL_PROTO.functions ? this.#nodes(value, FUNCTION_PROTO.node) : undefined;
    });
  }

  async #nodes(graph: Span, nodeField: number): Promise<void> {
    if (this.#depth === DEPTH_MAX) return;
    this.#depth += 1;
    await this.#fields(graph, (field, value) =>
      field === nodeField ? this.#node(value) : undefined,
    );
    this.#depth -= 1;
  }

  async #node(node: Span): Promise<void> {
    const texts = new Map<number, Span>();
    const attributes: Span[] = [];
    await this.#fields(node, (field, value) => {
      if (field === NODE_PROTO.attribute) attributes.push(value);
      else texts.set(field, value);
      return undefined;
    });
    const text = (field: number): Promise<string> => this.#text(texts.get(field));
    const isContext =
      texts.get(NODE_PROTO.opType)?.bytes === OP.length &&
      (await text(NODE_PROTO.opType)) === OP &&
      (await text(NODE_PROTO.domain)) === CONTRIB_DOMAIN;
    let source = '';
    for (const attribute of attributes) {
      const parts = new Map<number, Span>();
      await this.#fields(attribute, (field, value) => {
        parts.set(field, value);
        const isGraph = field === ATTRIBUTE_PROTO.g || field === ATTRIBUTE_PROTO.graphs;
        return isGraph ? this.#nodes(value, GRAPH_PROTO.node) : undefined;
      });
      if (!isContext || (await this.#text(parts.get(ATTRIBUTE_PROTO.name))) !== 'source') continue;
      source = await this.#text(parts.get(ATTRIBUTE_PROTO.s));
    }
    if (isContext) this.found ??= { name: await text(NODE_PROTO.name), source };
  }

  /** Calls `visit` with each length-delimited field of a message, until a node is found. */
  async #fields({ at: start, bytes }: Span, visit: Visit): Promise<void> {
    const end = start + bytes;
    for (let at = start; at < end && this.found === undefined; ) {
      if (!this.#holds(at, Math.min(HEAD_BYTES, end - at))) await this.#load(at);
      const tag = this.#varint(at);
      const wire = tag.value % 8;
      at = tag.end;
      if (wire === WIRE_LENGTH) {
        const length = this.#varint(at);
        const value = { at: length.end, bytes: length.value };
        at = value.at + value.bytes;
        if (at > end) throw new Error('a field ends after its message');
        const visited = visit(Math.floor(tag.value / 8), value);
        if (visited !== undefined) await visited;
      } else if (wire === WIRE_VARINT) {
        at = this.#varint(at).end;
      } else if (wire === WIRE_FIXED64 || wire === WIRE_FIXED32) {
        at += wire === WIRE_FIXED64 ? 8 : 4;
      } else {
        throw new Error(`wire type ${wire}`);
      }
    }
  }

  async #text(span: Span | undefined): Promise<string> {
    if (span === undefined || span.bytes > TEXT_BYTES_MAX) return '';
    if (!this.#holds(span.at, span.bytes)) await this.#load(span.at);
    const from = span.at - this.#start;
    return this.#block.toString('utf8', from, Math.min(from + span.bytes, this.#bytes));
  }

  #holds(at: number, bytes: number): boolean {
    return at >= this.#start && at + bytes <= this.#start + this.#bytes;
  }

  async #load(at: number): Promise<void> {
    const { bytesRead } = await this.#file.read(this.#block, 0, READ_BYTES, at);
    this.#start = at;
    this.#bytes = bytesRead;
  }

  /** Reads from the block. */
  #varint(at: number): { readonly value: number; readonly end: number } {
    let value = 0;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const index = at + i - this.#start;
      const byte = index < this.#bytes ? this.#block[index] : undefined;
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return { value, end: at + i + 1 };
    }
    throw new Error(`no number at byte ${at}`);
  }
}
