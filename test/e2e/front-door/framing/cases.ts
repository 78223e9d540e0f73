// All framing cases. Source: RFC 9110, RFC 9112. Test time only.
import { CODINGS, LENGTHS } from './body-cases.js';
import { CHUNK_DATA, CHUNK_SIZES, EXTENSIONS, TRAILERS } from './chunk-cases.js';
import { CLOSING, CONNECTIONS, ENDS, EXPECTATIONS, PIPELINES } from './connection-cases.js';
import { LINES } from './header-cases.js';
import { HOSTS, METHODS, TARGETS, VERSIONS } from './request-line-cases.js';
import { NEXT, type Row } from './row.js';

export interface FramingCase {
  readonly name: string;
  readonly rfc: string;
  readonly bytes: Buffer;
  /** The client closes its side after the bytes. */
  readonly ends: boolean;
  readonly native: string;
  readonly uws: string;
  readonly differs: string | undefined;
}

/** Longer cases show nothing more when sent byte by byte. */
export const BY_BYTES_MAX = 600;

/** The bytes of a case, each in its own buffer. */
export const bytesOf = ({ bytes }: FramingCase): Buffer[] =>
  [...bytes].map((one) => Buffer.of(one));

function casesOf(rows: readonly Row[], follows: string, ends: boolean): FramingCase[] {
  return rows.map(([name, rfc, text, native, uws, differs]) => {
    const bytes = Buffer.from(text + follows, 'latin1');
    return { name, rfc, bytes, ends, native, uws, differs };
  });
}

const FOLLOWED = [
  METHODS,
  TARGETS,
  VERSIONS,
  HOSTS,
  LINES,
  LENGTHS,
  CODINGS,
  CHUNK_SIZES,
  EXTENSIONS,
  CHUNK_DATA,
  TRAILERS,
  EXPECTATIONS,
  CONNECTIONS,
  PIPELINES,
].flat();

export const FRAMING: readonly FramingCase[] = [
  ...casesOf(FOLLOWED, NEXT, false),
  ...casesOf(CLOSING, '', false),
  ...casesOf(ENDS, '', true),
];
