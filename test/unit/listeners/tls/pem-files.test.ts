// PEM files of a server: errors name the file and the reason.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { PemFiles } from '../../../../ts/listeners/tls/pem-files.js';
import type { PemSource, ServerTls } from '../../../../ts/listeners/tls/settings.js';
import { Certificates } from '../../../e2e/support/certificates.js';

describe('PEM files', () => {
  const certificates = new Certificates();
  const { server, client, authority } = certificates;
  after(() => certificates.remove());

  const settings = (certificate: PemSource, key: PemSource, roots?: PemSource): ServerTls => ({
    ...{ certificate, key, clientRequired: roots !== undefined },
    ...(roots && { roots }),
  });
  const path = (file: string): PemSource => ({ path: file });
  const read = (of: ServerTls, changed: () => void = () => undefined): PemFiles => {
    const files = new PemFiles({ settings: of, what: 'HTTP', changed, lookMs: 5 });
    try {
      files.read();
      return files;
    } catch (error) {
      files.close();
      throw error;
    }
  };

  it('are read from paths and from texts', () => {
    const text = (file: string): PemSource => ({ text: readFileSync(file, 'utf8') });
    for (const of of [path, text]) {
      read(settings(of(server.certificate), of(server.key), of(authority.certificate))).close();
    }
  });

  it('are refused with the file and why', () => {
    const [good, key] = [path(server.certificate), path(server.key)];
    for (const [of, problem] of [
      [
        settings(path('/no/such'), key),
        /^HTTP cannot use TLS: certificate file \/no\/such: ENOENT/,
      ],
      [settings(key, key), /^HTTP cannot use TLS: certificate file .*server\.key: /],
      [settings(good, good), /^HTTP cannot use TLS: key file .*server\.pem: /],
      [
        settings(good, path(client.key)),
        /^HTTP cannot use TLS: key file .*client\.key: .*mismatch/,
      ],
      [settings(good, key, key), /^HTTP cannot use TLS: root certificates file .*server\.key: /],
      [settings({ text: 'x' }, key), /^HTTP cannot use TLS: certificate given as text: /],
    ] as const) {
      assert.throws(() => read(of), { message: problem });
    }
  });

  it('are reported when they change', async () => {
    const pair = certificates.signed('changing', authority);
    let files: PemFiles | undefined;
    const changed = new Promise<void>((resolve) => {
      files = read(settings(path(pair.certificate), path(pair.key)), resolve);
    });
    certificates.replace(pair, certificates.signed('other', authority));
    const awake = setInterval(() => undefined, 1000); // its timer does not keep the process alive
    await changed;
    clearInterval(awake);
    files?.close();
  });
});
