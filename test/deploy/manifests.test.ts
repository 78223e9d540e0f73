// helm lints and renders the chart; Kubernetes' own types and rules for new objects, and KServe's
// definitions, accept every manifest (test/deploy/go/validate).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { SERVE_FLAGS } from '../../ts/config/flags.js';
import { namesNothingHas } from './named-ports.js';
import { DEPLOY, deployTools, manifests } from './support.js';

const CHART = join(DEPLOY, 'helm', 'serval');
const RENDERED = join(DEPLOY, 'kubernetes', 'serval.yaml');
const KUBERNETES = ['--kube-version', '1.31.0', '--namespace', 'default'];

describe('manifests', () => {
  const { helm, validate, definitions, missing } = deployTools();
  const folder = mkdtempSync(join(tmpdir(), 'serval-deploy-'));
  after(() => rmSync(folder, { recursive: true }));

  const run = (program: string, ...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    assert.equal(status, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const template = (...args: readonly string[]): string =>
    run(helm, 'template', 'serval', CHART, ...KUBERNETES, ...args);
  const valid = (...files: readonly string[]): string => run(validate, definitions, ...files);
  const written = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };

  it('the chart is linted', { skip: missing }, () => {
    run(helm, 'lint', '--strict', CHART);
  });

  it('kubernetes/serval.yaml is what the chart renders', { skip: missing }, () => {
    const values = join(DEPLOY, 'kubernetes', 'values.yaml');
    assert.equal(template('-f', values), readFileSync(RENDERED, 'utf8'));
    assert.match(valid(RENDERED), /Deployment\/serval\n(.*\n)*.*HorizontalPodAutoscaler\/serval/);
  });

  it('other values render what is valid too', { skip: missing }, () => {
    const all = [
      ...['extraArgs={--providers=cpu}', 'extraEnv[0].name=A', 'extraEnv[0].value=b'],
      ...['imagePullSecrets[0].name=s', 'nodeSelector.disk=ssd', 'podAnnotations.a=b'],
      ...['tolerations[0].operator=Exists', 'service.annotations.a=b'],
    ].flatMap((one) => ['--set', one]);
    const off = ['autoscaling.enabled=false', 'serviceAccount.create=false', 'replicas=0'];
    const least = off.flatMap((one) => ['--set', one]);
    valid(written('all.yaml', template(...all)), written('least.yaml', template(...least)));
    const wrong = ['template', 'serval', CHART, ...KUBERNETES, '--set', 'ports.http=80'];
    const refused = spawnSync(helm, wrong, { encoding: 'utf8' });
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /ports.*http/s);
  });

  it('runtimes and services of KServe', { skip: missing }, () => {
    const files = ['cluster-serving-runtimes', 'serving-runtimes', 'inference-services'];
    const good = valid(...files.map((name) => join(DEPLOY, 'kserve', `${name}.yaml`)));
    assert.equal(good.trim().split('\n').length, 7);
  });

  it("the API server's rules accept the pods of KServe's runtimes", { skip: missing }, () => {
    for (const { metadata, spec } of manifests(join(DEPLOY, 'kserve', 'serving-runtimes.yaml'))) {
      const labels = { app: metadata.name };
      const template = { metadata: { labels }, spec: { containers: spec['containers'] } };
      const deployment = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata,
        spec: { selector: { matchLabels: labels }, template },
      };
      valid(written(`${metadata.name}.json`, JSON.stringify(deployment)));
    }
  });

  it('a wrong manifest is refused', { skip: missing }, () => {
    const runtime = readFileSync(join(DEPLOY, 'kserve', 'serving-runtimes.yaml'), 'utf8');
    const deployment = readFileSync(RENDERED, 'utf8');
    for (const [text, from, to, problem] of [
      [runtime, 'protocolVersions:', 'protocolVersion:', /unknown fields.*protocolVersion/],
      [runtime, '- name: kserve-container', '- nom: kserve-container', /name: Required/],
      [runtime, 'kind: ServingRuntime', 'kind: ServingThing', /no schema of .*ServingThing/],
      [deployment, 'readinessProbe', 'readynessProbe', /unknown field .*readynessProbe/],
      [deployment, 'PeriodSeconds: 45', 'PeriodSeconds: "x"', /cannot unmarshal string/],
      [deployment, 'persistentVolumeClaim:', TWO_SOURCES, /may not specify more than 1 volume/],
      [deployment, 'name: tmp, mountPath: /tmp', 'name: temp, mountPath: /tmp', /"temp"/],
      [deployment, 'mountPath: /tmp }', 'mountPath: /models }', /must be unique/],
      [deployment, TEMPLATE, TEMPLATE.replace(/serval$/, 'other'), /does not match template/],
      [deployment, 'minReplicas: ', 'minReplicas: 9', /greater than or equal to `minReplicas`/],
    ] as const) {
      assert.ok(text.includes(from), from);
      const path = written('bad.yaml', text.replace(from, to));
      const { status, stderr } = spawnSync(validate, [definitions, path], { encoding: 'utf8' });
      assert.equal(status, 1, to);
      assert.match(stderr, problem, to);
    }
  });
});

/** A second source of a volume. */
const TWO_SOURCES = 'emptyDir: {}\n          persistentVolumeClaim:';

/** The labels of the deployment's pods. */
const TEMPLATE = 'template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: serval';

describe('deploy/', () => {
  const FILES = [
    RENDERED,
    ...['cluster-serving-runtimes', 'serving-runtimes', 'inference-services'].map((name) =>
      join(DEPLOY, 'kserve', `${name}.yaml`),
    ),
  ];

  it('no probe or service names a port that no container has', () => {
    for (const file of FILES) assert.deepEqual(namesNothingHas(manifests(file)), [], file);
  });

  it('such a name is found', () => {
    const text = readFileSync(RENDERED, 'utf8');
    for (const [from, to, problem] of [
      ['{ path: /v2/health/live, port: http }', '{ path: /, port: web }', /no port is named web/],
      ['targetPort: grpc', 'targetPort: rpc', /no container port is named rpc/],
      [TEMPLATE, TEMPLATE.replace(/serval$/, 'other'), /its selector finds no deployment/],
    ] as const) {
      assert.ok(text.includes(from), from);
      const documents = parseAllDocuments(text.replace(from, to)).map(
        (one) => one.toJS() as unknown,
      );
      assert.match(namesNothingHas(documents).join(), problem, to);
    }
  });

  it('both kinds of runtimes are the same', () => {
    const [cluster, own] = ['cluster-serving-runtimes', 'serving-runtimes'].map((name) =>
      manifests(join(DEPLOY, 'kserve', `${name}.yaml`)).map(({ metadata, spec }) => ({
        metadata,
        spec,
      })),
    );
    assert.deepEqual(cluster, own);
  });

  it("the chart's settings are the server's", () => {
    const [values] = manifests(join(CHART, 'values.yaml')) as unknown as {
      settings: Record<string, unknown>;
    }[];
    const names = new Set(SERVE_FLAGS.map((row) => row.name));
    for (const name of Object.keys(values?.settings ?? {})) assert.ok(names.has(name), name);
  });

  it('scales pods by a metric that exists', () => {
    const metrics = readFileSync(join(DEPLOY, '..', 'docs', 'reference', 'metrics.md'), 'utf8');
    const name = 'nv_inference_pending_request_count';
    assert.ok(metrics.includes(`\`${name}\``));
    for (const file of [RENDERED, join(DEPLOY, 'kubernetes', 'prometheus-adapter.yaml')]) {
      assert.ok(readFileSync(file, 'utf8').includes(name), file);
    }
  });
});
