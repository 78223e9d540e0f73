// Certificates for tests of TLS, made by the openssl program in a new folder: an authority, a
// server's certificate for localhost and 127.0.0.1, and clients' certificates from this authority
// and from a stranger's. Test time only.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Pair {
  /** Paths of PEM files. */
  readonly certificate: string;
  readonly key: string;
}

const EXTENSIONS = 'subjectAltName=DNS:localhost,IP:127.0.0.1';

export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), 'serval-tls-'));
  /** The issuer of the server's and the client's certificates. */
  readonly authority = this.selfSigned('authority');
  readonly server = this.signed('server', this.authority);
  readonly client = this.signed('client', this.authority);
  /** A certificate from an unknown authority. */
  readonly stranger = this.signed('stranger', this.selfSigned('unknown'));

  /** A pair with this name, whose certificate has the name as its subject and is signed by `by`. */
  signed(name: string, by: Pair, days = 2): Pair {
    const pair = this.paths(name);
    const request = join(this.folder, `${name}.csr`);
    const extensions = join(this.folder, `${name}.ext`);
    writeFileSync(extensions, EXTENSIONS);
    this.openssl('req', '-new', ...this.fresh(name, pair), '-out', request);
    const signer = ['-CA', by.certificate, '-CAkey', by.key, '-CAcreateserial'];
    const out = ['-days', String(days), '-extfile', extensions, '-out', pair.certificate];
    this.openssl('x509', '-req', '-in', request, ...signer, ...out);
    return pair;
  }

  /** Like the server's, valid for `days`. */
  lasting(name: string, days: number): Pair {
    return this.signed(name, this.authority, days);
  }

  selfSigned(name: string): Pair {
    const pair = this.paths(name);
    this.openssl('req', '-x509', '-days', '2', ...this.fresh(name, pair), '-out', pair.certificate);
    return pair;
  }

  /** The same pair in files of another name. */
  copied(from: Pair, name: string): Pair {
    const pair = this.paths(name);
    copyFileSync(from.certificate, pair.certificate);
    copyFileSync(from.key, pair.key);
    return pair;
  }

  /** Replaces `pair` by `from`, each file atomically. */
  replace(pair: Pair, from: Pair): void {
    for (const file of ['key', 'certificate'] as const) {
      const beside = `${pair[file]}.new`;
      copyFileSync(from[file], beside);
      renameSync(beside, pair[file]);
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private paths(name: string): Pair {
    return { certificate: join(this.folder, `${name}.pem`), key: join(this.folder, `${name}.key`) };
  }

  private fresh(name: string, { key }: Pair): readonly string[] {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    return [...curve, '-keyout', key, '-subj', `/CN=${name}`];
  }

  private openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}
