// Start settings of a listener with TLS, for any transport. Data only; control plane.

/** PEM in a file, which is reloaded when it changes, or given as text. Exactly one is set. */
export interface PemSource {
  readonly path?: string;
  readonly text?: string;
}

/** Names as in Node. */
export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';
export const TLS_VERSION_DEFAULT: TlsVersion = 'TLSv1.2';

/**
 * TLS 1.2 ciphers: ephemeral keys and authenticated encryption only, fastest first, as in the
 * native gRPC listener (native/transport/socket/tls.cc). Source: RFC 9113 9.2.2.
 */
export const TLS12_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
export interface ServerTls {
  /** Including its chain. */
  readonly certificate: PemSource;
  readonly key: PemSource;
  /** Signers of clients' certificates. */
  readonly roots?: PemSource;
  /** Mutual TLS: clients must present a certificate signed by `roots`. */
  readonly clientRequired: boolean;
  /** Absent: TLS_VERSION_DEFAULT. */
  readonly minVersion?: TlsVersion;
}

/** One listener's TLS settings with its callbacks. */
export interface ListenerTls {
  readonly settings: ServerTls;
  /** Called after files were reloaded, with the problem if it failed. */
  readonly changed: (problem: string | undefined) => void;
  /** Called with the expiry of the certificate that is served from now on. */
  readonly expires?: Expires;
}

/** `seconds`: since 1970. */
export type Expires = (seconds: number) => void;
