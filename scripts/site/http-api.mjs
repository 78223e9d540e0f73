// Writes the page of the HTTP API from the OpenAPI document of a server with one example model, and
// the document itself. Build time only.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const MODEL = 'half_plus_three';
const READY_TIMEOUT_MS = 60_000;

/** Settles with the OpenAPI document of a server of this checkout. Throws if it does not start. */
export async function readOpenApi(root) {
  const model = join(root, 'examples', 'models', MODEL);
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  const args = [join(root, 'bin', 'serval.mjs'), 'serve', model, '--log-format', 'json', ...ports];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const port = await new Promise((resolve, reject) => {
      let output = '';
      const fail = () => reject(new Error(`site: the server did not start: ${output}`));
      const timer = setTimeout(fail, READY_TIMEOUT_MS);
      const read = (bytes) => {
        output += bytes;
        const line = output.split('\n').find((one) => one.includes('"event":"ready"'));
        if (line === undefined || !line.endsWith('}')) return;
        clearTimeout(timer);
        resolve(JSON.parse(line).http.port);
      };
      server.stdout.on('data', read);
      server.stderr.on('data', read);
      server.on('exit', fail);
    });
    return await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json();
  } finally {
    server.kill('SIGKILL');
  }
}

const code = (value) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`;

function operationText(method, path, { summary, description, parameters = [], ...rest }) {
  const lines = [`#### \`${method.toUpperCase()} ${path}\``, '', `${summary ?? ''}`, ''];
  if (description !== undefined) lines.push(description, '');
  const named = parameters.filter(({ name }) => name !== undefined);
  if (named.length > 0) {
    lines.push('| parameter | in | required |', '| --- | --- | --- |');
    for (const { name, in: where, required = false } of named) {
      lines.push(`| \`${name}\` | ${where} | ${required ? 'yes' : 'no'} |`);
    }
    lines.push('');
  }
  const contents = [
    ['Request', rest.requestBody?.content],
    ['Response', rest.responses?.[200]?.content],
  ];
  for (const [title, content] of contents) {
    for (const [type, { schema, example }] of Object.entries(content ?? {})) {
      lines.push(`${title}, \`${type}\`:`, '', code(example ?? schema ?? {}));
    }
  }
  return lines.join('\n');
}

/** The page of an OpenAPI document: every call by its tag, then the schemas. Pure. */
export function httpApiPage(document) {
  const byTag = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = 'other'] = operation.tags ?? [];
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationText(method, path, operation)]);
    }
  }
  const tags = [...byTag].map(([tag, texts]) => `## ${tag}\n\n${texts.join('\n')}`);
  const schemas = Object.entries(document.components?.schemas ?? {}).map(
    ([name, schema]) => `### ${name}\n\n${code(schema)}`,
  );
  return `# HTTP API

These are the calls of a server that serves the example model \`${MODEL}\`, from its own OpenAPI
document: \`/openapi.json\` of a running server, [here](openapi.json) as a file. A running server lists
its own models with their names and types.

${tags.join('\n')}
## Schemas

${schemas.join('\n')}`;
}

/** Writes reference/http-api.md and reference/openapi.json into the site's sources. */
export function writeHttpApi(document, to) {
  const page = join(to, 'reference', 'http-api.md');
  mkdirSync(dirname(page), { recursive: true });
  writeFileSync(page, httpApiPage(document));
  const text = JSON.stringify(document, null, 2);
  writeFileSync(join(dirname(page), 'openapi.json'), `${text}\n`);
}
