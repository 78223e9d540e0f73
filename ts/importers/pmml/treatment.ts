// A MiningField's treatment of missing, invalid and extreme values: one stage `pmml.field`, if
// anything is to be done. Importer's worker thread. Source: tabular.md 3.3
import type { Column, PlanBuilder } from '../plan/builder.js';
import type { InvalidValues, Outliers, PmmlFieldAttributes } from '../plan/generated/stages.js';
import type { Type, Value } from '../plan/generated/plan.js';
import type { Problems } from '../plan/problems.js';
import { type DataField, placeOf } from './document.js';
import { parseValue } from './types.js';
import { extended } from './vendor.js';
import type { XmlElement } from './xml/reader.js';

export interface Treatment {
  /** Equal keys are equal treatments. */
  readonly key: string;
  readonly attributes: Omit<PmmlFieldAttributes, 'field'>;
}

const INVALID = new Set(['returnInvalid', 'asIs', 'asMissing', 'asValue']);
const MISSING = new Set(['asIs', 'asMean', 'asMode', 'asMedian', 'asValue', 'returnInvalid']);
const OUTLIERS = new Set(['asIs', 'asMissingValues', 'asExtremeValues']);

class Reader {
  constructor(
    readonly mining: XmlElement,
    readonly dataType: string,
    readonly type: Type,
    readonly problems: Problems,
  ) {}

  choice(name: string, fallback: string, known: ReadonlySet<string>): string {
    const said = this.mining.attributes[name] ?? fallback;
    // JPMML writes "x-returnInvalid" into documents before PMML 4.4.
    const text = said.startsWith('x-') ? said.slice(2) : said;
    if (known.has(text)) return text;
    this.problems.add(placeOf(this.mining), `${name}="${text}" is unknown`);
    return fallback;
  }

  number(name: string): number | undefined {
    const text = this.mining.attributes[name];
    if (text === undefined) return undefined;
    const value = Number(text);
    if (text.trim() !== '' && !Number.isNaN(value)) return value;
    this.problems.add(placeOf(this.mining), `${name}="${text}" is not a number`);
    return undefined;
  }

  value(text: string, what: string): Value[] {
    try {
      return [{ ...parseValue(text, this.dataType), type: this.type }];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.problems.add(placeOf(this.mining), `${what}: ${error.message}`);
      return [];
    }
  }

  // Converts a domain's texts: a text that is not a value of the field's type can never match.
  domain(texts: readonly string[]): Value[] {
    return texts.flatMap((text) => {
      try {
        return [{ ...parseValue(text, this.dataType), type: this.type }];
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return [];
      }
    });
  }
}

/** The actions of a treatment before they are written as attributes. */
interface Actions {
  readonly refuse_missing?: boolean;
  readonly missing_value?: readonly Value[];
  readonly outliers?: Outliers;
  readonly low?: number;
  readonly high?: number;
  readonly invalid?: InvalidValues;
  readonly invalid_value?: readonly Value[];
}

function missingAttributes(reader: Reader): Actions {
  const treatment = reader.choice('missingValueTreatment', 'asIs', MISSING);
  const replacement = reader.mining.attributes['missingValueReplacement'];
  if (treatment === 'returnInvalid') {
    if (replacement !== undefined) {
      const reason =
        'has a missingValueReplacement, which missingValueTreatment="returnInvalid" excludes';
      reader.problems.add(placeOf(reader.mining), reason);
    }
    return { refuse_missing: true };
  }
  if (replacement === undefined) return {};
  return { missing_value: reader.value(replacement, 'missingValueReplacement') };
}

function outlierAttributes(reader: Reader): Actions {
  const treatment = reader.choice('outliers', 'asIs', OUTLIERS);
  if (treatment === 'asIs') return {};
  const low = reader.number('lowValue');
  const high = reader.number('highValue');
  if (low === undefined && high === undefined) {
    reader.problems.add(
      placeOf(reader.mining),
      `outliers="${treatment}" requires lowValue and highValue`,
    );
  }
  if (low !== undefined && high !== undefined && low > high) {
    reader.problems.add(placeOf(reader.mining), `lowValue ${low} is above highValue ${high}`);
  }
  return {
    outliers: treatment === 'asMissingValues' ? 'as_missing' : 'as_extreme',
    low: low ?? Number.NEGATIVE_INFINITY,
    high: high ?? Number.POSITIVE_INFINITY,
  };
}

function invalidAttributes(reader: Reader): Actions {
  const treatment = reader.choice('invalidValueTreatment', 'returnInvalid', INVALID);
  const replacement = extended(reader.mining, 'invalidValueReplacement');
  const wanted = treatment === 'asValue' || (treatment === 'asIs' && replacement !== undefined);
  if (!wanted) {
    if (replacement !== undefined) {
      const reason = `has an invalidValueReplacement, which invalidValueTreatment="${treatment}" excludes`;
      reader.problems.add(placeOf(reader.mining), reason);
    }
    if (treatment === 'asIs') return { invalid: 'as_is' };
    return { invalid: treatment === 'asMissing' ? 'as_missing' : 'refuse' };
  }
  if (replacement === undefined) {
    reader.problems.add(placeOf(reader.mining), 'has no invalidValueReplacement');
    return { invalid: 'refuse' };
  }
  return {
    invalid: 'replace',
    invalid_value: reader.value(replacement, 'invalidValueReplacement'),
  };
}

function domainAttributes(reader: Reader, field: DataField | undefined) {
  if (field === undefined) return {};
  const intervals = field.optype === 'continuous' ? field.intervals : [];
  return {
    valid: reader.domain(field.values),
    invalid_values: reader.domain(field.invalidValues),
    missing_values: reader.domain(field.missingValues),
    intervals: intervals.flatMap(([left, right, withLeft, withRight]) => [
      left,
      right,
      withLeft ? 1 : 0,
      withRight ? 1 : 0,
    ]),
  };
}

/**
 * Returns a MiningField's treatment; undefined: none. `field`: the field whose domain applies,
 * undefined for one without a domain.
 */
export function treatmentOf(
  mining: XmlElement,
  field: DataField | undefined,
  dataType: string,
  type: Type,
  problems: Problems,
  asksValidity: boolean,
): Treatment | undefined {
  const reader = new Reader(mining, dataType, type, problems);
  const missing = missingAttributes(reader);
  const outliers = outlierAttributes(reader);
  const invalid = invalidAttributes(reader);
  const domain = domainAttributes(reader, field);
  const { valid = [], invalid_values = [], missing_values = [], intervals = [] } = domain;
  const checks = valid.length + invalid_values.length + intervals.length > 0;
  const kept = invalid.invalid === 'as_is' && !(asksValidity && checks);
  const passes = kept && outliers.outliers === undefined;
  const nothing = Object.keys(missing).length === 0 && missing_values.length === 0;
  if (nothing && (passes || (!checks && outliers.outliers === undefined))) return undefined;
  const all = { ...missing, ...outliers, ...invalid, ...domain };
  const listed = (values: readonly Value[] = []) => (values.length > 0 ? { values } : undefined);
  const attributes = {
    valid: listed(valid),
    invalid_values: listed(invalid_values),
    missing_values: listed(missing_values),
    intervals: domain.intervals === undefined ? undefined : Float64Array.from(intervals),
    missing_value: listed(all.missing_value),
    invalid_value: listed(all.invalid_value),
    refuse_missing: all.refuse_missing,
    invalid: all.invalid,
    outliers: all.outliers,
    low: all.low === undefined ? undefined : { real: all.low },
    high: all.high === undefined ? undefined : { real: all.high },
  };
  const key = JSON.stringify(all, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  return { key, attributes };
}

/** Adds the stage. */
export function addTreatment(
  plan: PlanBuilder,
  treatment: Treatment,
  name: string,
  input: Column,
  output: Column,
  place: string,
): void {
  plan.stage('pmml.field', [input], [output], { field: name, ...treatment.attributes }, place);
}
