// Triton's --metrics-config as settings of Serval. Control plane, start-up only; pure. Source:
// Triton's metrics.md "Summaries".
import { echo } from '../../base/text.js';
import { configError, switchOf } from '../values/values.js';
import type { GivenPeerFlag } from './peers.js';

type Given = GivenPeerFlag & { readonly text: string };
type Set = (name: string, where: string, text: string) => void;

const KNOWN = 'counter_latencies, histogram_latencies, summary_latencies, summary_quantiles';
/** Triton's quantiles, without their errors. */
const QUANTILES = '0.5,0.9,0.95,0.99,0.999';
/** A quantile and the error of its rank. */
const PAIR = /^\s*(\d*\.?\d+|\d+\.):\s*(\d*\.?\d+|\d+\.)\s*$/;

/** Returns the parts that have no effect. The last one of a setting counts. */
export function metricsConfig(given: readonly Given[], set: Set): readonly string[] {
  const ignored: string[] = [];
  let summaries: string | undefined;
  let quantiles: { readonly at: string; readonly list: string } | undefined;
  for (const { text, where } of given) {
    const [, name = '', value = ''] = /^([^=,]+)=(.+)$/s.exec(text) ?? [];
    const at = `${where} ${name}`;
    switch (name) {
      case 'counter_latencies':
        set('metrics-latency-counters', at, String(switched(value, at)));
        break;
      case 'histogram_latencies':
        if (!switched(value, at)) ignored.push(`${at}: they are always on`);
        break;
      case 'summary_latencies':
        summaries = switched(value, at) ? at : undefined;
        break;
      case 'summary_quantiles':
        quantiles = { at, list: quantileList(value, at) };
        break;
      default:
        throw configError(where, `expected SETTING=VALUE of ${KNOWN}, got ${echo(text)}`);
    }
  }
  if (summaries !== undefined) {
    set('metrics-summary-quantiles', quantiles?.at ?? summaries, quantiles?.list ?? QUANTILES);
  } else if (quantiles !== undefined) {
    ignored.push(`${quantiles.at}: no effect without summary_latencies=true`);
  }
  return ignored;
}

function switched(value: string, at: string): boolean {
  const on = switchOf(value);
  if (on === undefined) throw configError(at, `expected true or false, got ${echo(value)}`);
  return on;
}

function quantileList(value: string, at: string): string {
  const pairs = value.split(',').map((pair) => PAIR.exec(pair)?.slice(1).map(Number) ?? []);
  const quantiles = pairs.map(([quantile = 2, error = 2]) => (error <= 1 ? quantile : 2));
  if (quantiles.some((one) => one > 1) || new Set(quantiles).size < quantiles.length) {
    const expected = 'expected QUANTILE:ERROR,... with different quantiles and numbers from 0 to 1';
    throw configError(at, `${expected}, such as 0.5:0.05,0.99:0.001, got ${echo(value)}`);
  }
  return quantiles.map((one) => one.toFixed(12).replace(/\.?0+$/, '')).join(',');
}
