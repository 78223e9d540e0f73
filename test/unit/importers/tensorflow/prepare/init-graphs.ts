// Graphs that initialize variables, for tests of restore and init. Test time only.
import type {
  LoadedGraph,
  NodeDef,
  PreparedModel,
} from '../../../../../ts/importers/tensorflow/types.js';
import { graph, loaded, node, prepared, type } from './graphs.js';

export const FLOAT = { T: type('float') };
export const set = (name: string, of: string, value: string, ...after: string[]): NodeDef =>
  node(name, 'AssignVariableOp', [of, value, ...after], { dtype: type('float') });
export const reading = (...names: readonly string[]): NodeDef[] =>
  names.map((name) => node(`${name}/read`, 'ReadVariableOp', [name], { dtype: type('float') }));

/** Runs "init", a NoOp after the given nodes; the signature reads `served` variables. */
export function run(
  nodes: readonly NodeDef[],
  after: readonly string[],
  served: readonly string[],
  more: Partial<LoadedGraph> = {},
): PreparedModel {
  const init = node(
    'init',
    'NoOp',
    after.map((name) => `^${name}`),
  );
  return prepared(
    loaded(
      graph([...nodes, init, ...reading(...served)]),
      served.map((name) => `${name}/read`),
      { saver: undefined, initOp: 'init', ...more },
    ),
  );
}
