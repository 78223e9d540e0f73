// Universal binary JSON (draft 12), as XGBoost writes it: numbers most significant byte first.
// Importer's worker thread; pure.
const DEPTH_MAX = 64;
const TEXT_BYTES_MAX = 1 << 20;

/** Errors: RangeError saying what is wrong at which byte. */
export function readUbj(bytes: Uint8Array): unknown {
  return new UbjReader(bytes).value(undefined, 0);
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

const BYTES: Readonly<Record<string, number>> = { i: 1, U: 1, I: 2, l: 4, L: 8, d: 4, D: 8 };

/** A list of numbers of one type, as the file has it. */
export class UbjNumbers {
  readonly #view: DataView;
  readonly #type: string;
  readonly #size: number;

  constructor(view: DataView, type: string, size: number) {
    this.#view = view;
    this.#type = type;
    this.#size = size;
  }

  /** The numbers; floats and whole numbers of 32 bits or 8 as they are, others as doubles. */
  read(): Float32Array | Int32Array | Uint8Array | Float64Array {
    const { buffer, byteOffset, byteLength } = this.#view;
    if (this.#type === 'U') return new Uint8Array(buffer, byteOffset, byteLength).slice();
    if (this.#type === 'd' || this.#type === 'l') {
      const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
      if (LITTLE_ENDIAN) Buffer.from(bytes.buffer).swap32();
      return this.#type === 'd' ? new Float32Array(bytes.buffer) : new Int32Array(bytes.buffer);
    }
    const made = new Float64Array(byteLength / this.#size);
    made.forEach((_, i) => {
      made[i] = numberAt(this.#view, this.#type, i * this.#size);
    });
    return made;
  }
}

function numberAt(view: DataView, marker: string, at: number): number {
  switch (marker) {
    case 'i':
      return view.getInt8(at);
    case 'U':
      return view.getUint8(at);
    case 'I':
      return view.getInt16(at);
    case 'l':
      return view.getInt32(at);
    case 'L':
      return Number(view.getBigInt64(at));
    case 'd':
      return view.getFloat32(at);
    default:
      return view.getFloat64(at);
  }
}

class UbjReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  value(typed: string | undefined, depth: number): unknown {
    if (depth > DEPTH_MAX) throw this.#fault('values nest too deep');
    const marker = typed ?? this.#marker();
    switch (marker) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case 'S':
        return this.#text();
      case 'C':
        return String.fromCharCode(this.#view.getUint8(this.#take(1)));
      case 'T':
        return true;
      case 'F':
        return false;
      case 'Z':
        return null;
      default:
        return this.#number(marker);
    }
  }

  #number(marker: string): number {
    const size = BYTES[marker];
    if (size === undefined) throw this.#fault(`marker '${marker}' is not known`);
    return numberAt(this.#view, marker, this.#take(size));
  }

  #object(depth: number): Record<string, unknown> {
    const { type, count } = this.#head();
    const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (let i = 0; count === undefined ? !this.#ends('}') : i < count; i += 1) {
      const key = this.#text();
      made[key] = this.value(type, depth + 1);
    }
    return made;
  }

  #array(depth: number): unknown {
    const { type, count } = this.#head();
    const size = type === undefined ? undefined : BYTES[type];
    if (type !== undefined && size !== undefined && count !== undefined) {
      if (count * size > this.#bytes.length - this.#at)
        throw this.#fault(`expected ${count} values`);
      const at = this.#take(count * size);
      const { buffer, byteOffset } = this.#view;
      return new UbjNumbers(new DataView(buffer, byteOffset + at, count * size), type, size);
    }
    const made: unknown[] = [];
    while (count === undefined ? !this.#ends(']') : made.length < count) {
      made.push(this.value(type, depth + 1));
      if (made.length > this.#bytes.length) throw this.#fault('a list of values without bytes');
    }
    return made;
  }

  /** "$type#count" or "#count", where they are. */
  #head(): { readonly type: string | undefined; readonly count: number | undefined } {
    let type: string | undefined;
    if (this.#peek() === '$') {
      this.#marker();
      type = this.#marker();
    }
    if (this.#peek() !== '#') {
      if (type !== undefined) throw this.#fault('a type without a count');
      return { type, count: undefined };
    }
    this.#marker();
    return { type, count: this.#length() };
  }

  #ends(marker: string): boolean {
    const ends = this.#peek() === marker;
    if (ends) this.#at += 1;
    return ends;
  }

  #length(): number {
    const length = this.#number(this.#marker());
    if (!Number.isSafeInteger(length) || length < 0) throw this.#fault(`a length of ${length}`);
    return length;
  }

  #text(): string {
    const length = this.#length();
    if (length > TEXT_BYTES_MAX) throw this.#fault(`a string of ${length} bytes`);
    const at = this.#take(length);
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + at, length).toString('utf8');
  }

  #peek(): string {
    return String.fromCharCode(this.#bytes[this.#at] ?? 0);
  }

  #marker(): string {
    return String.fromCharCode(this.#view.getUint8(this.#take(1)));
  }

  #take(length: number): number {
    const left = this.#bytes.length - this.#at;
    if (length > left) throw this.#fault(`expected ${length} bytes, got ${left}`);
    this.#at += length;
    return this.#at - length;
  }

  #fault(what: string): RangeError {
    return new RangeError(`byte ${this.#at}: ${what}`);
  }
}
