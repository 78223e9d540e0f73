// Reads tensorflow.SavedModel and MetaGraphDef with its SaverDef and collections. Importer's worker
// thread; pure. Source: tensorflow/core/protobuf/{saved_model,meta_graph,saver}.proto.
import { ANY } from '../../../protobuf/generated/any-fields.js';
import {
  SAVED_MODEL,
  META_GRAPH_DEF,
  META_GRAPH_DEF_META_INFO_DEF as META_INFO_DEF,
  SAVER_DEF,
  COLLECTION_DEF,
  COLLECTION_DEF_ANY_LIST as ANY_LIST,
} from '../../../protobuf/generated/tensorflow-graph-fields.js';
import { ServalError } from '../../../base/errors.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { GraphDef, OpDef, SignatureDef } from '../types.js';
import { readGraphDef } from './graph-def.js';
import { readOpList } from './op-def.js';
import { NODE_ITEMS, OBJECT_ITEMS, readMapEntry } from './read-context.js';
import type { ReadContext } from './read-context.js';
import { readAssetFileDef, readSignatureDef } from './signature-def.js';
import type { AssetBinding } from './signature-def.js';

export interface SaverDef {
  readonly filenameTensor: string;
  readonly restoreOp: string;
}

/** google.protobuf.Any: the full name of its message, and a reader of it. */
export interface AnyMessage {
  readonly typeName: string;
  /** Returns a new reader. */
  readonly message: () => WireReader;
}

/** CollectionDef; kinds that are irrelevant for serving are not read. */
export type Collection =
  | { readonly kind: 'nodes'; readonly values: readonly string[] }
  | { readonly kind: 'any'; readonly values: readonly AnyMessage[] }
  | { readonly kind: 'other' };

/** The information about a meta graph that does not require reading its graph. */
export interface MetaInfo {
  readonly tags: readonly string[];
  readonly tensorflowVersion: string;
}

export interface MetaGraphDef extends MetaInfo {
  /** OpDefs of the ops used; empty if they are missing or not readable. */
  readonly ops: readonly OpDef[];
  readonly graph: GraphDef;
  readonly saver: SaverDef | undefined;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly signatures: ReadonlyMap<string, SignatureDef>;
  readonly assets: readonly AssetBinding[];
  /** SavedObjectGraph, if there is one (TensorFlow 2); returns a new reader. */
  readonly objectGraph: (() => WireReader) | undefined;
}

/** A meta graph of a SavedModel: its head, and a function that reads all of it. */
export interface MetaGraphHead extends MetaInfo {
  readonly read: () => MetaGraphDef;
}

/** Reads only the heads. Errors: ModelInvalid. */
export function readSavedModel(reader: WireReader, context: ReadContext): readonly MetaGraphHead[] {
  const heads: MetaGraphHead[] = [];
  while (reader.next()) {
    if (reader.field !== SAVED_MODEL.metaGraphs) {
      reader.skip();
      continue;
    }
    context.count(NODE_ITEMS);
    const inner = reader.nested('MetaGraphDef');
    const head = readHead(inner.again(), context);
    heads.push({ ...head, read: () => readMetaGraph(inner.again(), context) });
  }
  return heads;
}

function readHead(reader: WireReader, context: ReadContext): MetaInfo {
  let head: MetaInfo = { tags: [], tensorflowVersion: '' };
  while (reader.next()) {
    if (reader.field === META_GRAPH_DEF.metaInfoDef) {
      head = readMetaInfo(reader.nested('MetaGraphDef.MetaInfoDef'), context, false);
    } else {
      reader.skip();
    }
  }
  return head;
}

/** Errors: ModelInvalid. */
export function readMetaGraph(reader: WireReader, context: ReadContext): MetaGraphDef {
  const signatures = new Map<string, SignatureDef>();
  const collections = new Map<string, Collection>();
  const assets: AssetBinding[] = [];
  let info: MetaInfo & { readonly ops: readonly OpDef[] } = {
    tags: [],
    tensorflowVersion: '',
    ops: [],
  };
  let graph: GraphDef = { nodes: [], functions: new Map(), producer: 0 };
  let saver: SaverDef | undefined;
  let objectGraph: (() => WireReader) | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case META_GRAPH_DEF.metaInfoDef:
        info = readMetaInfo(reader.nested('MetaGraphDef.MetaInfoDef'), context, true);
        break;
      case META_GRAPH_DEF.graphDef:
        graph = readGraphDef(reader.nested('GraphDef'), context);
        break;
      case META_GRAPH_DEF.saverDef:
        saver = readSaverDef(reader.nested('SaverDef'));
        break;
      case META_GRAPH_DEF.collectionDef:
        collections.set(
          ...readMapEntry<Collection>(
            reader.nested('MetaGraphDef.CollectionDefEntry'),
            (value) => readCollection(value.nested('CollectionDef'), context),
            () => ({ kind: 'other' }),
          ),
        );
        break;
      case META_GRAPH_DEF.signatureDef:
        signatures.set(
          ...readMapEntry(
            reader.nested('MetaGraphDef.SignatureDefEntry'),
            (value) => readSignatureDef(value.nested('SignatureDef'), context),
            emptySignature,
          ),
        );
        break;
      case META_GRAPH_DEF.assetFileDef:
        assets.push(readAssetFileDef(reader.nested('AssetFileDef'), context));
        break;
      case META_GRAPH_DEF.objectGraphDef: {
        const object = reader.nested('SavedObjectGraph');
        objectGraph = () => object.again();
        break;
      }
      default:
        reader.skip();
    }
  }
  return { ...info, graph, saver, collections, signatures, assets, objectGraph };
}

function emptySignature(): SignatureDef {
  return { methodName: '', inputs: new Map(), outputs: new Map(), defaults: new Map() };
}

function readMetaInfo(
  reader: WireReader,
  context: ReadContext,
  withOps: boolean,
): MetaInfo & { readonly ops: readonly OpDef[] } {
  const tags: string[] = [];
  let tensorflowVersion = '';
  let ops: readonly OpDef[] = [];
  while (reader.next()) {
    switch (reader.field) {
      case META_INFO_DEF.strippedOpList: {
        // In the very first schema this could be any bytes: if they are not an OpList, there is
        // none.
        const view = withOps ? reader.nested('OpList') : undefined;
        if (view === undefined) reader.skip();
        else ops = opListOrNone(view, context);
        break;
      }
      case META_INFO_DEF.tags:
        context.count(OBJECT_ITEMS);
        tags.push(reader.string());
        break;
      case META_INFO_DEF.tensorflowVersion:
        tensorflowVersion = reader.string();
        break;
      default:
        reader.skip();
    }
  }
  return { tags, tensorflowVersion, ops };
}

function opListOrNone(reader: WireReader, context: ReadContext): readonly OpDef[] {
  try {
    return readOpList(reader, context);
  } catch (error) {
    if (error instanceof ServalError) return [];
    throw error;
  }
}

function readSaverDef(reader: WireReader): SaverDef | undefined {
  let filenameTensor = '';
  let restoreOp = '';
  while (reader.next()) {
    if (reader.field === SAVER_DEF.filenameTensorName) filenameTensor = reader.string();
    else if (reader.field === SAVER_DEF.restoreOpName) restoreOp = reader.string();
    else reader.skip();
  }
  return restoreOp === '' ? undefined : { filenameTensor, restoreOp };
}

function readCollection(reader: WireReader, context: ReadContext): Collection {
  let found: Collection = { kind: 'other' };
  while (reader.next()) {
    if (reader.field === COLLECTION_DEF.nodeList) {
      const list = reader.nested('CollectionDef.NodeList');
      found = { kind: 'nodes', values: listValues(list, context, () => list.string()) };
    } else if (reader.field === COLLECTION_DEF.anyList) {
      const list = reader.nested('CollectionDef.AnyList');
      const read = (): AnyMessage => readAny(list.nested('google.protobuf.Any'));
      found = { kind: 'any', values: listValues(list, context, read) };
    } else {
      reader.skip();
    }
  }
  return found;
}

function listValues<T>(reader: WireReader, context: ReadContext, read: () => T): readonly T[] {
  const values: T[] = [];
  while (reader.next()) {
    if (reader.field === ANY_LIST.value) {
      context.count(OBJECT_ITEMS);
      values.push(read());
    } else {
      reader.skip();
    }
  }
  return values;
}

function readAny(reader: WireReader): AnyMessage {
  let url = '';
  let value: WireReader | undefined;
  while (reader.next()) {
    if (reader.field === ANY.typeUrl) url = reader.string();
    else if (reader.field === ANY.value) value = reader.nested('google.protobuf.Any.value');
    else reader.skip();
  }
  const inner = value ?? reader;
  return { typeName: url.slice(url.lastIndexOf('/') + 1), message: () => emptyOr(inner, value) };
}

/** An Any without a value contains the empty message: a reader at its end. */
function emptyOr(end: WireReader, value: WireReader | undefined): WireReader {
  return value === undefined ? end : value.again();
}
