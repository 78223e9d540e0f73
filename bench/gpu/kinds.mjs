// The kinds of groups: plain requests of each size, and requests that use one more feature of the
// server each. Their groups, order of importance, and titles. Pure.

/** Rows of a batch, and its threads, when the runtime alone runs the batches that it is best at. */
const DIRECT_BATCH = { batch: 64, threads: 2 };
const DIRECT = 'ONNX Runtime alone, I/O binding';
/** Requests in flight: one shows the latency, many the throughput. */
export const IN_FLIGHT = [1, 16];
/** Processes of the load that share the requests in flight. */
export const LOAD_PROCESSES = 4;

const P50 = { metric: 'p50', target: { relation: '<=', limit: 60 } };
const RATE = { metric: 'rate', target: { relation: '>=', limit: 0.95 } };
const BATCHED = { metric: 'rate', target: { relation: '>=', limit: 0.8 } };

const CASES = {
  graphs: [
    { model: 'resnet50', batch: 1, inFlight: 1 },
    { model: 'bert-base', batch: 1, inFlight: 1 },
    { model: 'mlp', batch: 1, inFlight: 1 },
  ],
  batching: [
    { model: 'resnet50', batch: 1, inFlight: 64, direct: DIRECT_BATCH },
    { model: 'bert-base', batch: 1, inFlight: 64, direct: DIRECT_BATCH },
    { model: 'mlp', batch: 1, inFlight: 64, direct: DIRECT_BATCH },
  ],
  shared: [
    { model: 'resnet50', batch: 8, inFlight: 16 },
    { model: 'mlp', batch: 1, inFlight: 16 },
  ],
  processes: [
    { model: 'resnet50', batch: 1, inFlight: 16, processes: LOAD_PROCESSES },
    { model: 'mlp', batch: 1, inFlight: 16, processes: LOAD_PROCESSES },
  ],
};

/** `judged`: a row's metric and target. `title`: its words in tables; '' for plain requests. */
const ROWS = {
  plain: { title: '', judged: ({ inFlight }) => (inFlight === 1 ? P50 : RATE) },
  graphs: { title: 'CUDA graphs', judged: () => P50 },
  batching: { title: 'dynamic batching', judged: () => BATCHED },
  shared: { title: 'CUDA shared memory', judged: () => RATE },
  processes: { title: `${LOAD_PROCESSES} load processes`, judged: () => RATE },
};

export const KINDS = Object.keys(ROWS);

export const kindTitle = (kind) => ROWS[kind].title;
export const judgedBy = (group) => ROWS[group.kind].judged(group);

/** Describes what the group is measured against. */
export const referenceOf = ({ direct }) =>
  direct === undefined ? DIRECT : `${DIRECT}, ${direct.batch} rows x ${direct.threads}`;

/** Plain groups of each model, batch and number in flight. */
export function plainGroups(models, batches) {
  return models.flatMap((model) =>
    batches.flatMap((batch) =>
      IN_FLIGHT.map((inFlight) => {
        const id = `${model.name}-b${batch}-x${inFlight}`;
        return { id, kind: 'plain', model, batch, inFlight };
      }),
    ),
  );
}

/** Groups of the other kinds; all are measured over gRPC. */
export function kindGroups(models, kind) {
  return (CASES[kind] ?? []).flatMap(({ model: name, ...rest }) => {
    const model = models.find((one) => one.name === name);
    const id = `${name}-${kind}-b${rest.batch}-x${rest.inFlight}`;
    return model === undefined ? [] : [{ id, kind, model, paths: ['grpc'], ...rest }];
  });
}

/**
 * How late a group is measured if there is little time: first single rows, then one group of each
 * kind, then the rest by the size of their batches.
 */
export function rankOf({ kind, batch, model }) {
  if (kind === 'plain') return batch === 1 ? 0 : 3 + batch;
  if (kind === 'graphs' || kind === 'batching') return 1;
  const isFirst = model.name === (kind === 'shared' ? 'resnet50' : 'mlp');
  return isFirst ? 2 : 3;
}
