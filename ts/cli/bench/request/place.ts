// Where requests go, and the paths of URLs that say so. Pure; control plane.
// Source: docs/reference/protocols/v2-rest.md; docs/reference/protocols/v1-rest.md.
import { labelOf } from '../../predict/grpc/predict-request.js';
import { isOfV1 } from '../paths.js';
import type { BenchPath } from '../types.js';

/** Where requests go, as far as they say so. */
export interface RequestPlace {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** REST over HTTP/2; default false. */
  readonly isHttp2?: boolean;
  /** Before /v2 or /v1. */
  readonly prefix: string;
  readonly model: string;
  /** "" = the server's choice. */
  readonly version: string;
  /** Of V1 and PredictionService; "" = none. */
  readonly label: string;
  /** Of V1 and PredictionService; "" = serving_default, unsaid. */
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function v2ModelPath({ prefix, model, version }: RequestPlace): string {
  const versioned = version === '' ? '' : `/versions/${encodeURIComponent(version)}`;
  return `${prefix}/v2/models/${encodeURIComponent(model)}${versioned}`;
}

export function v1ModelPath(place: RequestPlace): string {
  const { prefix, model, version } = place;
  const label = labelOf(place);
  const numbered = version === '' ? '' : `/versions/${version}`;
  const meant = label === '' ? numbered : `/labels/${encodeURIComponent(label)}`;
  return `${prefix}/v1/models/${encodeURIComponent(model)}${meant}`;
}

/** What a request of a path of HTTP is sent to. */
export const requestPath = (path: BenchPath, place: RequestPlace): string =>
  isOfV1(path) ? `${v1ModelPath(place)}:predict` : `${v2ModelPath(place)}/infer`;
