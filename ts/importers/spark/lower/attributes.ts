// The metadata of values that Spark keeps for a column: which are categories, their labels, the
// length of a vector. Some stages depend on it (Interaction, IndexToString, VectorSlicer by names),
// and users want it in a model's metadata. Pure; importer's worker thread.

export interface Attribute {
  readonly kind: 'numeric' | 'binary' | 'nominal';
  readonly name?: string;
  /** Labels of the categories, where they are known. */
  readonly values?: readonly string[];
  /** How many categories, where only that is known. */
  readonly count?: number;
}

export interface Attributes {
  /** For a scalar. */
  readonly scalar?: Attribute;
  /** For a vector: its length. */
  readonly size?: number;
  /** For a vector: the attribute of each value. */
  readonly slots?: readonly Attribute[];
}

/** Longer vectors have no attributes here: no user names a million values. */
export const SLOTS_MAX = 100_000;

export const NUMERIC: Attribute = { kind: 'numeric' };

export function ofSlots(slots: readonly Attribute[]): Attributes {
  return slots.length > SLOTS_MAX ? { size: slots.length } : { size: slots.length, slots };
}

export function nominal(values: readonly string[]): Attributes {
  return { scalar: { kind: 'nominal', values } };
}

/**
 * The number of values of the one-hot form; 1 if the value is not a category. undefined: a category
 * whose number of values is not known.
 */
export function widthOf(attribute: Attribute | undefined): number | undefined {
  if (attribute?.kind !== 'nominal') return 1;
  const count = attribute.values?.length ?? attribute.count;
  return count === undefined ? undefined : Math.max(1, count);
}

/** The vector that VectorAssembler makes of columns, where all lengths are known. */
export function assembled(
  parts: readonly { readonly name: string; readonly isVector: boolean; readonly of: Attributes }[],
): Attributes {
  const slots: Attribute[] = [];
  for (const { name, isVector, of } of parts) {
    if (!isVector) {
      slots.push({ ...(of.scalar ?? NUMERIC), name });
      continue;
    }
    if (of.size === undefined) return {};
    if (slots.length + of.size > SLOTS_MAX) {
      const sizes = parts.map((part) => (part.isVector ? part.of.size : 1));
      if (sizes.some((size) => size === undefined)) return {};
      return { size: sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0) };
    }
    for (let i = 0; i < of.size; i++) {
      const slot = of.slots?.[i] ?? NUMERIC;
      slots.push({ ...slot, name: `${name}_${slot.name ?? i}` });
    }
  }
  return ofSlots(slots);
}

/** Those of `of` at `places`. */
export function sliced(of: Attributes, places: ArrayLike<number>): Attributes {
  const { slots } = of;
  if (slots === undefined) return { size: places.length };
  return ofSlots(Array.from(places, (place) => slots[place] ?? NUMERIC));
}

/** The names of a one-hot vector's values, which are those of the categories. */
export function oneHotSlots(labels: readonly string[]): Attributes {
  return ofSlots(labels.map((name) => ({ kind: 'binary', name })));
}
