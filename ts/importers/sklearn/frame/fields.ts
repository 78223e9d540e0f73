// The fields of requests: the features that a model was fitted on. A file does not say their types,
// so that the model is lowered twice: the first run finds out how each feature is read, the second
// one has all fields in their order. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../../plan/builder.js';

/** How a feature is read. */
export type ElementKind = 'number' | 'text' | 'flag';

const TYPES = { number: 'double', text: 'string', flag: 'bool' } as const;

export class Fields {
  readonly names: readonly string[];
  readonly #builder: PlanBuilder;
  readonly #kinds: Map<number, ElementKind>;
  readonly #columns = new Map<number, Column>();
  readonly #isFirst: boolean;

  /** `kinds`: what an earlier run has found; undefined: this is the first. */
  constructor(
    builder: PlanBuilder,
    names: readonly string[],
    kinds: ReadonlyMap<number, ElementKind> | undefined,
  ) {
    this.#builder = builder;
    this.names = names;
    this.#kinds = new Map(kinds ?? []);
    this.#isFirst = kinds === undefined;
    if (kinds !== undefined) this.#addAll();
  }

  /** The types that features are read as. */
  get kinds(): ReadonlyMap<number, ElementKind> {
    return this.#kinds;
  }

  kindOf(feature: number): ElementKind | undefined {
    return this.#kinds.get(feature);
  }

  /** Says how a feature is read, before it is. */
  prefer(element: object, kind: ElementKind): void {
    if ('feature' in element) this.use(element.feature as number, kind);
  }

  /** The feature's column. Errors: RangeError: it is also read as another type. */
  use(feature: number, kind: ElementKind): Column {
    const before = this.#kinds.get(feature);
    const name = this.names[feature];
    if (name === undefined) throw new RangeError(`the model has no feature ${feature}`);
    const isMixed = before !== undefined && before !== kind;
    if (isMixed && (before === 'text' || kind === 'text')) {
      const both = [before, kind].sort().join('s and as ');
      throw new RangeError(`feature '${name}' is read both as ${both}s`);
    }
    // A flag may also be read as a number.
    if (before === undefined || kind === 'flag') this.#kinds.set(feature, kind);
    const known = this.#columns.get(feature);
    if (known !== undefined) return known;
    if (!this.#isFirst) throw new RangeError(`feature '${name}' was not read before`);
    const column = this.#builder.field({ name, type: TYPES[kind] });
    this.#columns.set(feature, column);
    return column;
  }

  #addAll(): void {
    this.names.forEach((name, feature) => {
      const kind = this.#kinds.get(feature);
      const column =
        kind === undefined
          ? this.#builder.field({ name, type: 'any', any: true, optional: true })
          : this.#builder.field({ name, type: TYPES[kind] });
      this.#columns.set(feature, column);
    });
    const kinds = new Set(this.#kinds.values());
    this.#builder.matrix = kinds.size === 1;
  }
}
