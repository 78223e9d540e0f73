// Which names a model element sees, and which column each of them is: fields of its MiningSchema
// with their treatments, derived fields, outputs of models before it. A column is filled once per
// block of the plan, when it is first asked for: what no model reads costs nothing. A derived field
// that cannot be computed refuses the rows that read it. Importer's worker thread. Source:
// tabular.md 3.3
import {
  type Block,
  type Column,
  type PlanBuilder,
  call,
  columnRef,
  constant,
} from '../plan/builder.js';
import type { Type } from '../plan/generated/plan.js';
import type { Problems } from '../plan/problems.js';
import type { FieldInfo } from './context.js';
import { type DataField, type PmmlDocument, optypeOf, placeOf } from './document.js';
import { type Treatment, addTreatment, treatmentOf } from './treatment.js';
import { normalDataType, planType, requestType } from './types.js';
import type { XmlElement } from './xml/reader.js';

/** A column that is there already, under a name. */
export interface Produced {
  readonly column: Column;
  readonly info: FieldInfo;
}

let lastId = 0;

/**
 * Returns whether an inner model reads a field as the outer model has it, invalid values included:
 * it states no treatment. `declared`: undefined for a field that is not a DataField. Source: JPMML.
 */
function inherits({ attributes }: XmlElement, declared: DataField | undefined): boolean {
  const {
    optype,
    outliers = 'asIs',
    invalidValueTreatment = 'returnInvalid',
    invalidValueReplacement = attributes['x-invalidValueReplacement'],
    missingValueReplacement,
  } = attributes;
  return (
    (optype === undefined || optype === declared?.optype) &&
    outliers === 'asIs' &&
    invalidValueTreatment === 'returnInvalid' &&
    invalidValueReplacement === undefined &&
    missingValueReplacement === undefined
  );
}

/** The names of one model element; those around it through `parent`. */
export class Names {
  readonly id = (lastId += 1);
  /** MiningFields that may be read, by name. */
  readonly mining = new Map<string, XmlElement>();
  readonly produced = new Map<string, Produced>();

  constructor(
    readonly parent: Names | undefined,
    /** DerivedField elements, by name. */
    readonly derived: ReadonlyMap<string, XmlElement>,
  ) {}
}

/** Fills a derived field's column, in the scope of its declaration. */
export type Derive = (element: XmlElement, names: Names) => Column;

// Data types for which a request may contain lists.
const LISTED = new Set(['string', 'integer', 'float', 'double']);

const UNKNOWN: FieldInfo = { dataType: 'double', optype: 'continuous', values: [] };

interface KnownTreatment {
  readonly type: Type;
  readonly field: DataField | undefined;
  readonly treatment: Treatment | undefined;
}

export class Fields {
  readonly #filled: Map<string, Column>[] = [new Map()];
  readonly #inputs = new Map<string, Column>();
  readonly #busy = new Set<string>();
  readonly #plain = new Map<Names, boolean>();
  readonly #treatments = new Map<XmlElement, KnownTreatment>();
  #lost: Column | undefined;

  constructor(
    readonly document: PmmlDocument,
    readonly plan: PlanBuilder,
    readonly problems: Problems,
    readonly derive: Derive,
  ) {}

  /** A column to go on with after a problem. */
  lost(): Column {
    this.#lost ??= this.plan.field({ name: '(unknown field)', type: 'double' });
    return this.#lost;
  }

  /** The stages that `fill` appends, as a block: what it fills is known inside it only. */
  block(fill: () => void): Block {
    this.#filled.push(new Map());
    try {
      return this.plan.block(fill);
    } finally {
      this.#filled.pop();
    }
  }

  /**
   * Same as block(), for stages that read request fields only: columns that were filled before are
   * computed again.
   */
  aside(fill: () => void): Block {
    const outer = this.#filled.splice(0);
    try {
      return this.block(fill);
    } finally {
      this.#filled.push(...outer);
    }
  }

  /** The column under a key, filled now where it was not yet. */
  once(key: string, fill: () => Column): Column {
    for (let i = this.#filled.length - 1; i >= 0; i -= 1) {
      const found = this.#filled[i]?.get(key);
      if (found !== undefined) return found;
    }
    const made = fill();
    this.#filled.at(-1)?.set(key, made);
    return made;
  }

  /** The field of requests for a DataField. */
  input(field: DataField): Column {
    const known = this.#inputs.get(field.name);
    if (known !== undefined) return known;
    const list = this.document.lists.has(field.name);
    const element = planType(field.dataType) ?? 'double';
    if (list && !LISTED.has(field.dataType)) {
      const reason = `lists of data type ${field.dataType} are not supported`;
      this.problems.add(placeOf(field.element), reason);
    }
    const column = this.plan.field({
      name: field.name,
      type: list ? 'list' : (requestType(field.dataType) ?? 'double'),
      ...(list ? { element } : {}),
      optional: true,
      parseText: true,
      about: aboutField(field),
    });
    this.#inputs.set(field.name, column);
    return column;
  }

  /** Is there such a name? */
  has(names: Names, name: string): boolean {
    for (let at: Names | undefined = names; at !== undefined; at = at.parent) {
      if (at.produced.has(name) || at.mining.has(name) || at.derived.has(name)) return true;
    }
    return false;
  }

  info(names: Names, name: string): FieldInfo {
    for (let at: Names | undefined = names; at !== undefined; at = at.parent) {
      const produced = at.produced.get(name);
      if (produced !== undefined) return produced.info;
      if (at.mining.has(name)) return this.#miningInfo(at, name);
      const derived = at.derived.get(name);
      if (derived !== undefined) return derivedInfo(derived);
    }
    return this.document.dataFields.get(name) ?? UNKNOWN;
  }

  #miningInfo(names: Names, name: string): FieldInfo {
    const of =
      names.parent === undefined
        ? (this.document.dataFields.get(name) ?? UNKNOWN)
        : this.info(names.parent, name);
    const optype = names.mining.get(name)?.attributes['optype'];
    return optype === undefined ? of : { ...of, optype: optypeOf(optype, of.dataType) };
  }

  /** The column of a name. Errors: a problem at `at`, and the lost column. */
  column(names: Names, name: string, at: XmlElement): Column {
    const found = this.#known(names, name, at);
    if (!this.#isList(found, name)) return found;
    const reason = `field '${name}': expected one value in each row, got a list`;
    this.problems.add(placeOf(at), reason);
    return this.lost();
  }

  /** Same as column(), for a DataField that has a list in each row. */
  list(names: Names, name: string, at: XmlElement): Column {
    const found = this.#known(names, name, at);
    if (this.#isList(found, name) || found === this.#lost) return found;
    this.problems.add(
      placeOf(at),
      `'${name}': expected a field of the request with a list in each row`,
    );
    return this.lost();
  }

  #isList(column: Column, name: string): boolean {
    return this.document.lists.has(name) && this.plan.typeOf(column) === 'list';
  }

  #known(names: Names, name: string, at: XmlElement): Column {
    const found = this.#find(names, name, at);
    if (found !== undefined) return found;
    const where = this.document.dataFields.has(name)
      ? 'is not in the MiningSchema'
      : 'is not declared';
    this.problems.add(placeOf(at), `field '${name}' ${where}`);
    return this.lost();
  }

  #find(names: Names | undefined, name: string, at: XmlElement): Column | undefined {
    if (names === undefined) return undefined;
    const produced = names.produced.get(name);
    if (produced !== undefined) return produced.column;
    const mining = names.mining.get(name);
    if (mining !== undefined) return this.#mining(names, name, mining, at);
    const derived = names.derived.get(name) ?? this.#ownGlobal(names, name);
    if (derived !== undefined) return this.#derived(names, name, derived, at);
    return this.#find(names.parent, name, at);
  }

  // A field of the TransformationDictionary that an inner model computes itself, because its own
  // MiningSchema treats values that the field may read. Source: JPMML.
  #ownGlobal(names: Names, name: string): XmlElement | undefined {
    const element = this.document.derivedFields.get(name);
    if (element === undefined || names.parent === undefined || this.#isPlain(names)) {
      return undefined;
    }
    let at: Names = names;
    for (; at.parent !== undefined; at = at.parent) {
      if (at !== names && (at.produced.has(name) || at.mining.has(name))) return undefined;
      if (at.derived.has(name)) return undefined;
    }
    const isHidden = at.produced.has(name) || at.mining.has(name);
    return !isHidden && at.derived.get(name) === element ? element : undefined;
  }

  // Whether an inner model reads all its fields as the outer model has them.
  #isPlain(names: Names): boolean {
    let known = this.#plain.get(names);
    if (known === undefined) {
      known = [...names.mining].every(([name, mining]) => {
        const isData = this.#isData(names.parent, name);
        return !isData || inherits(mining, this.document.dataFields.get(name));
      });
      this.#plain.set(names, known);
    }
    return known;
  }

  #mining(names: Names, name: string, mining: XmlElement, at: XmlElement): Column | undefined {
    if (names.parent === undefined) return this.#topField(name, mining);
    const base = this.#find(names.parent, name, at);
    if (base === undefined) return undefined;
    // A derived or produced field has no domain: only missing values can be replaced.
    const declared = this.#isData(names.parent, name)
      ? this.document.dataFields.get(name)
      : undefined;
    if (inherits(mining, declared)) return base;
    const { dataType } = this.info(names.parent, name);
    return this.#treated(base, name, mining, declared, dataType);
  }

  #isData(names: Names | undefined, name: string): boolean {
    for (let at = names; at !== undefined; at = at.parent) {
      if (at.produced.has(name)) return false;
      if (!at.mining.has(name) && at.derived.has(name)) return false;
      if (at.mining.has(name) && at.parent === undefined) return true;
    }
    return false;
  }

  #topField(name: string, mining: XmlElement): Column | undefined {
    const field = this.document.dataFields.get(name);
    if (field === undefined) return undefined;
    const input = this.input(field);
    const type = planType(field.dataType);
    const given = this.plan.typeOf(input);
    const cast =
      type === undefined || given === type || given === 'list'
        ? input
        : this.once(`cast ${input}`, () => {
            const counted = call('pmml.cast', columnRef(input), constant(field.dataType));
            return this.plan.derive(name, type, counted, placeOf(field.element));
          });
    return this.#treated(cast, name, mining, field, field.dataType);
  }

  #treated(
    base: Column,
    name: string,
    mining: XmlElement,
    field: DataField | undefined,
    dataType: string,
  ): Column {
    const list = this.plan.typeOf(base) === 'list';
    const type = list ? this.plan.elementOf(base) : this.plan.typeOf(base);
    // Asked for at every node of a tree.
    const known = this.#treatments.get(mining);
    const treatment =
      known?.type === type && known.field === field
        ? known.treatment
        : treatmentOf(mining, field, dataType, type, this.problems, this.document.asksValidity);
    this.#treatments.set(mining, { type, field, treatment });
    if (treatment === undefined) return base;
    return this.once(`treat ${base} ${treatment.key}`, () => {
      const column = list ? this.plan.column(name, 'list', type) : this.plan.column(name, type);
      addTreatment(this.plan, treatment, name, base, column, placeOf(mining));
      return column;
    });
  }

  #derived(names: Names, name: string, element: XmlElement, at: XmlElement): Column {
    const key = `derived ${names.id} ${name}`;
    if (this.#busy.has(key)) {
      this.problems.add(placeOf(at), `derived field '${name}' refers to itself`);
      return this.lost();
    }
    return this.once(key, () => {
      this.#busy.add(key);
      try {
        return this.derive(element, names);
      } finally {
        this.#busy.delete(key);
      }
    });
  }
}

/** The facts that a DerivedField declares. */
export function derivedInfo(element: XmlElement): FieldInfo {
  const { optype } = element.attributes;
  const dataType = normalDataType(
    element.attributes['dataType'] ?? (optype === 'continuous' ? 'double' : 'string'),
  );
  const values = element.children
    .filter((each) => each.name === 'Value' && (each.attributes['property'] ?? 'valid') === 'valid')
    .map((each) => each.attributes['value'] ?? '');
  return { dataType, optype: optypeOf(optype, dataType), values };
}

function aboutField(field: DataField): string {
  const said = [
    ...(field.displayName === undefined ? [] : [field.displayName]),
    ...(field.values.length === 0
      ? []
      : [
          `one of ${field.values
            .slice(0, 50)
            .map((each) => JSON.stringify(each))
            .join(', ')}`,
        ]),
    ...(field.values.length > 50 ? [`and ${field.values.length - 50} more`] : []),
    ...field.intervals.map(
      ([left, right, withLeft, withRight]) =>
        `in ${withLeft ? '[' : '('}${left}, ${right}${withRight ? ']' : ')'}`,
    ),
  ];
  return said.join('; ');
}
