// Model repositories for workloads, below the run's temporary folder. Control plane.
import { cpSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelFile } from './mlp.mjs';

/** A repository with one folder per entry: {name: {model, config}}. `model` is a fixture's name
 * (its file becomes version 1) or undefined; `config` is the text of config.pbtxt or undefined. */
export async function makeRepository(context, entries) {
  const folder = join(context.tempDir, `repository-${context.nextId()}`);
  for (const [name, { model, config }] of Object.entries(entries)) {
    mkdirSync(join(folder, name, '1'), { recursive: true });
    if (config !== undefined) writeFileSync(join(folder, name, 'config.pbtxt'), config);
    if (model === undefined) continue;
    cpSync(modelFile(await context.model(model)), join(folder, name, '1', 'model.onnx'));
  }
  return folder;
}

/** A new folder of the run for the model `name`, with an empty version 1. */
export function newModelFolder(context, name) {
  const folder = join(context.tempDir, `model-${context.nextId()}`, name);
  mkdirSync(join(folder, '1'), { recursive: true });
  return folder;
}

/** A repository of `count` models, hard links to one file. Resolves to {folder, names}. */
export async function manyModels(context, model, count) {
  const file = modelFile(await context.model(model));
  const folder = join(context.tempDir, `repository-${context.nextId()}`);
  const names = Array.from({ length: count }, (_, i) => `m${String(i).padStart(4, '0')}`);
  for (const [index, name] of names.entries()) {
    const path = join(folder, name, '1', 'model.onnx');
    mkdirSync(join(folder, name, '1'), { recursive: true });
    if (index === 0) cpSync(file, path);
    else linkSync(join(folder, names[0], '1', 'model.onnx'), path);
  }
  return { folder, names };
}

/** Sends a POST to the repository API; throws on any status but 200. */
export async function control(server, path, body = {}) {
  const url = `http://${server.host}:${server.port}/v2/repository/${path}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`POST ${url}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
