// Model repositories for servers under test, in temporary folders: the fixture models, including
// chosen broken ones, and a model that runs for seconds. Test time only.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { encodeModel, floatBytes, int64Bytes } from '../../../ts/importers/onnx/builder.js';
import type { OnnxModel, OnnxNode } from '../../../ts/importers/onnx/builder.js';
import { packageRoot } from '../../../ts/base/package-files.js';

/** A folder with fixtures: `models` is a repository in which all load, `broken` one in which none
 * does. */
export class ModelFolders {
  readonly folder = mkdtempSync(join(tmpdir(), 'serval-e2e-'));

  constructor() {
    const script = join(packageRoot(), 'test', 'fixtures', 'make-fixtures.mjs');
    execFileSync(process.execPath, [script, this.folder]);
  }

  get models(): string {
    return join(this.folder, 'models');
  }

  /** A repository with some of the models, and some of those that do not load. */
  repository(name: string, good: readonly string[], broken: readonly string[] = []): string {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    for (const model of good) cpSync(join(this.models, model), join(folder, model), COPY);
    for (const model of broken) {
      cpSync(join(this.folder, 'broken', model), join(folder, model), COPY);
    }
    return folder;
  }

  /** Adds model `name`, version 1, to a repository. */
  add(repository: string, name: string, model: OnnxModel): void {
    const path = join(repository, name, '1', 'model.onnx');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, encodeModel(model));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const COPY = { recursive: true };

/**
 * output = input, after `steps` products of two size x size matrices that depend on the input (so
 * that nothing is folded or packed at load). Takes about size^3 * steps / 20e9 seconds on one core.
 */
export function slowModel(size: number, steps: number): OnnxModel {
  const keepdims = { keepdims: { int: 0n } };
  const value = { name: 'value', type: 'float', dims: [1], data: floatBytes([1 / size]) } as const;
  const nodes: OnnxNode[] = [
    {
      op: 'ConstantOfShape',
      inputs: ['size'],
      outputs: ['flat'],
      attributes: { value: { tensor: value } },
    },
    { op: 'ReduceMean', inputs: ['input'], outputs: ['mean'], attributes: keepdims },
    { op: 'Mul', inputs: ['mean', 'zero'], outputs: ['none'] },
    { op: 'Add', inputs: ['flat', 'none'], outputs: ['m0'] },
  ];
  for (let step = 0; step < steps; step += 1) {
    nodes.push({ op: 'MatMul', inputs: [`m${step}`, 'm0'], outputs: [`m${step + 1}`] });
  }
  nodes.push(
    { op: 'ReduceMean', inputs: [`m${steps}`], outputs: ['end'], attributes: keepdims },
    { op: 'Mul', inputs: ['end', 'zero'], outputs: ['nothing'] },
    { op: 'Add', inputs: ['input', 'nothing'], outputs: ['output'] },
  );
  const port = (name: string) => ({ name, type: 'float', shape: ['batch'] }) as const;
  const initializers = [
    { name: 'size', type: 'int64', dims: [2], data: int64Bytes([size, size]) },
    { name: 'zero', type: 'float', dims: [], data: floatBytes([0]) },
  ] as const;
  const graph = { name: 'slow', inputs: [port('input')], outputs: [port('output')] };
  return { graph: { ...graph, initializers, nodes } };
}

/**
 * y = trips + max(trips), computed by adding 1 that many times: INT64 [batch]. FOREVER never ends.
 */
export function endlessModel(): OnnxModel {
  const scalar = (name: string, type: 'int64' | 'bool') => ({ name, type, shape: [] }) as const;
  const vector = (name: string) => ({ name, type: 'int64', shape: ['batch'] }) as const;
  const body = {
    name: 'body',
    inputs: [scalar('iteration', 'int64'), scalar('more_in', 'bool'), vector('v_in')],
    outputs: [scalar('more_out', 'bool'), vector('v_out')],
    initializers: [{ name: 'one', type: 'int64', dims: [], data: int64Bytes([1]) }] as const,
    nodes: [
      { op: 'Identity', inputs: ['more_in'], outputs: ['more_out'] },
      { op: 'Add', inputs: ['v_in', 'one'], outputs: ['v_out'] },
    ],
  };
  return {
    graph: {
      name: 'endless',
      inputs: [vector('trips')],
      outputs: [vector('y')],
      initializers: [{ name: 'yes', type: 'bool', dims: [], data: Uint8Array.of(1) }],
      nodes: [
        {
          op: 'ReduceMax',
          inputs: ['trips'],
          outputs: ['most'],
          attributes: { keepdims: { int: 0n } },
        },
        {
          op: 'Loop',
          inputs: ['most', 'yes', 'trips'],
          outputs: ['y'],
          attributes: { body: { graph: body } },
        },
      ],
    },
  };
}

/** A number of iterations that takes longer than a lifetime. */
export const FOREVER = 9_223_372_036_854_775_807n;
