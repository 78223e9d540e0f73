// Transformers that make other features of a row's numbers, or choose some of them. Importer's
// worker thread; pure. Source: scikit-learn's preprocessing/_polynomial.py, decomposition/_base.py,
// decomposition/_truncated_svd.py, feature_selection/_variance_threshold.py,
// feature_selection/_univariate_selection.py.
import { linearScores } from '../../plan/ops/linear.js';
import { elementsOf, type Frame, vectorOf } from '../frame/frame.js';
import type { Step, Transformed } from '../frame/step.js';
import type { Item } from '../read/item.js';

const PRODUCTS_MAX = 100_000;

/** All products of `least` to `most` features, in scikit-learn's order. */
export function polynomial({ item, lowering, place }: Step, frame: Frame): Transformed {
  const least = item.get('_min_degree').integer(0, 64);
  const most = item.get('_max_degree').integer(0, 64);
  const isInteraction = item.get('interaction_only').flag();
  const products: (readonly number[])[] = item.get('include_bias').flag() ? [[]] : [];
  const extend = (product: readonly number[], from: number, left: number): void => {
    if (left === 0) {
      products.push(product);
      if (products.length > PRODUCTS_MAX) throw item.bad(`more than ${PRODUCTS_MAX} products`);
      return;
    }
    const end = isInteraction ? frame.length - left + 1 : frame.length;
    for (let next = from; next < end; next += 1) {
      extend([...product, next], isInteraction ? next + 1 : next, left - 1);
    }
  };
  for (let degree = Math.max(1, least); degree <= most; degree += 1) extend([], 0, degree);
  const factors = products.map((product) => [...new Set(product)]);
  const powerOf = (product: readonly number[], feature: number): number =>
    product.filter((each) => each === feature).length;
  const input = vectorOf(lowering, frame, 'refuse', place);
  const output = lowering.builder.column('products', 'vector');
  const attributes = {
    counts: Int32Array.from(factors, ({ length }) => length),
    indices: Int32Array.from(factors.flat()),
    powers: Int32Array.from(
      products.flatMap((product, i) =>
        (factors[i] ?? []).map((feature) => powerOf(product, feature)),
      ),
    ),
  };
  lowering.builder.stage('feature_products', [input], [output], attributes, place);
  return { role: 'transformer', frame: elementsOf(output, products.length) };
}

/** Components of PCA and of TruncatedSVD, which has no mean. */
export function projection({ item, lowering, place }: Step, frame: Frame): Transformed {
  const count = frame.length;
  const { reals: components, shape } = item.get('components_').shapedReals([-1, count]);
  const size = shape[0] ?? 0;
  if (size < 1) throw item.bad('components_: expected one or more');
  const mean = item.given('mean_')?.reals([count]);
  const isWhitened = item.given('whiten')?.flag() ?? false;
  const variance = isWhitened ? item.get('explained_variance_').reals([size]) : undefined;
  const scaleOf = (k: number): number =>
    variance === undefined ? 1 : Math.max(Math.sqrt(variance[k] ?? 0), Number.EPSILON);
  const coefficients = components.map((each, i) => each / scaleOf(Math.floor(i / count)));
  const intercepts = Float64Array.from({ length: size }, (_, k) => {
    if (mean === undefined) return 0;
    const row = coefficients.subarray(k * count, (k + 1) * count);
    return -row.reduce((sum, each, i) => sum + each * (mean[i] ?? 0), 0);
  });
  const features = vectorOf(lowering, frame, 'refuse', place);
  const scores = lowering.builder.column('components', 'vector');
  linearScores(lowering.builder, { features, scores, coefficients, intercepts }, place);
  return { role: 'transformer', frame: elementsOf(scores, size) };
}

const selected = (frame: Frame, isKept: (feature: number) => boolean): Transformed => ({
  role: 'transformer',
  frame: frame.filter((_, feature) => isKept(feature)),
});

export function varianceThreshold({ item }: Step, frame: Frame): Transformed {
  const variances = item.get('variances_').reals([frame.length]);
  const threshold = item.get('threshold').number();
  return selected(frame, (feature) => (variances[feature] ?? 0) > threshold);
}

export function bestFeatures({ item }: Step, frame: Frame): Transformed {
  const k = item.get('k');
  if (k.plain() === 'all') return selected(frame, () => true);
  const scores = item.get('scores_').reals([frame.length]);
  const known = scores.map((score) => (Number.isNaN(score) ? -Number.MAX_VALUE : score));
  const order = [...known.keys()].sort((a, b) => (known[a] ?? 0) - (known[b] ?? 0));
  const kept = new Set(order.slice(Math.max(0, order.length - k.integer(0))));
  return selected(frame, (feature) => kept.has(feature));
}

/** RFE and others that store what they chose. */
export function supported({ item }: Step, frame: Frame): Transformed {
  const kept = flags(item.get('support_'), frame.length);
  return selected(frame, (feature) => kept[feature] === 1);
}

const flags = (item: Item, count: number): Float64Array => item.reals([count]);
