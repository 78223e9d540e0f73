// TensorFlow Serving's --ssl_config_file: PEM inside a text proto, no paths. Control plane; pure
// except for readSslConfig. Source: tfserving.md 3.8; server.cc
// BuildServerCredentialsFromSSLConfigFile.
import { SSLCONFIG } from '../../protobuf/generated/serving-config.js';
import { decodeText } from '../../protobuf/schema-text.js';
import { read } from '../../protobuf/schema.js';
import { ConfigFileError, parseTextProto, readConfigText } from '../../protobuf/text-format.js';

export interface SslConfig {
  readonly certificate: { readonly text: string };
  readonly key: { readonly text: string };
  readonly roots?: { readonly text: string };
  readonly clientRequired: boolean;
}

/** Errors: ConfigFileError (unreadable, or the first problem). */
export async function readSslConfig(file: string): Promise<SslConfig> {
  return parseSslConfig(await readConfigText(file), file);
}

/** `path` names the file in problem locations. Errors: ConfigFileError. */
export function parseSslConfig(text: string, path: string): SslConfig {
  const { value, problems, places } = decodeText(parseTextProto(text, path), SSLCONFIG, path);
  const [problem] = problems;
  if (problem !== undefined) throw new ConfigFileError(problem);
  const pem = (field: string, why = ''): { readonly text: string } => {
    const text = read.text(value, field);
    if (text !== '') return { text };
    const message = `${field}: expected PEM text${why}, got none`;
    throw new ConfigFileError({ place: places.at(value), message });
  };
  const [certificate, key] = [pem('server_cert'), pem('server_key')];
  const clientRequired = read.bool(value, 'client_verify');
  if (clientRequired) {
    const roots = pem('custom_ca', ' with client_verify');
    return { certificate, key, roots, clientRequired };
  }
  const roots = read.text(value, 'custom_ca');
  return { certificate, key, ...(roots !== '' && { roots: { text: roots } }), clientRequired };
}
