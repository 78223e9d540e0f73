// The attributes of one start tag: two short lists, which the scanner refills for every tag. A
// document of 100 MB has millions of tags, and an object per tag with the names as keys took a
// fifth of the reading time. Importer's worker thread.

/** By name; without a prototype, so that no name means anything else. */
export type Attributes = Record<string, string | undefined>;

const NullPrototype = function NullPrototype() {} as unknown as new () => Attributes;
(NullPrototype as unknown as { prototype: object }).prototype = Object.create(null) as object;

/** Copies a text, because a slice of a larger text keeps all of it in memory. */
export function ownText(text: string): string {
  // V8 copies what is shorter.
  return text.length < 13 ? text : Buffer.from(text).toString();
}

const isVendor = (name: string): boolean => name.startsWith('x-');

export class AttributeList {
  #count = 0;
  #vendors = 0;
  readonly #names: string[] = [];
  readonly #values: string[] = [];

  static of(attributes: Readonly<Attributes>): AttributeList {
    const list = new AttributeList();
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined) list.add(name, value);
    }
    return list;
  }

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
    this.#vendors = 0;
  }

  /** Names that start with "x-", like those of vendors. */
  get vendorNames(): string[] {
    return this.#vendors === 0 ? [] : this.#names.slice(0, this.#count).filter(isVendor);
  }

  /** The name must not be there. */
  add(name: string, value: string): void {
    this.#names[this.#count] = name;
    this.#values[this.#count] = value;
    this.#count += 1;
    if (isVendor(name)) this.#vendors += 1;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get(name: string): string | undefined {
    for (let i = 0; i < this.#count; i += 1) {
      if (this.#names[i] === name) return this.#values[i];
    }
    return undefined;
  }

  /** A copy to keep, which keeps nothing else of the document. */
  toObject(): Attributes {
    const made = new NullPrototype();
    for (let i = 0; i < this.#count; i += 1) {
      made[this.#names[i] as string] = ownText(this.#values[i] as string);
    }
    return made;
  }
}
