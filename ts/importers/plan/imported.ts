// The result of importing a tabular model besides the plan's file: the facts for users and
// documents. Plain data: it is posted from the importer's worker thread and kept in the model
// cache.
import type { BoosterAnswer } from '../../model/booster-answer.js';
import type { Datatype } from '../../model/snapshot.js';
import type { Block, Field, Output, Plan, Type } from './generated/plan.js';
import { exampleValue } from './example-value.js';
import { mayBeLeftOut } from './needs.js';
import type { Verification } from './verification.js';
import { datatypeOfType, shapeOfType, type FullType } from './v2-types.js';

export type ImportedFormat =
  | ('spark' | 'mleap' | 'pmml')
  | ('xgboost' | 'lightgbm' | 'catboost' | 'ydf' | 'sklearn');

/** Settings that a model's configuration passes to its importer. */
export interface TabularSettings {
  /** Time zone of wall-clock values, "Europe/Berlin"; "" = UTC. */
  readonly timezone: string;
  /** "true" or "false": whether Spark's SQL is ANSI; "" = as the model's version of Spark does. */
  readonly ansi: string;
  /** Absent: a booster answers as its library does. */
  readonly answer?: BoosterAnswer;
}

/** A field of requests or an output of responses. */
export interface ImportedColumn {
  readonly name: string;
  /** The datatype in V2 metadata. */
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** "double", "vector[4]", "list of string"; "any" before it where requests say it. */
  readonly type: string;
  /**
   * For fields: requests for the default outputs may omit it. For outputs: returned only on
   * request.
   */
  readonly optional: boolean;
  /** For fields: the request determines the type. */
  readonly open: boolean;
  /** For people: label, allowed values; "" = nothing. */
  readonly about: string;
  /** For fields: a value that the model accepts, as a JSON token, if the model shows one. */
  readonly example?: string | undefined;
}

export interface StageUse {
  readonly kind: string;
  /** Nested ones included. */
  readonly count: number;
}

export interface ImportedTabular {
  readonly format: ImportedFormat;
  /** "Spark 3.5.5"; "" = the model does not say. */
  readonly producer: string;
  /** The plan's file. */
  readonly plan: string;
  readonly planBytes: number;
  readonly fields: readonly ImportedColumn[];
  readonly outputs: readonly ImportedColumn[];
  /** By their first appearance. */
  readonly stages: readonly StageUse[];
  /** Wall clocks' zone; "" = UTC. */
  readonly timezone: string;
  readonly warnings: readonly string[];
  /** Expected results that the model's own file contains. */
  readonly verification?: Verification;
  /** The features that Shapley values are of, if they are not the fields. */
  readonly features?: readonly string[];
  /** The fields that Shapley values need, if they are not all. */
  readonly explained?: readonly string[];
}

/** `plan` for people. `examples`: of fields, where their document says more. Pure. */
export function describePlan(
  plan: Plan,
  examples: Readonly<Record<string, string>> = {},
): Pick<ImportedTabular, 'producer' | 'fields' | 'outputs' | 'stages' | 'timezone'> {
  const isOptional = mayBeLeftOut(plan);
  return {
    producer: plan.producer,
    fields: plan.fields.map((field) => ({
      name: field.name,
      ...inV2(field),
      type: fieldType(field),
      optional: isOptional(field),
      open: field.any === true,
      about: field.about ?? '',
      example: Object.hasOwn(examples, field.name)
        ? examples[field.name]
        : exampleValue(plan, field),
    })),
    outputs: plan.outputs.map((output) => ({
      name: output.name,
      ...inV2(output),
      type: typeText(output),
      optional: output.extra === true,
      open: false,
      about: '',
    })),
    stages: stageUses(plan.block),
    timezone: plan.timezone,
  };
}

function inV2(column: FullType): Pick<ImportedColumn, 'datatype' | 'shape'> {
  return { datatype: datatypeOfType(column), shape: shapeOfType(column) };
}

function fieldType(field: Field): string {
  const { precision = 0, scale = 0 } = field;
  const text = precision > 0 ? `decimal(${precision},${scale})` : typeText(field);
  if (field.any !== true) return text;
  return field.type === 'any' ? text : `any (${text})`;
}

function typeText({ type, element, size = -1 }: Pick<Output, 'type' | 'element' | 'size'>): string {
  if (type === 'list') return `list of ${elementText(element)}`;
  return type === 'vector' && size >= 0 ? `vector[${size}]` : type;
}

const elementText = (element: Type | undefined): string => element ?? 'any';

function stageUses(block: Block): readonly StageUse[] {
  const counts = new Map<string, number>();
  const visit = ({ stages }: Block): void => {
    for (const { kind, attributes } of stages) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      for (const { blocks = [] } of attributes) blocks.forEach(visit);
    }
  };
  visit(block);
  return [...counts].map(([kind, count]) => ({ kind, count }));
}
