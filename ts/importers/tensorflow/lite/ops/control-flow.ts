// Branches and loops of TensorFlow Lite, whose bodies are subgraphs. Importer's worker thread;
// pure. Source: tensorflow/lite/kernels/{if,while}.cc.
import { functionRef, types } from '../attributes.js';
import { OPTIONS } from '../generated/schema.js';
import type { LiteOp, LiteOperators, Translate } from '../op.js';
import type { NodeRef } from '../scope.js';

const inputsFrom = (of: LiteOp, first: number): NodeRef[] =>
  Array.from({ length: of.count - first }, (_, i) => of.raw(first + i));

const dtypesFrom = (of: LiteOp, first: number) =>
  Array.from({ length: of.count - first }, (_, i) => of.dtype(first + i));

function giveAll(of: LiteOp, node: string): void {
  of.operator.outputs.forEach((_, i) => of.giveRaw({ node, output: i }, i));
}

const branch: Translate = (of) => {
  const { thenSubgraphIndex, elseSubgraphIndex } = of.options(OPTIONS.IfOptions);
  const { node } = of.add('StatelessIf', [of.raw(0), ...inputsFrom(of, 1)], {
    Tcond: { kind: 'type', value: of.dtype() },
    Tin: types(dtypesFrom(of, 1)),
    Tout: types(Array.from(of.operator.outputs, (_, i) => of.outDtype(i))),
    then_branch: functionRef(of.bodies.functionOf(thenSubgraphIndex)),
    else_branch: functionRef(of.bodies.functionOf(elseSubgraphIndex)),
  });
  giveAll(of, node);
};

const loop: Translate = (of) => {
  const { condSubgraphIndex, bodySubgraphIndex } = of.options(OPTIONS.WhileOptions);
  const { node } = of.add('StatelessWhile', inputsFrom(of, 0), {
    T: types(dtypesFrom(of, 0)),
    cond: functionRef(of.bodies.functionOf(condSubgraphIndex)),
    body: functionRef(of.bodies.functionOf(bodySubgraphIndex)),
  });
  giveAll(of, node);
};

export const CONTROL_FLOW: LiteOperators = {
  IF: { translate: branch },
  WHILE: { translate: loop },
};
