// Bundles built from plain objects, for tests of the importer.
import { importBundle } from '../../../../ts/importers/mleap/index.js';
import type { ModelFiles } from '../../../../ts/importers/plan/archive/index.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';

export type Files = Readonly<Record<string, unknown>>;

export interface NodeOf {
  readonly op: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** By port. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly outputs?: Readonly<Record<string, string>>;
  /** Additional files besides node and model, by name. */
  readonly files?: Files;
}

export const double = (value: number) => ({ double: value });
export const long = (value: number) => ({ long: value });
export const text = (value: string) => ({ string: value });
export const texts = (...values: readonly string[]) => ({ type: 'list', string: values });
export const doubles = (...values: readonly unknown[]) => ({ type: 'list', double: values });
export const vector = (...values: readonly number[]) => ({
  type: 'tensor',
  double: values,
  shape: { dimensions: [{ size: values.length, name: '' }] },
});

const sockets = (ports: Readonly<Record<string, string>> = {}) =>
  Object.entries(ports).map(([port, name]) => ({ port, name }));

/** The files of a pipeline of these nodes, in order. */
export function filesOf(nodes: Readonly<Record<string, NodeOf>>): Record<string, unknown> {
  const files: Record<string, unknown> = {
    'bundle.json': { uid: 'u', name: 'test', format: 'json', version: '0.20.0' },
    'root/model.json': { op: 'pipeline', attributes: { nodes: texts(...Object.keys(nodes)) } },
    'root/node.json': { name: 'root', shape: { inputs: [], outputs: [] } },
  };
  for (const [name, node] of Object.entries(nodes)) {
    const folder = `root/${name}.node`;
    const shape = { inputs: sockets(node.inputs), outputs: sockets(node.outputs) };
    files[`${folder}/model.json`] = { op: node.op, attributes: node.attributes ?? {} };
    files[`${folder}/node.json`] = { name, shape };
    for (const [file, content] of Object.entries(node.files ?? {})) {
      files[`${folder}/${file}`] = content;
    }
  }
  return files;
}

/** Objects become JSON; strings and bytes are unchanged. */
export function modelFiles(files: Files): ModelFiles {
  const bytesOf = (name: string): Uint8Array => {
    const content = files[name];
    if (content === undefined) throw new ServalError(ErrorCode.ModelInvalid, `no ${name}`);
    if (content instanceof Uint8Array) return content;
    return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
  };
  return {
    names: Object.keys(files).sort(),
    read: (name) => Promise.resolve(bytesOf(name)),
    size: (name) => bytesOf(name).length,
    close: () => Promise.resolve(),
  };
}

export const importNodes = (nodes: Readonly<Record<string, NodeOf>>) =>
  importBundle(modelFiles(filesOf(nodes)));
export const importFiles = (files: Files) => importBundle(modelFiles(files));
