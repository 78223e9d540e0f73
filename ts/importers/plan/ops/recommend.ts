// Recommendations: factors of users and items, and rules between sets of items. Importer's worker
// thread; pure.
import type { Column, PlanBuilder } from '../builder.js';

/**
 * Two whole numbers -> Float, the product of their float factors [ids, rank]. `coldStart`: an
 * unknown id gives NaN ('nan') or a refused row ('drop').
 */
export function als(
  builder: PlanBuilder,
  op: {
    readonly user: Column;
    readonly item: Column;
    readonly prediction: Column;
    readonly rank: number;
    readonly userIds: Int32Array;
    readonly userFactors: Float64Array;
    readonly itemIds: Int32Array;
    readonly itemFactors: Float64Array;
    readonly coldStart: 'nan' | 'drop';
  },
  place: string,
): void {
  const { rank, userIds, userFactors, itemIds, itemFactors } = op;
  const drop = op.coldStart === 'drop';
  const attributes = { rank, userIds, userFactors, itemIds, itemFactors, drop };
  builder.stage('als', [op.user, op.item], [op.prediction], attributes, place);
}

export interface Itemset {
  readonly items: readonly string[];
  readonly freq: number;
}

/**
 * List of String -> List of String: what the rules of at least `minConfidence` between frequent
 * sets say that goes with the items. Spark's order of them is that of its partitions; here it is
 * that of `itemsets` and of the items in them.
 */
export function fpGrowth(
  builder: PlanBuilder,
  op: {
    readonly items: Column;
    readonly prediction: Column;
    readonly itemsets: readonly Itemset[];
    readonly minConfidence: number;
  },
  place: string,
): void {
  const rules = associationRules(op.itemsets, op.minConfidence);
  const attributes = {
    antecedents: rules.flatMap((rule) => rule.antecedent),
    counts: Int32Array.from(rules, (rule) => rule.antecedent.length),
    consequents: rules.map((rule) => rule.consequent),
  };
  builder.stage('fp_growth', [op.items], [op.prediction], attributes, place);
}

interface Rule {
  readonly antecedent: readonly string[];
  readonly consequent: string;
}

/** The rules with one consequent that Spark makes of frequent itemsets. */
export function associationRules(
  itemsets: readonly Itemset[],
  minConfidence: number,
): readonly Rule[] {
  const keyOf = (items: readonly string[]): string => JSON.stringify([...items].sort());
  const freqs = new Map(itemsets.map((itemset) => [keyOf(itemset.items), itemset.freq]));
  const rules: Rule[] = [];
  for (const { items, freq } of itemsets) {
    if (items.length < 2) continue;
    for (const consequent of items) {
      const antecedent = items.filter((item) => item !== consequent);
      const alone = freqs.get(keyOf(antecedent));
      if (alone !== undefined && freq / alone >= minConfidence) {
        rules.push({ antecedent, consequent });
      }
    }
  }
  return rules;
}
