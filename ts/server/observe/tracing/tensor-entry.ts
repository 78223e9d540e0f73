// Entries of a trace file with an input or output: level TENSORS. Control plane, main thread; pure.
// Source: server/src/tracer.cc (TraceTensorActivity), docs/user_guide/trace.md. Triton writes a
// half as nothing, an INT8 as a character, a float with 6 digits and a text unescaped; here all
// values can be read back.
import type { TracedTensor } from '../../../base/generated/engine.js';
import { dataTypeOf } from '../../../model/datatype.js';
import { LENGTH_BYTES } from '../../../model/infer/tensor.js';

const DIGITS_FEWEST = 7;
const DIGITS_MOST = 9;

/** An input as it waits for its run, an output as the model returned it. */
export function tensorEntry(id: number, tensor: TracedTensor): string {
  const { name, output, datatype, shape } = tensor;
  const activity = output ? 'TENSOR_BACKEND_OUTPUT' : 'TENSOR_QUEUE_INPUT';
  const data = JSON.stringify(valuesOf(tensor).join(','));
  return (
    `{"id":${id},"activity":"${activity}","tensor":{"name":${JSON.stringify(name)},` +
    `"data":${data},"shape":"${shape.join(',')}","dtype":"${datatype}"` +
    `${tensor.leftOut ? ',"left_out":true' : ''}}}`
  );
}

/** The value of each element; `null` in a row without a value. */
function valuesOf({ datatype, data, missing, leftOut }: TracedTensor): readonly string[] {
  const type = leftOut ? undefined : dataTypeOf(datatype);
  if (type === undefined) return [];
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const values: string[] = [];
  if (type.kind === 'text') {
    for (let at = 0; at + LENGTH_BYTES <= data.length; ) {
      const from = at + LENGTH_BYTES;
      at = Math.min(data.length, from + view.getUint32(at, true));
      values.push(JSON.stringify(Buffer.from(data.subarray(from, at)).toString('utf8')));
    }
  } else if (type.elements !== undefined) {
    for (let at = 0; at + type.bytes <= data.length; at += type.bytes) {
      values.push(numberText(type.elements.get(view, at), type.bytes));
    }
  }
  if (missing.length === 0) return values;
  const columns = values.length / missing.length;
  return values.map((value, i) => (missing[Math.floor(i / columns)] === 1 ? 'null' : value));
}

/** Special values have C++'s names; other numbers the fewest digits that say them exactly. */
function numberText(value: number | bigint, bytes: number): string {
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (bytes > 4) return String(value);
  for (let digits = DIGITS_FEWEST; digits < DIGITS_MOST; digits += 1) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return String(rounded);
  }
  return String(Number(value.toPrecision(DIGITS_MOST)));
}
