// Parses a URL given to `serval bench`. Pure; control plane.
import { ErrorCode, ServalError } from '../../../base/errors.js';

export interface BenchUrl {
  readonly kind: 'http' | 'grpc';
  readonly isTls: boolean;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** any: only an address, with --model. */
  readonly protocol: 'v1' | 'v2' | 'any';
  /** http: the path before /v2 or /v1. */
  readonly prefix: string;
  readonly model: string;
  /** "" = the server's choice. */
  readonly version: string;
  /** Label of V1; "" = none. */
  readonly label: string;
}

const SCHEMES: Readonly<Record<string, readonly [BenchUrl['kind'], boolean, number]>> = {
  'http:': ['http', false, 80],
  'https:': ['http', true, 443],
  'grpc:': ['grpc', false, 8001],
  'grpcs:': ['grpc', true, 443],
};
const V2_PATH = /^(.*?)\/(v2)\/models\/([^/]+)(?:\/versions\/([^/]+))?(?:\/infer)?$/;
const V1_PATH =
  /^(.*?)\/(v1)\/models\/([^/:]+)(?:\/versions\/(\d+)|\/labels\/([^/:]+))?(?::predict)?$/;
/** The part before the protocol, and the protocol if it is present. */
const NO_MODEL = /^(.*?)(?:\/(v[12]))?$/;
const EXPECTED = '/v2/models/NAME or /v1/models/NAME after the address, or --model NAME';
const EXPECTED_V1 =
  '/v1/models/NAME, optionally followed by /versions/N or /labels/LABEL and by :predict';

export const isBenchUrl = (text: string): boolean => /^[a-z][a-z\d+.-]*:\/\//i.test(text);

/** `model`, `version`: given besides the URL. Errors: InvalidArgument. */
export function benchUrl(text: string, model?: string, version?: string): BenchUrl {
  const bad = (expected: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `${text}: expected ${expected}`);
  if (!URL.canParse(text)) throw bad('a URL');
  const { protocol } = new URL(text);
  const [kind, isTls, usual] = SCHEMES[protocol] ?? [];
  if (kind === undefined || isTls === undefined || usual === undefined) {
    throw bad('http://, https://, grpc:// or grpcs://');
  }
  // URL does not parse the host of an unknown scheme as a host.
  const url = new URL(text.replace(/^[a-z]+:/i, isTls ? 'https:' : 'http:'));
  const port = url.port === '' ? explicitPort(text, usual) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const path = url.pathname.replace(/\/+$/, '');
  const found = V2_PATH.exec(path) ?? V1_PATH.exec(path);
  if (found === null && /\/v1\//.test(path)) throw bad(EXPECTED_V1);
  const [, before = '', said, name = '', inside = '', label = ''] =
    found ?? NO_MODEL.exec(path) ?? [];
  const named = model ?? decoded(name, bad);
  if (named === '') throw bad(EXPECTED);
  return {
    kind,
    isTls,
    host,
    port,
    protocol: said === 'v1' || said === 'v2' ? said : 'any',
    prefix: kind === 'http' ? before : '',
    model: named,
    version: version ?? decoded(inside, bad),
    label: version === undefined ? decoded(label, bad) : '',
  };
}

function decoded(text: string, bad: (expected: string) => ServalError): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw bad('percent signs with two digits each');
  }
}

/** URL drops a port that is the scheme's default. */
function explicitPort(text: string, usual: number): number {
  const [, port] = /^[a-z]+:\/\/[^/]*:(\d+)(?:\/|$)/i.exec(text) ?? [];
  return port === undefined ? usual : Number(port);
}
