// What a listener with TLS is started with, whatever it is of. Data only; control plane.

/** PEM: in a file, which is read anew when it changes, or given as text. Exactly one is there. */
export interface PemSource {
  readonly path?: string;
  readonly text?: string;
}

/** As Node names them. */
export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';
export const TLS_VERSION_DEFAULT: TlsVersion = 'TLSv1.2';

/** Of TLS 1.2: ephemeral keys and authenticated encryption only, the fastest first, as the native
 * gRPC listener has them (native/transport/socket/tls.cc). Source: RFC 9113 9.2.2. */
export const TLS12_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
export interface ServerTls {
  /** With its chain. */
  readonly certificate: PemSource;
  readonly key: PemSource;
  /** Who signs clients' certificates. */
  readonly roots?: PemSource;
  /** Mutual TLS: clients have to show a certificate that `roots` signed. */
  readonly clientRequired: boolean;
  /** Absent: TLS_VERSION_DEFAULT. */
  readonly minVersion?: TlsVersion;
}

/** One listener's TLS settings with its callbacks. */
export interface ListenerTls {
  readonly settings: ServerTls;
  /** Told what became of files that were read anew. */
  readonly changed: (problem: string | undefined) => void;
  /** Told when the certificate ends that is served from now on. */
  readonly expires?: Expires;
}

/** `seconds`: since 1970. */
export type Expires = (seconds: number) => void;
