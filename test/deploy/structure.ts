// Rules of the API server that schemas do not express: volumes have one source, mounts and probes
// name what exists, names and ports are unique, selectors match. Test time only; pure.
// Source: kubernetes/pkg/apis/core/validation/validation.go; apps/validation.
type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const nodeAt = (node: Node, name: string): Node => {
  const value = node[name];
  return isNode(value) ? value : {};
};
const nodesAt = (node: Node, name: string): readonly Node[] => {
  const value = node[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
};

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'];
const HANDLERS = ['httpGet', 'grpc', 'exec', 'tcpSocket'];

/** Everything that the API server would refuse in these manifests, a sentence each. */
export function structureProblems(manifests: readonly unknown[]): readonly string[] {
  const nodes = manifests.filter(isNode);
  return nodes.flatMap((one) => {
    const where = `${String(one['kind'])}/${String(nodeAt(one, 'metadata')['name'])}`;
    const problems = [
      ...podProblems(podOf(one)),
      ...selectorProblems(one),
      ...portNames(one, nodes),
    ];
    return problems.map((problem) => `${where}: ${problem}`);
  });
}

/** The pod's specification: of a template, or of a KServe runtime or predictor. */
function podOf({ kind, spec }: Node): Node {
  const node = isNode(spec) ? spec : {};
  if (kind === 'Deployment') return nodeAt(nodeAt(node, 'template'), 'spec');
  if (String(kind).endsWith('ServingRuntime')) return node;
  return kind === 'InferenceService' ? nodeAt(node, 'predictor') : {};
}

function podProblems(pod: Node): readonly string[] {
  const volumes = nodesAt(pod, 'volumes');
  const names = volumes.map(({ name }) => name);
  const containers = [...nodesAt(pod, 'initContainers'), ...nodesAt(pod, 'containers')];
  return [
    ...repeated('volume', names),
    ...repeated(
      'container',
      containers.map(({ name }) => name),
    ),
    ...volumes.flatMap(volumeProblems),
    ...containers.flatMap((one) => containerProblems(one, new Set(names))),
  ];
}

function volumeProblems({ name, ...sources }: Node): readonly string[] {
  const found = Object.keys(sources);
  if (found.length === 1) return [];
  return [`volume ${String(name)}: expected one source, got ${found.join(', ') || 'none'}`];
}

function containerProblems(container: Node, volumes: ReadonlySet<unknown>): readonly string[] {
  const ports = nodesAt(container, 'ports');
  const portNames = ports.map(({ name }) => name).filter((name) => name !== undefined);
  const mounts = nodesAt(container, 'volumeMounts');
  const unknown = mounts.filter(({ name }) => !volumes.has(name));
  return [
    ...unknown.map(({ name }) => `no volume ${String(name)} for its mount`),
    ...repeated(
      'mountPath',
      mounts.map(({ mountPath }) => mountPath),
    ),
    ...repeated('port name', portNames),
    ...repeated(
      'containerPort',
      ports.map(({ containerPort }) => containerPort),
    ),
    ...PROBES.flatMap((probe) => probeProblems(probe, nodeAt(container, probe), portNames)),
  ];
}

function probeProblems(probe: string, found: Node, ports: readonly unknown[]): readonly string[] {
  if (Object.keys(found).length === 0) return [];
  const handlers = HANDLERS.filter((name) => found[name] !== undefined);
  if (handlers.length !== 1) return [`${probe}: expected one handler, got ${handlers.length}`];
  const { port } = nodeAt(found, handlers[0] ?? '');
  const isKnown = typeof port !== 'string' || ports.includes(port);
  return isKnown ? [] : [`${probe}: no port is named ${port}`];
}

function repeated(what: string, values: readonly unknown[]): readonly string[] {
  const twice = values.filter((one, i) => values.indexOf(one) !== i);
  return twice.map((one) => `${what} ${String(one)} is given twice`);
}

const labelsOf = (one: Node): Node =>
  nodeAt(nodeAt(nodeAt(nodeAt(one, 'spec'), 'template'), 'metadata'), 'labels');
const matches = (selector: Node, labels: Node): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

function selectorProblems(one: Node): readonly string[] {
  if (one['kind'] !== 'Deployment') return [];
  const selector = nodeAt(nodeAt(nodeAt(one, 'spec'), 'selector'), 'matchLabels');
  return matches(selector, labelsOf(one)) ? [] : ['its selector does not match its template'];
}

/** A service's selector finds a deployment, and its target ports are that one's. */
function portNames(one: Node, all: readonly Node[]): readonly string[] {
  if (one['kind'] !== 'Service') return [];
  const spec = nodeAt(one, 'spec');
  const chosen = all.filter(
    (other) => other['kind'] === 'Deployment' && matches(nodeAt(spec, 'selector'), labelsOf(other)),
  );
  if (chosen.length === 0) return ['its selector finds no deployment'];
  const names = chosen
    .flatMap((other) => nodesAt(podOf(other), 'containers'))
    .flatMap((container) => nodesAt(container, 'ports'))
    .map(({ name }) => name);
  const targets = nodesAt(spec, 'ports').map(({ targetPort }) => targetPort);
  const unknown = targets.filter((port) => typeof port === 'string' && !names.includes(port));
  return unknown.map((port) => `no container port is named ${String(port)}`);
}
