// Formats numbers with units for readers; names of paths. Control plane; pure.
import type { BenchPath } from '../types.js';

const KILO = 1000;
const MEGA = 1_000_000;

/** Three digits, without trailing zeros. */
function digits(value: number): string {
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

/** Microseconds. */
export function duration(us: number): string {
  if (us < 999.5) return `${digits(us)} µs`;
  if (us < 999_500) return `${digits(us / KILO)} ms`;
  return `${digits(us / MEGA)} s`;
}

/** 1234567 as 1.23 M, 12345 as 12.3 k. */
export function count(value: number): string {
  if (Math.abs(value) < 9999.5) return grouped(value);
  if (Math.abs(value) < 999_500) return `${digits(value / KILO)} k`;
  return `${digits(value / MEGA)} M`;
}

/** All integer digits, in groups of three. */
export function grouped(value: number): string {
  if (Math.abs(value) < 100) return digits(value);
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

export const bytes = (value: number): string =>
  value >= 2 ** 30 ? `${digits(value / 2 ** 30)} GiB` : `${digits(value / 2 ** 20)} MiB`;

/** A ratio as a factor, or in percent if it is near 1. */
export function change(from: number, to: number): string {
  const ratio = to / from;
  if (!Number.isFinite(ratio) || ratio <= 0) return '';
  if (ratio >= 2) return `${digits(ratio)} ×`;
  const percent = Math.round((ratio - 1) * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${Math.abs(percent)} %`;
}

const PATHS: Readonly<Record<BenchPath, string>> = {
  engine: 'engine alone',
  'rest-json': 'REST, JSON',
  'rest-binary': 'REST, binary',
  grpc: 'gRPC',
  'v1-json': 'V1 REST, JSON',
  'grpc-predict': 'gRPC, Predict',
};
export const pathWords = (path: BenchPath): string => PATHS[path];

export const rowsWords = (batch: number): string =>
  batch === 0 ? 'no batch dimension' : batch === 1 ? '1 row' : `${batch} rows`;
