// The result of the segment that a MiningModel chooses: of the first one that ran, of the last one
// of a chain, or of each target's own one (JPMML's x-multiModelChain). Targets are answered under
// the names that the chosen segment has for them. Importer's worker thread. Source: tabular.md 3.2,
// JPMML-Evaluator 1.7.6
import { type Column, constant } from '../../plan/builder.js';
import type { Type } from '../../plan/generated/plan.js';
import type { LabelledVector, ModelResult, SegmentOutput } from '../context.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { changed, lazyResult } from '../answers/results.js';
import type { XmlElement } from '../xml/reader.js';
import { type Segment, mapOf, unionOf } from './combine.js';

/** Which of the segments that ran counts: 'only' one of them may have run. */
type Rule = 'first' | 'last' | 'only';

const NUMBERS: ReadonlySet<Type> = new Set(['double', 'float', 'int32', 'int64']);

// Columns of different types have a common one where all are numbers.
function commonType(types: ReadonlySet<Type>): Type | undefined {
  const [first] = types;
  if (types.size <= 1) return first;
  return [...types].every((each) => NUMBERS.has(each)) ? 'double' : undefined;
}

/** The name of a segment's target: its own, or the only one of the MiningModel. */
function targetName({ lowered }: Segment, context: Context): string {
  const [own] = lowered.context.targets;
  const [outer, second] = context.targets;
  return own?.name ?? (second === undefined ? outer?.name : undefined) ?? 'predicted';
}

function resultsByTarget(segment: Segment, context: Context): ReadonlyMap<string, ModelResult> {
  const { result } = segment.lowered;
  return result.byTarget ?? new Map([[targetName(segment, context), result]]);
}

// The outputs of a segment besides its targets.
function outputsOf({ lowered }: Segment): SegmentOutput[] {
  return [...(lowered.result.outputs ?? []), ...lowered.outputs];
}

class Chooser {
  constructor(
    readonly segments: readonly Segment[],
    readonly mask: (segment: Segment) => Column,
    readonly rule: Rule,
    /** For each segment, the reason if a row that chooses it is refused. */
    readonly refused: readonly (string | undefined)[],
    readonly context: Context,
    readonly at: XmlElement,
  ) {}

  #stage(columns: readonly (Column | undefined)[], type: Type, extra: object): Column {
    const { plan } = this.context;
    const found = columns.filter((each) => each !== undefined);
    let next = this.segments.length;
    const attributes = {
      last: this.rule !== 'first',
      only: this.rule === 'only',
      column_of: Int32Array.from(columns, (each) => (each === undefined ? -1 : next++)),
      refused: this.refused.map((each) => each ?? ''),
      ...extra,
    };
    const inputs = [...this.segments.map(this.mask), ...found];
    const made = plan.column('chosen', type, type === 'list' ? 'string' : undefined);
    plan.stage('pmml.choose', inputs, [made], attributes, placeOf(this.at));
    return made;
  }

  /** The column of the chosen segment; missing where its columns have none. */
  column(columns: readonly (Column | undefined)[]): Column | undefined {
    const { plan } = this.context;
    const found = columns.filter((each) => each !== undefined);
    const type = commonType(new Set(found.map((each) => plan.typeOf(each))));
    return type === undefined ? undefined : this.#stage(columns, type, {});
  }

  #vector(vectors: readonly (LabelledVector | undefined)[]): LabelledVector | undefined {
    const labels = unionOf(vectors, this.context);
    const maps = Int32Array.from(vectors.flatMap((each) => mapOf(labels, each)));
    const columns = vectors.map((each) => each?.column);
    const column = this.#stage(columns, 'vector', { maps, width: labels.length });
    return { column, labels };
  }

  /**
   * The chosen segment's result for one target: `results` contains those of the segments that
   * return it.
   */
  result(results: readonly (ModelResult | undefined)[]): ModelResult {
    // A result that one segment lacks cannot be requested.
    const all = <T>(pick: (result: ModelResult) => T | undefined) => {
      const picked = results.map((each) => (each === undefined ? undefined : pick(each)));
      const lacks = results.some((each, i) => each !== undefined && picked[i] === undefined);
      return lacks || picked.every((each) => each === undefined) ? undefined : picked;
    };
    const scalar = (pick: (result: ModelResult) => Column | undefined) => () => {
      const columns = all(pick);
      return columns === undefined ? undefined : this.column(columns);
    };
    const vector = (pick: (result: ModelResult) => LabelledVector | undefined) => () => {
      const vectors = all(pick);
      return vectors === undefined ? undefined : this.#vector(vectors);
    };
    return lazyResult({
      predicted: scalar((result) => result.predicted),
      probabilities: vector((result) => result.probabilities),
      confidences: vector((result) => result.confidences),
      reasonCodes: scalar((result) => result.reasonCodes),
    });
  }

  /** The outputs of the segments, by name. */
  outputs(): SegmentOutput[] {
    const each = this.segments.map(
      (segment) => new Map(outputsOf(segment).map((output) => [output.name, output])),
    );
    const names = new Set(each.flatMap((outputs) => [...outputs.keys()]));
    return [...names].flatMap((name) => {
      const found = each.map((outputs) => outputs.get(name));
      const [only, second] = found.filter((one) => one !== undefined);
      if (only !== undefined && second === undefined) return [only];
      const column = this.column(found.map((one) => one?.column));
      const final = found.some((one) => one?.final === true);
      return column === undefined ? [] : [{ name, column, final }];
    });
  }

  /** The id of the chosen segment. */
  entityId(): Column {
    const { plan } = this.context;
    return this.column(
      this.segments.map(({ id }) =>
        plan.derive('segment', 'string', constant(id), placeOf(this.at)),
      ),
    ) as Column;
  }
}

// The result of a segment that runs, and is chosen, in every row.
function always(segment: Segment, context: Context, at: XmlElement): ModelResult {
  const { plan } = context;
  let id: Column | undefined;
  const members: ModelResult = {
    byTarget: resultsByTarget(segment, context),
    outputs: outputsOf(segment),
    isSettled: true,
  };
  const result = changed(segment.lowered.result, members);
  Object.defineProperty(result, 'entityId', {
    get: () => (id ??= plan.derive('segment', 'string', constant(segment.id), placeOf(at))),
    enumerable: true,
  });
  return result;
}

function refusals(segments: readonly Segment[], context: Context): (string | undefined)[] {
  return segments.map(({ element, lowered }) => {
    const { functionName } = lowered.context;
    if (functionName === context.functionName) return undefined;
    return `the last segment of the chain that runs (line ${element.line}) has functionName="${functionName}", expected "${context.functionName}"`;
  });
}

/** The result of the first or last segment that ran. */
export function chooseResult(
  segments: readonly Segment[],
  mask: (segment: Segment) => Column,
  last: boolean,
  context: Context,
  at: XmlElement,
): ModelResult {
  const [one] = segments;
  const final = segments.at(-1);
  if (last && final?.always === true) return always(final, context, at);
  if (!last && one !== undefined && one.mask === undefined) return always(one, context, at);
  const refused = refusals(segments, context);
  const own = segments.filter((_, i) => !last || refused[i] === undefined);
  const rule = last ? 'last' : 'first';
  const chooser = new Chooser(segments, mask, rule, refused, context, at);
  const byName = own.map((each) => resultsByTarget(each, context));
  const names = new Set(byName.flatMap((each) => [...each.keys()]));
  const results = (name: string) =>
    segments.map((each) => {
      const place = own.indexOf(each);
      return place < 0 ? undefined : byName[place]?.get(name);
    });
  const [first] = names;
  const whole =
    names.size === 1
      ? chooser.result(results(first as string))
      : chooser.result(
          segments.map((each) => (own.includes(each) ? each.lowered.result : undefined)),
        );
  const byTarget = new Map(
    [...names].map((name) => [name, names.size === 1 ? whole : chooser.result(results(name))]),
  );
  const result = changed(whole, { byTarget, outputs: chooser.outputs(), isSettled: true });
  let id: Column | undefined;
  const entityId = () => (id ??= chooser.entityId());
  Object.defineProperty(result, 'entityId', { get: entityId, enumerable: true });
  return result;
}

/** The results of all segments of a chain, by target. */
export function chainResults(
  segments: readonly Segment[],
  mask: (segment: Segment) => Column,
  context: Context,
  at: XmlElement,
): ModelResult {
  const bySegment = segments.map((each) => resultsByTarget(each, context));
  const names = new Set(bySegment.flatMap((each) => [...each.keys()]));
  const byTarget = new Map<string, ModelResult>();
  for (const name of names) {
    const having = segments.filter((_, i) => bySegment[i]?.has(name));
    const [one] = having;
    if (having.filter((each) => each.always).length > 1) {
      context.problems.add(placeOf(at), `two segments of the chain return '${name}' in every row`);
    }
    const found = having.map((each) => bySegment[segments.indexOf(each)]?.get(name));
    if (having.length === 1 && one?.always === true) byTarget.set(name, found[0] as ModelResult);
    else {
      const none = having.map(() => undefined);
      byTarget.set(name, new Chooser(having, mask, 'only', none, context, at).result(found));
    }
  }
  const outputs = new Map(segments.flatMap(outputsOf).map((each) => [each.name, each]));
  const [first] = byTarget.values();
  const only = byTarget.size === 1 && first !== undefined ? first : {};
  return changed(only, { byTarget, outputs: [...outputs.values()], isSettled: true });
}
