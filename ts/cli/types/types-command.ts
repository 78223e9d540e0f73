// `serval types URL [MODEL ...]`: prints TypeScript declarations of a server's models. Control
// plane, main thread. Only calls of V2, so other servers of the protocol answer them too.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { visible } from '../../base/text.js';
import { ClientError, GrpcClient, V2Client } from '../../client/client.js';
import { parseFlags } from '../../config/command-line.js';
import { headerOf } from '../header-flag.js';
import { asUsage, UsageError } from '../usage.js';
import { declarationsOf, type DescribedModel } from './declarations.js';
import { TYPES_FLAGS } from './flags.js';

type Client = V2Client | GrpcClient;

const READY = 'READY';
/** Number of models whose metadata is requested at the same time. */
const CONCURRENT = 8;

/** Returns the exit code. Errors: UsageError; ClientError: no response; ModelNotFound. */
export async function typesCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const { settings, positional } = await asUsage(() => parseFlags(args, cwd, TYPES_FLAGS));
  const [url, ...names] = positional;
  if (url === undefined) {
    throw new UsageError(
      ErrorCode.InvalidArgument,
      'types: expected the URL of a server, got none',
    );
  }
  const texts = settings.get('header')?.texts ?? [];
  const headers = await asUsage(() => Object.fromEntries(texts.map(headerOf)));
  const client = await asUsage(() => clientOf(url, headers));
  try {
    const found = names.length > 0 ? names : await readyNames(client);
    const models: DescribedModel[] = [];
    for (let at = 0; at < found.length; at += CONCURRENT) {
      const some = found.slice(at, at + CONCURRENT);
      models.push(...(await Promise.all(some.map((name) => described(client, name)))));
    }
    if (models.length === 0) {
      const message = `${url}: expected a server with ready models, got none`;
      throw new ServalError(ErrorCode.ModelNotFound, message);
    }
    process.stdout.write(declarationsOf(url, models));
    return 0;
  } finally {
    if (client instanceof GrpcClient) client.close();
  }
}

/** Errors: InvalidArgument: not a URL of a server. */
function clientOf(url: string, headers: Readonly<Record<string, string>>): Client {
  try {
    if (/^grpcs?:/.test(url)) return new GrpcClient(url, { headers });
    return new V2Client(url.replace(/\/v2\/?$/, ''), { headers });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    throw new ServalError(ErrorCode.InvalidArgument, `types: ${error.message}`);
  }
}

/** The names of the models that serve; others are reported on stderr. */
async function readyNames(client: Client): Promise<readonly string[]> {
  const models = await client.index();
  const ready = new Set(models.filter(({ state }) => state === READY).map(({ name }) => name));
  for (const { name, state, reason } of models) {
    if (ready.has(name)) continue;
    const why = [state, reason].filter((text) => text !== '').join(', ') || 'not loaded';
    process.stderr.write(visible(`serval: ${name} is left out: ${why}`) + '\n');
  }
  return [...ready];
}

async function described(client: Client, name: string): Promise<DescribedModel> {
  const metadata = await client.modelMetadata(name);
  return { metadata: { ...metadata, name }, optional: await optionalInputs(client, name) };
}

/** Optional inputs are in Triton's extension model_configuration; other servers do not have it. */
async function optionalInputs(client: Client, name: string): Promise<ReadonlySet<string>> {
  try {
    const { input = [] } = (await client.modelConfig(name)) as {
      readonly input?: readonly { readonly name?: string; readonly optional?: boolean }[];
    };
    const optional = input.filter((one) => one.optional === true);
    return new Set(optional.map((one) => one.name ?? ''));
  } catch (error) {
    if (error instanceof ClientError && error.status !== undefined) return new Set();
    throw error;
  }
}
