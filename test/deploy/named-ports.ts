// Names that the API server does not resolve: probes and services may name ports that no container
// has, and a service may select nothing. Test time only; pure.
type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const nodeAt = (node: Node, ...names: readonly string[]): Node =>
  names.reduce<Node>((at, name) => {
    const value = at[name];
    return isNode(value) ? value : {};
  }, node);
const nodesAt = (node: Node, name: string): readonly Node[] => {
  const value = node[name];
  return Array.isArray(value) ? value.filter(isNode) : [];
};

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'];
const HANDLERS = ['httpGet', 'grpc', 'tcpSocket'];

/** Each name in these manifests of one folder that nothing has, a sentence each. */
export function namesNothingHas(manifests: readonly unknown[]): readonly string[] {
  const nodes = manifests.filter(isNode);
  return nodes.flatMap((one) => {
    const where = `${String(one['kind'])}/${String(nodeAt(one, 'metadata')['name'])}`;
    const problems = [...containersOf(one).flatMap(probeProblems), ...serviceProblems(one, nodes)];
    return problems.map((problem) => `${where}: ${problem}`);
  });
}

/** The containers of a deployment, or of a KServe runtime or predictor. */
function containersOf(one: Node): readonly Node[] {
  const spec = nodeAt(one, 'spec');
  const pods = [nodeAt(spec, 'template', 'spec'), spec, nodeAt(spec, 'predictor')];
  return pods.flatMap((pod) => nodesAt(pod, 'containers'));
}

const portNames = (container: Node): readonly unknown[] =>
  nodesAt(container, 'ports').map(({ name }) => name);

function probeProblems(container: Node): readonly string[] {
  const ports = portNames(container);
  return PROBES.flatMap((probe) =>
    HANDLERS.map((handler) => nodeAt(container, probe, handler)['port'])
      .filter((port) => typeof port === 'string' && !ports.includes(port))
      .map((port) => `${probe}: no port is named ${String(port)}`),
  );
}

function serviceProblems(one: Node, all: readonly Node[]): readonly string[] {
  if (one['kind'] !== 'Service') return [];
  const selector = Object.entries(nodeAt(one, 'spec', 'selector'));
  const chosen = all.filter((other) => {
    const labels = nodeAt(other, 'spec', 'template', 'metadata', 'labels');
    return other['kind'] === 'Deployment' && selector.every(([name, at]) => labels[name] === at);
  });
  if (chosen.length === 0) return ['its selector finds no deployment'];
  const names = chosen.flatMap(containersOf).flatMap(portNames);
  const targets = nodesAt(nodeAt(one, 'spec'), 'ports').map(({ targetPort }) => targetPort);
  const unknown = targets.filter((port) => typeof port === 'string' && !names.includes(port));
  return unknown.map((port) => `no container port is named ${String(port)}`);
}
