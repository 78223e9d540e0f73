// Loads a session bundle as a LoadedGraph. Importer's worker thread. Source:
// tensorflow/contrib/session_bundle/session_bundle.cc; tensorflow-import.md 1.
import { join, resolve } from 'node:path';
import { SESSION_BUNDLE_FILE } from '../../../base/file-names.js';
import { ServalError, modelInvalid } from '../../../base/errors.js';
import { readGraphDef } from '../proto/graph-def.js';
import { readAssetFile, readSignatures } from '../proto/manifest.js';
import type { ManifestSignatures } from '../proto/manifest.js';
import { readMetaGraph } from '../proto/meta-graph.js';
import type { MetaGraphDef } from '../proto/meta-graph.js';
import { OpTable } from '../proto/op-defs.js';
import type { ReadContext } from '../proto/read-context.js';
import { META_GRAPH_DEF } from '../../../protobuf/generated/tensorflow-graph.js';
import type { CheckpointFiles, GraphDef, LoadedGraph } from '../types.js';
import { resolveAssets } from './assets.js';
import { insideOnly } from './links.js';
import { convertSignatures } from './bundle-signatures.js';
import {
  anyCollection,
  checkInitOp,
  nodesByName,
  opCollection,
  tensorOf,
} from './meta-graph-parts.js';
import { folderNames, isFile, readMessageFile } from './model-file.js';

const CHECKPOINT = 'export';
const SHARD = /^export-\d{5}-of-\d{5}$/;
const SIGNATURES = 'serving_signatures';
const GRAPH = 'serving_graph';

/** Errors: ModelInvalid: damaged, contradictory, assets outside of the folder. */
export function loadSessionBundle(folder: string): LoadedGraph {
  const full = resolve(folder);
  return readMessageFile(join(full, SESSION_BUNDLE_FILE), META_GRAPH_DEF, (reader, context) => {
    const warnings: string[] = [];
    const meta = readMetaGraph(reader, context);
    const graph = servingGraph(meta, context, warnings);
    const initOp = opCollection(meta, 'serving_init_op');
    checkInitOp(initOp, graph);
    const signatures = new Map(meta.signatures);
    const manifest = manifestOf(meta, context, warnings);
    if (manifest !== undefined) {
      const ops = new OpTable(meta.ops, graph.functions);
      convertSignatures(manifest, signatures, graph, ops, warnings);
    }
    const assets = anyCollection(meta, 'serving_assets', 'tensorflow.serving.AssetFile') ?? [];
    return {
      format: 'session-bundle',
      tags: meta.tags,
      tensorflowVersion: meta.tensorflowVersion,
      graph,
      signatures,
      assets: resolveAssets(
        full,
        assets.map(({ message }) => readAssetFile(message())),
      ),
      checkpoint: insideOnly(full, checkpointOf(full)),
      saver: meta.saver,
      initOp,
      opDefs: meta.ops,
      warnings,
    };
  });
}

/**
 * Anything that is not a manifest is ignored, as in TensorFlow: the model loads without signatures.
 */
function manifestOf(
  meta: MetaGraphDef,
  context: ReadContext,
  warnings: string[],
): ManifestSignatures | undefined {
  try {
    const found = anyCollection(meta, SIGNATURES, 'tensorflow.serving.Signatures');
    if (found === undefined) {
      warnings.push(`no signatures: the collection ${SIGNATURES} is missing`);
      return undefined;
    }
    const [manifest] = found;
    if (manifest === undefined || found.length !== 1) {
      throw modelInvalid(`collection ${SIGNATURES}: expected one message, got ${found.length}`);
    }
    return readSignatures(manifest.message(), context);
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    warnings.push(`${SIGNATURES} is ignored: ${error.message}`);
    return undefined;
  }
}

/**
 * serving_graph if there is one, else graph_def. A Saver created after the copy is only in
 * graph_def: its nodes are taken from there.
 */
function servingGraph(meta: MetaGraphDef, context: ReadContext, warnings: string[]): GraphDef {
  const found = anyCollection(meta, GRAPH, 'tensorflow.GraphDef');
  if (found === undefined) return meta.graph;
  const [message] = found;
  if (message === undefined || found.length !== 1) {
    throw modelInvalid(`collection ${GRAPH}: expected one graph, got ${found.length}`);
  }
  const graph = readGraphDef(message.message(), context);
  const restoreOp = meta.saver?.restoreOp;
  if (restoreOp === undefined) return graph;
  const own = nodesByName(graph);
  const outer = nodesByName(meta.graph);
  if (own.has(restoreOp) || !outer.has(restoreOp)) return graph;
  warnings.push(`${GRAPH} lacks the restore op "${restoreOp}": using the one of graph_def`);
  const missing = ancestors(restoreOp, outer).filter((name) => !own.has(name));
  return {
    ...graph,
    nodes: [...graph.nodes, ...missing.flatMap((name) => outer.get(name) ?? [])],
    functions: new Map([...meta.graph.functions, ...graph.functions]),
  };
}

/** The node and all its data and control dependencies; unknown names are ignored. */
function ancestors(
  name: string,
  nodes: ReadonlyMap<string, { readonly inputs: readonly string[] }>,
): readonly string[] {
  const seen = new Set([name]);
  // Iteration of a set includes elements added meanwhile.
  for (const each of seen) {
    for (const input of nodes.get(each)?.inputs ?? []) {
      const { node } = tensorOf(input);
      if (nodes.has(node)) seen.add(node);
    }
  }
  return [...seen];
}

/** Searched as TensorFlow does: SaverDef.version is unreliable. */
function checkpointOf(folder: string): CheckpointFiles | undefined {
  const prefix = join(folder, CHECKPOINT);
  if (isFile(`${prefix}.index`)) return { version: 2, prefix };
  if (isFile(prefix)) return { version: 1, files: [prefix] };
  const shards = folderNames(folder).filter((name) => SHARD.test(name));
  if (shards.length === 0) return undefined;
  return { version: 1, files: shards.map((name) => join(folder, name)) };
}
