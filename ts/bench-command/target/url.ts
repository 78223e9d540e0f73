// What a URL given to `serval bench` says. Pure; control plane.
import { ErrorCode, ServalError } from '../../errors.js';

export interface BenchUrl {
  readonly kind: 'http' | 'grpc';
  readonly isTls: boolean;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** http: what stands before /v2. */
  readonly prefix: string;
  readonly model: string;
  /** "" = the server's choice. */
  readonly version: string;
}

const SCHEMES: Readonly<Record<string, readonly [BenchUrl['kind'], boolean, number]>> = {
  'http:': ['http', false, 80],
  'https:': ['http', true, 443],
  'grpc:': ['grpc', false, 8001],
  'grpcs:': ['grpc', true, 443],
};
const V2_PATH = /^(.*?)\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/infer)?$/;

export const isBenchUrl = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

/** `model`, `version`: what is said beside it. Errors: InvalidArgument. */
export function benchUrl(text: string, model?: string, version?: string): BenchUrl {
  const bad = (expected: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `${text}: expected ${expected}`);
  if (!URL.canParse(text)) throw bad('a URL');
  const { protocol } = new URL(text);
  const [kind, isTls, usual] = SCHEMES[protocol] ?? [];
  if (kind === undefined || isTls === undefined || usual === undefined) {
    throw bad('http://, https://, grpc:// or grpcs://');
  }
  // The host of an unknown scheme is not read as a host.
  const url = new URL(text.replace(/^[a-z]+:/i, isTls ? 'https:' : 'http:'));
  const port = url.port === '' ? explicitPort(text, usual) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const path = url.pathname.replace(/\/+$/, '');
  if (/\/v1(\/|$)/.test(path)) throw bad('/v2/models/NAME: V1 is not measured');
  const found = V2_PATH.exec(path);
  const [, prefix = '', name = '', inside = ''] = found ?? [];
  const named = model ?? decoded(name, bad);
  if (named === '') throw bad('/v2/models/NAME behind the address, or --model NAME');
  const before = found === null ? path.replace(/\/v2$/, '') : prefix;
  return {
    kind,
    isTls,
    host,
    port,
    prefix: kind === 'http' ? before : '',
    model: named,
    version: version ?? decoded(inside, bad),
  };
}

function decoded(text: string, bad: (expected: string) => ServalError): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw bad('percent signs with two digits each');
  }
}

/** A port that is a scheme's own is not kept by URL. */
function explicitPort(text: string, usual: number): number {
  const [, port] = /^[a-z]+:\/\/[^/]*:(\d+)(?:\/|$)/i.exec(text) ?? [];
  return port === undefined ? usual : Number(port);
}
