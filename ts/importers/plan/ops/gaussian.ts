// Density of normal distributions whose covariance may be singular: eigenvalues of symmetric
// matrices by Jacobi's rotations. Importer's worker thread; pure.

const SWEEPS_MAX = 100;
const EPSILON = 2 ** -52;

interface Eigen {
  readonly values: Float64Array;
  readonly vectors: Float64Array; // [n, n], a vector in each column
}

/** Eigen-decomposition of the symmetric matrix `matrix` [n, n]. */
export function symmetricEigen(matrix: Float64Array, n: number): Eigen {
  const a = Float64Array.from(matrix);
  const vectors = new Float64Array(n * n);
  for (let i = 0; i < n; ++i) vectors[i * n + i] = 1;
  for (let sweep = 0; sweep < SWEEPS_MAX; ++sweep) {
    let rotated = false;
    for (let p = 0; p < n; ++p) {
      for (let q = p + 1; q < n; ++q) rotated = rotate(a, vectors, n, p, q) || rotated;
    }
    if (!rotated) break;
  }
  return { values: Float64Array.from({ length: n }, (_, i) => at(a, i * n + i)), vectors };
}

// Makes a[p, q] zero. Whether there was something to do.
function rotate(a: Float64Array, v: Float64Array, n: number, p: number, q: number): boolean {
  const apq = at(a, p * n + q);
  const app = at(a, p * n + p);
  const aqq = at(a, q * n + q);
  if (Math.abs(apq) <= Number.MIN_VALUE || Math.abs(apq) < 1e-18 * Math.hypot(app, aqq)) {
    a[p * n + q] = 0;
    a[q * n + p] = 0;
    return false;
  }
  const theta = (aqq - app) / (2 * apq);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  for (let k = 0; k < n; ++k) turn(a, k * n + p, k * n + q, c, s);
  for (let k = 0; k < n; ++k) turn(a, p * n + k, q * n + k, c, s);
  for (let k = 0; k < n; ++k) turn(v, k * n + p, k * n + q, c, s);
  a[p * n + q] = 0;
  a[q * n + p] = 0;
  return true;
}

function turn(m: Float64Array, i: number, j: number, c: number, s: number): void {
  const x = at(m, i);
  const y = at(m, j);
  m[i] = c * x - s * y;
  m[j] = s * x + c * y;
}

const at = (values: Float64Array, i: number): number => values[i] ?? Number.NaN;

/**
 * For each of k distributions the matrix R [n, n], row by row, and the constant c of its log
 * density c - |R (x - mean)|² / 2: pseudo-inverse and pseudo-determinant, as Spark has them.
 * Errors: RangeError where no eigenvalue is positive.
 */
export function gaussianDensities(
  k: number,
  means: Float64Array,
  covariances: Float64Array,
): { readonly roots: Float64Array; readonly constants: Float64Array } {
  const n = means.length / k;
  const roots = new Float64Array(k * n * n);
  const constants = new Float64Array(k);
  for (let c = 0; c < k; ++c) {
    const { values, vectors } = symmetricEigen(covariances.subarray(c * n * n, (c + 1) * n * n), n);
    const tolerance = EPSILON * Math.max(...values) * n;
    if (!values.some((value) => value > tolerance)) {
      throw new RangeError(`covariance matrix ${c} has no positive eigenvalue`);
    }
    let logDeterminant = 0;
    values.forEach((value, row) => {
      if (value <= tolerance) return;
      logDeterminant += Math.log(value);
      const scale = Math.sqrt(1 / value);
      for (let i = 0; i < n; ++i) roots[(c * n + row) * n + i] = scale * at(vectors, i * n + row);
    });
    constants[c] = -0.5 * (n * Math.log(2 * Math.PI) + logDeterminant);
  }
  return { roots, constants };
}
