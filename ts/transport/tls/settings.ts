// What a listener with TLS is started with, whatever it is of. Data only; control plane.

/** PEM: in a file, which is read anew when it changes, or given as text. Exactly one is there. */
export interface PemSource {
  readonly path?: string;
  readonly text?: string;
}

/** As Node names them. */
export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';
export const TLS_VERSION_DEFAULT: TlsVersion = 'TLSv1.2';

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
