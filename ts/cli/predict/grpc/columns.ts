// Converts columns of a tabular model to tensors of V2's gRPC messages, and its responses to
// columns. Control plane; pure. Source: docs/reference/tabular.md, The extended V2 protocol.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { elementBytes, elementValues } from '../../../library/elements.js';
import { tableBody } from '../../../library/table-request.js';
import { byName } from '../../../library/tensor-request.js';
import type { Cell, EncodedTensor, InputInfo, Inputs, Outputs } from '../../../library/types.js';
import type { Datatype } from '../../../model/snapshot.js';
import { dataTypeOf } from '../../../model/datatype.js';
import { parseExact, type ExactValue } from '../../../protocols/frames/exact-json.js';
import { memberOf } from '../../../protocols/frames/tensors.js';
import { plain } from '../inputs.js';
import type { AnswerTensor } from './v2.js';

interface Column {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly data: readonly unknown[];
}
const DIM_OF_ITS_OWN = -1;

/** In REST's form, serialized. Errors: InvalidArgument naming the input. */
export function columnTensors(infos: readonly InputInfo[], inputs: Inputs): EncodedTensor[] {
  const { body } = tableBody(infos, inputs, {});
  const json: ExactValue = parseExact(Buffer.from(body).toString('utf8'));
  return (memberOf(json, 'inputs') as readonly ExactValue[]).flatMap((one) =>
    tensorsOf(plain(one) as Column),
  );
}

function tensorsOf({ name, datatype, shape, parameters = {}, data }: Column): EncodedTensor[] {
  const where = `input '${name}'`;
  const isRagged = shape.at(-1) === DIM_OF_ITS_OWN;
  const lists = isRagged ? data.map((cell) => (cell as readonly unknown[])[0]) : [];
  const missing = lists.findIndex((list) => list === null);
  if (missing >= 0) {
    const message = `${where}: row ${missing}: a missing list among lists of different lengths`;
    throw new ServalError(ErrorCode.Unimplemented, `${message}: call the model over http://`);
  }
  const flat = data.flat(Infinity);
  const nulls = flat.flatMap((value, i) => (value === null ? [i] : []));
  const filler = dataTypeOf(datatype).kind === 'text' ? '' : 0;
  const values = flat.map((value) => value ?? filler) as [];
  const own = nulls.length === 0 ? parameters : { ...parameters, null_indices: nulls.join(',') };
  const bytes = elementBytes(where, wireType(datatype), values);
  const tensor = { name, datatype, shape, bytes, parameters: own };
  if (!isRagged) return [tensor];
  const lengths = Int32Array.from(lists, (list) => (list as readonly unknown[]).length);
  const shapeOf = { name: `${name}_shape`, datatype: 'INT32', shape: [1], parameters: {} } as const;
  return [tensor, { ...shapeOf, bytes: new Uint8Array(lengths.buffer) }];
}

/** The data type of the elements in raw contents. */
function wireType(datatype: Datatype): Datatype {
  return dataTypeOf(datatype).v2 ?? datatype;
}

/** Errors: Internal: lengths that do not add up. */
export function tensorColumns(tensors: readonly AnswerTensor[]): Outputs {
  const lengthsOf = (name: string): AnswerTensor | undefined =>
    tensors.find((one) => one.name === `${name}_shape`);
  const ragged = tensors.filter(({ shape }) => shape.at(-1) === DIM_OF_ITS_OWN);
  const lengthNames = new Set(ragged.map(({ name }) => `${name}_shape`));
  return byName(
    tensors
      .filter(({ name }) => !lengthNames.has(name))
      .map((tensor) => {
        const { name, datatype, shape } = tensor;
        const cells = cellsOf(tensor);
        if (shape.length < 2) return { name, datatype, shape: [cells.length], data: cells };
        const last = shape.at(-1) ?? 1;
        const written = last === DIM_OF_ITS_OWN ? lengthsOf(name) : undefined;
        const lengths = written
          ? cellsOf(written).map(Number)
          : Array.from({ length: shape[0] ?? 0 }, () => Math.max(0, last));
        const data = grouped(name, cells, lengths);
        return { name, datatype, shape: [data.length, last], data };
      }),
  );
}

function grouped(name: string, cells: readonly Cell[], lengths: readonly number[]): Cell[] {
  let at = 0;
  const lists = lengths.map((length) => cells.slice(at, (at += length)));
  if (at === cells.length) return lists;
  const message = `output '${name}': ${cells.length} values for lists of ${at}`;
  throw new ServalError(ErrorCode.Internal, message);
}

function cellsOf({ datatype, parameters, bytes }: AnswerTensor): Cell[] {
  const values = Array.from(elementValues(wireType(datatype), bytes) as ArrayLike<Cell>);
  const cells = datatype === 'BOOL' ? values.map(Boolean) : values;
  for (const place of (parameters.get('null_indices') ?? '').split(',')) {
    if (place !== '' && Number(place) < cells.length) cells[Number(place)] = null;
  }
  return cells;
}
