// Tensor values as JSON text, up to a maximum number. Control plane, main thread; pure.
import { LENGTH_BYTES } from '../../../model/infer/tensor.js';
import type { DataType } from '../../../model/datatype.js';
import type { WireReader } from '../../../protobuf/reader.js';
import type { ValuesMax } from '../../../config/observation/request-log-settings.js';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** NaN and the infinities as in protobuf's JSON. */
function numberText(value: number | bigint): string {
  if (typeof value === 'bigint' || Number.isFinite(value)) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  return `"${value}"`;
}

/** Bytes that are not UTF-8 as in TensorFlow Serving's REST API. */
export function bytesText(bytes: Uint8Array): string {
  try {
    return JSON.stringify(UTF8.decode(bytes));
  } catch {
    return `{"b64":"${Buffer.from(bytes).toString('base64')}"}`;
  }
}

/** Collects the values of one tensor. */
export class TensorValues {
  #count = 0;
  readonly #texts: string[] = [];

  constructor(
    private readonly type: DataType,
    private readonly valuesMax: ValuesMax,
  ) {}

  /**
   * Members of the tensor's object: `data` and, if values were omitted, their number; "" = neither.
   */
  get members(): string {
    const { valuesMax } = this;
    const left = this.#count - this.#texts.length;
    if (valuesMax === 0) return '';
    const data = `,"data":[${this.#texts.join(',')}]`;
    return left === 0 ? data : `${data},"values_left_out":${left}`;
  }

  add(text: () => string): void {
    if (this.#count < this.valuesMax) this.#texts.push(text());
    this.#count += 1;
  }

  /** Elements in memory layout; texts are length-prefixed. */
  addRaw(raw: Uint8Array): void {
    const view = new DataView(raw.buffer, raw.byteOffset, raw.length);
    const { bytes, elements, kind } = this.type;
    if (kind === 'text') {
      for (let at = 0; at + LENGTH_BYTES <= raw.length; ) {
        const from = at + LENGTH_BYTES;
        const end = Math.min(raw.length, from + view.getUint32(at, true));
        this.add(() => bytesText(raw.subarray(from, end)));
        at = end;
      }
    } else if (elements !== undefined && bytes > 0) {
      const count = Math.floor(raw.length / bytes);
      const shown = Math.max(0, Math.min(count, this.valuesMax - this.#count));
      for (let i = 0; i < shown; i += 1) this.#addOne(elements.get(view, i * bytes));
      this.#count += count - shown;
    }
  }

  /** One occurrence of the protobuf field that carries elements of the type. */
  addField(reader: WireReader): void {
    const { kind, bytes, elements } = this.type;
    if (kind === 'text') {
      const text = reader.view();
      this.add(() => bytesText(text));
    } else if (kind === 'float' && bytes >= 4) {
      this.addRaw(reader.fixed(bytes === 4 ? 4 : 8));
    } else if (elements !== undefined) {
      // The lowest bytes are the element; halves are also sent as their bits.
      const element = new DataView(new ArrayBuffer(8));
      reader.varints(({ low, high }) => {
        element.setUint32(0, low, true);
        element.setUint32(4, high, true);
        this.#addOne(elements.get(element, 0));
      });
    } else {
      reader.skip();
    }
  }

  #addOne(value: number | bigint): void {
    if (this.type.kind === 'bool') this.add(() => String(Boolean(value)));
    else this.add(() => numberText(value));
  }
}
