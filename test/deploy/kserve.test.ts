// The server with exactly the arguments of a KServe container: those of our runtimes, and those of
// the Triton and TensorFlow Serving runtimes that KServe ships, through the image's entrypoint.
// Models are in the folder that KServe's storage initializer uses; the ports and that folder's path
// are the test's own.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import { ServalProcess } from '../e2e/support/serval-process.js';
import {
  argsOf,
  DEPLOY,
  deployTools,
  entrypointArgs,
  manifests,
  type Manifest,
} from './support.js';

const EXAMPLES = join(packageRoot(), 'examples', 'models');
const ISVC = 'my-model';
const V1 = 'v1';

/** A call, and its expected response. */
interface Call {
  readonly path: string;
  readonly body: unknown;
  readonly answer: RegExp;
}

const half = (model: string): readonly Call[] => [
  {
    path: `/v1/models/${model}:predict`,
    body: { instances: [1, 2, 5] },
    answer: /"predictions":\s*\[3\.5,\s*4(\.0)?,\s*5\.5\]/,
  },
  {
    path: `/v2/models/${model}/infer`,
    body: { inputs: [{ name: 'x', datatype: 'FP32', shape: [3], data: [1, 2, 5] }] },
    answer: /"data":\s*\[3\.5,\s*4(\.0)?,\s*5\.5\]/,
  },
];

const fields = (values: Record<string, unknown>): Record<string, unknown> => ({
  instances: [values],
});

/** For each format: the target of storageUri, and calls by the InferenceService's name. */
const FORMATS: Readonly<Record<string, readonly [source: string, calls: readonly Call[]]>> = {
  'onnx, a file': ['half_plus_three/123', half(ISVC)],
  'onnx, versions': ['half_plus_three', half(ISVC)],
  pmml: [
    'iris_tree/1',
    [
      {
        path: `/v1/models/${ISVC}:predict`,
        body: fields({ petal_length: 1.4, petal_width: 0.2 }),
        answer: /setosa/,
      },
      {
        path: `/v2/models/${ISVC}/infer`,
        body: {
          inputs: ['petal_length', 'petal_width'].map((name) => ({
            ...{ name, datatype: 'FP64', shape: [1], data: [1.4] },
          })),
        },
        answer: /setosa/,
      },
    ],
  ],
  spark: [
    'loan_risk/1',
    [
      {
        path: `/v1/models/${ISVC}:predict`,
        body: fields({ amount: 900, income: 1000, purpose: ' car ' }),
        answer: /risk/,
      },
    ],
  ],
  mleap: [
    'house_price/1',
    [
      {
        path: `/v1/models/${ISVC}:predict`,
        body: fields({ rooms: 3, square_metres: 80, town: 'Shelbyville' }),
        answer: /prediction/,
      },
    ],
  ],
};

/** Fills in the arguments as KServe does, except for the folder and the ports. */
function filledIn(args: readonly string[], models: string): readonly string[] {
  return args.map((arg) =>
    arg
      .replaceAll('{{.Name}}', ISVC)
      .replaceAll('/mnt/models', models)
      .replace(/(port)=\d+$/, '$1=0'),
  );
}

describe('KServe', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-kserve-'));
  after(() => rmSync(folder, { recursive: true }));
  const runtimes = manifests(join(DEPLOY, 'kserve', 'cluster-serving-runtimes.yaml'));
  const named = (name: string): Manifest => {
    const found = runtimes.find(({ metadata }) => metadata.name === name);
    assert.ok(found, name);
    return found;
  };
  /** The arguments with which the image's entrypoint runs serval. */
  const throughEntrypoint = (args: readonly string[]): readonly string[] => {
    return entrypointArgs(args).split(' ');
  };

  const serves = async (args: readonly string[], calls: readonly Call[]): Promise<void> => {
    const json = args.some((arg) => arg.startsWith('--log-format')) ? [] : ['--log-format=json'];
    const server = new ServalProcess([...throughEntrypoint(args), ...json]);
    try {
      await server.printed(({ stdout }) => stdout.includes('"event":"ready"'));
      const line = server.stdout.split('\n').find((one) => one.includes('"ready"')) ?? '';
      const { http, grpc } = JSON.parse(line) as { http: { port: number }; grpc: { port: number } };
      assert.ok(grpc.port > 0);
      for (const { path, body, answer } of calls) {
        const url = `http://127.0.0.1:${http.port}${path}`;
        const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
        const text = await response.text();
        assert.equal(response.status, 200, `${path}: ${text}`);
        assert.match(text, answer, path);
      }
      for (const probe of ['/v2/health/live', '/v2/health/ready', '/metrics']) {
        assert.equal((await fetch(`http://127.0.0.1:${http.port}${probe}`)).status, 200, probe);
      }
    } finally {
      server.child.kill('SIGTERM');
      await server.ended;
    }
  };

  /** A folder as the storage initializer leaves it. */
  const mounted = (name: string, source: string): string => {
    const to = join(folder, name.replace(/\W+/g, '-'));
    mkdirSync(to, { recursive: true });
    cpSync(join(EXAMPLES, source), to, { recursive: true });
    return to;
  };

  for (const [format, [source, calls]] of Object.entries(FORMATS)) {
    it(`serval: ${format}`, async () => {
      await serves(filledIn(argsOf(named('serval')), mounted(format, source)), calls);
    });
  }

  it('serval-repository: all models by their own names', async () => {
    const models = mounted('repository', '');
    const calls = half('half_plus_three');
    await serves(filledIn(argsOf(named('serval-repository')), models), calls);
  });

  it('every runtime has the protocols and probes', () => {
    for (const { metadata, spec } of runtimes) {
      assert.deepEqual(spec['protocolVersions'], [V1, 'v2', 'grpc-v1', 'grpc-v2'], metadata.name);
      const text = JSON.stringify(spec);
      for (const word of ['readinessProbe', 'livenessProbe', 'startupProbe', 'preStop']) {
        assert.ok(text.includes(word), `${metadata.name}: ${word}`);
      }
    }
  });

  const { runtimes: stock, missing } = deployTools();
  const kserves = (name: string): Manifest => {
    const [runtime] = manifests(join(stock, `kserve-${name}.yaml`));
    assert.ok(runtime);
    return runtime;
  };

  it("the arguments of KServe's Triton runtime", { skip: missing }, async () => {
    const args = argsOf(kserves('tritonserver'));
    assert.equal(args[0], 'tritonserver');
    await serves(filledIn(args, mounted('triton', '')), half('half_plus_three'));
  });

  it("the arguments of KServe's TensorFlow Serving runtime", { skip: missing }, async () => {
    const command = ['/usr/bin/tensorflow_model_server'];
    const args = argsOf(kserves('tensorflow-serving'));
    const models = mounted('tensorflow', 'half_plus_three');
    await serves([...command, ...filledIn(args, models)], half(ISVC));
  });
});
