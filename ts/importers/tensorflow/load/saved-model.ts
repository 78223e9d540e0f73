// Loads a SavedModel as a LoadedGraph. Importer's worker thread. Source:
// tensorflow/cc/saved_model/loader.cc; tensorflow-import.md 3.1, 3.2.
import { join, resolve } from 'node:path';
import { modelInvalid } from '../../../base/errors.js';
import { INIT_SIGNATURE } from '../../../base/signatures.js';
import { SAVED_MODEL_TAGS } from '../../../model/platforms.js';
import { readSavedModel } from '../proto/meta-graph.js';
import type { MetaGraphDef, MetaGraphHead } from '../proto/meta-graph.js';
import { readSavedObjects } from '../proto/object-graph.js';
import type { ReadContext } from '../proto/read-context.js';
import { readAssetFileDef } from '../proto/signature-def.js';
import type { AssetBinding } from '../proto/signature-def.js';
import { SAVED_MODEL } from '../../../protobuf/generated/tensorflow-graph.js';
import type { CheckpointFiles, LoadedGraph } from '../types.js';
import { resolveAssets } from './assets.js';
import { insideOnly } from './links.js';
import { locate } from './detect.js';
import { anyCollection, checkInitOp, opCollection, tensorOf } from './meta-graph-parts.js';
import { isFile, readMessageFile } from './model-file.js';

/** Its single output is the initialising op; it is not a callable signature. */
const MAIN_OP = 'saved_model_main_op';
const LEGACY_INIT_OP = 'legacy_init_op';
const ASSETS_COLLECTION = 'saved_model_assets';

/**
 * The meta graph whose set of tags is exactly `tags`. Errors: ModelInvalid: damaged, no such tags
 * (lists the existing ones), assets outside.
 */
export function loadSavedModel(
  folder: string,
  tags: readonly string[] = SAVED_MODEL_TAGS,
): LoadedGraph {
  const place = locate(folder);
  if (place?.format !== 'saved-model') {
    throw modelInvalid(`${folder}: expected saved_model.pb or saved_model.pbtxt, got neither`);
  }
  return loadSavedModelFile(place.folder, place.file, tags);
}

/** `file` is the folder's saved_model.pb or .pbtxt. */
export function loadSavedModelFile(
  folder: string,
  file: string,
  tags: readonly string[],
): LoadedGraph {
  const full = resolve(folder);
  return readMessageFile(file, SAVED_MODEL, (reader, context) => {
    const meta = choose(readSavedModel(reader, context), tags).read();
    const initOp = initOpOf(meta);
    checkInitOp(initOp, meta.graph);
    return {
      format: 'saved-model',
      tags: meta.tags,
      tensorflowVersion: meta.tensorflowVersion,
      graph: meta.graph,
      signatures: meta.signatures,
      assets: resolveAssets(full, assetsOf(meta, context)),
      checkpoint: insideOnly(full, checkpointOf(full)),
      saver: meta.saver,
      ...(meta.objectGraph && { objects: readSavedObjects(meta.objectGraph(), context) }),
      initOp,
      opDefs: meta.ops,
      warnings: [],
    };
  });
}

/** The tag sets of a SavedModel, in the order of the file. Errors: ModelInvalid. */
export function savedModelTags(folder: string): readonly (readonly string[])[] {
  const place = locate(folder);
  if (place?.format !== 'saved-model') {
    throw modelInvalid(`${folder}: expected saved_model.pb or saved_model.pbtxt, got neither`);
  }
  return readMessageFile(place.file, SAVED_MODEL, (reader, context) =>
    readSavedModel(reader, context).map(({ tags }) => tags),
  );
}

function choose(heads: readonly MetaGraphHead[], tags: readonly string[]): MetaGraphHead {
  const wanted = new Set(tags);
  const found = heads.find((head) => {
    const has = new Set(head.tags);
    return has.size === wanted.size && [...has].every((tag) => wanted.has(tag));
  });
  if (found !== undefined) return found;
  const sets = heads.map((head) => `{${head.tags.join(', ')}}`).join(' ');
  throw modelInvalid(
    `expected a meta graph with exactly the tags {${[...wanted].join(', ')}}, ` +
      `got ${sets === '' ? 'none' : sets}`,
  );
}

function assetsOf(meta: MetaGraphDef, context: ReadContext): readonly AssetBinding[] {
  if (meta.assets.length > 0) return meta.assets;
  const old = anyCollection(meta, ASSETS_COLLECTION, 'tensorflow.AssetFileDef') ?? [];
  return old.map(({ message }) => readAssetFileDef(message(), context));
}

function checkpointOf(folder: string): CheckpointFiles | undefined {
  const prefix = join(folder, 'variables', 'variables');
  return isFile(`${prefix}.index`) ? { version: 2, prefix } : undefined;
}

function initOpOf(meta: MetaGraphDef): string | undefined {
  const signature = meta.signatures.get(INIT_SIGNATURE);
  if (signature === undefined) {
    return opCollection(meta, MAIN_OP) ?? opCollection(meta, LEGACY_INIT_OP);
  }
  const outputs = [...signature.outputs.values()];
  const name = outputs[0]?.name;
  if (outputs.length === 1 && name !== undefined && name !== '') return tensorOf(name).node;
  throw modelInvalid(
    `signature ${INIT_SIGNATURE}: expected one output with a name, got ${outputs.length}`,
  );
}
