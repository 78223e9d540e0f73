// How the tables of engine.fbs lie in bytes. Data only; any thread. Generated from proto/engine.fbs by proto/generate.mjs.
import type { FlatTable } from '../../model/flat-table.js';
import type * as engine from '../../base/generated/engine.js';

const DTYPE: readonly string[] = ['', 'BOOL', 'UINT8', 'UINT16', 'UINT32', 'UINT64', 'INT8', 'INT16', 'INT32', 'INT64', 'FP16', 'FP32', 'FP64', 'BYTES', 'BF16', 'STRING', 'DATE', 'TIMESTAMP', 'VECTOR', 'DECIMAL'];

const EXEC_MODE: readonly string[] = ['auto', 'inline', 'queued'];

const BATCH_MODE: readonly string[] = ['off', 'auto', 'on'];

const ROWS_VERDICT: readonly string[] = ['unknown', 'proved', 'coupled', 'unproved'];

const BATCH_PROOF: readonly string[] = ['untried', 'proven', 'contradicted', 'undecided'];

const TIMEOUT_ACTION: readonly string[] = ['reject', 'delay'];

const BATCH_INPUT_KIND: readonly string[] = ['elementcount', 'accumulatedelementcount', 'accumulatedelementcountwithzero', 'maxelementcountasshape', 'itemshape', 'itemshapeflatten'];

const GRAPH_USE: readonly string[] = ['required', 'optional', 'known'];

const SEQUENCE_STRATEGY: readonly string[] = ['direct', 'oldest'];

const SEQUENCE_SIGNAL: readonly string[] = ['start', 'ready', 'end', 'id'];

const MISSING_PART: readonly string[] = ['model', 'version', 'label', 'ready', 'number', 'int64', 'signature', 'limit'];

export const RANK_RULE: FlatTable<engine.RankRule> = { name: 'RankRule', members: [
  { name: 'min', kind: 'ubyte' },
  { name: 'max', kind: 'ubyte', fallback: null, optional: true },
  { name: 'of', kind: 'string' },
] };

export const TENSOR_SPEC: FlatTable<engine.TensorSpec> = { name: 'TensorSpec', members: [
  { name: 'name', kind: 'string' },
  { name: 'datatype', kind: DTYPE },
  { name: 'shape', kind: 'long', many: true },
  { name: 'symbols', kind: 'string', many: true },
  { name: 'unknownRank', kind: 'bool' },
  { name: 'unchecked', kind: 'bool', fallback: null, optional: true },
  { name: 'ranks', kind: RANK_RULE, optional: true },
  { name: 'defaultProto', kind: 'bytes', optional: true },
  { name: 'labels', kind: 'string', many: true, optional: true },
  { name: 'inConfig', kind: 'bool', fallback: null, optional: true },
] };

export const SIGNATURE: FlatTable<engine.Signature> = { name: 'Signature', members: [
  { name: 'name', kind: 'string' },
  { name: 'inputs', kind: TENSOR_SPEC, many: true },
  { name: 'outputs', kind: TENSOR_SPEC, many: true },
  { name: 'methodName', kind: 'string', optional: true },
  { name: 'optionalInputs', kind: TENSOR_SPEC, many: true, optional: true },
] };

export const WEIGHT: FlatTable<engine.Weight> = { name: 'Weight', members: [
  { name: 'name', kind: 'string' },
  { name: 'datatype', kind: DTYPE },
  { name: 'dims', kind: 'long', many: true },
  { name: 'file', kind: 'uint' },
  { name: 'offset', kind: 'ulong' },
  { name: 'bytes', kind: 'ulong' },
  { name: 'maskedCrc32c', kind: 'uint', fallback: null, optional: true },
] };

export const GRAPH_STATE: FlatTable<engine.GraphState> = { name: 'GraphState', members: [
  { name: 'state', kind: 'uint' },
  { name: 'input', kind: 'string' },
  { name: 'output', kind: 'string' },
] };

export const GRAPH_SPEC: FlatTable<engine.GraphSpec> = { name: 'GraphSpec', members: [
  { name: 'signature', kind: SIGNATURE },
  { name: 'model', kind: 'bytes' },
  { name: 'inputNames', kind: 'string', many: true },
  { name: 'outputNames', kind: 'string', many: true },
  { name: 'weights', kind: 'uint', many: true },
  { name: 'states', kind: GRAPH_STATE, many: true },
] };

export const ROWS_FINDING: FlatTable<engine.RowsFinding> = { name: 'RowsFinding', members: [
  { name: 'signature', kind: 'string' },
  { name: 'verdict', kind: ROWS_VERDICT },
  { name: 'text', kind: 'string' },
] };

export const BATCH_POLICY: FlatTable<engine.BatchPolicy> = { name: 'BatchPolicy', members: [
  { name: 'mode', kind: BATCH_MODE },
  { name: 'rowsMax', kind: 'uint' },
  { name: 'requestRowsMax', kind: 'uint' },
  { name: 'preferredRows', kind: 'uint', many: true },
  { name: 'allowedRows', kind: 'uint', many: true },
  { name: 'delayUs', kind: 'uint' },
  { name: 'split', kind: 'bool' },
  { name: 'padInner', kind: 'bool' },
  { name: 'preserveOrdering', kind: 'bool' },
  { name: 'onlyIfBatchable', kind: 'bool' },
  { name: 'anyRows', kind: 'bool' },
] };

export const QUEUE_POLICY: FlatTable<engine.QueuePolicy> = { name: 'QueuePolicy', members: [
  { name: 'timeoutAction', kind: TIMEOUT_ACTION },
  { name: 'defaultTimeoutUs', kind: 'ulong' },
  { name: 'allowTimeoutOverride', kind: 'bool' },
  { name: 'requestsMax', kind: 'uint' },
] };

export const PRIORITY_QUEUE_POLICY: FlatTable<engine.PriorityQueuePolicy> = { name: 'PriorityQueuePolicy', members: [
  { name: 'level', kind: 'uint' },
  { name: 'policy', kind: QUEUE_POLICY },
] };

export const TENSOR_OVERRIDE: FlatTable<engine.TensorOverride> = { name: 'TensorOverride', members: [
  { name: 'name', kind: 'string' },
  { name: 'dims', kind: 'long', many: true },
  { name: 'modelDims', kind: 'long', many: true },
  { name: 'labels', kind: 'string', many: true },
  { name: 'optional', kind: 'bool' },
  { name: 'ragged', kind: 'bool' },
] };

export const BATCH_INPUT: FlatTable<engine.BatchInput> = { name: 'BatchInput', members: [
  { name: 'input', kind: 'string' },
  { name: 'kind', kind: BATCH_INPUT_KIND },
  { name: 'datatype', kind: DTYPE },
  { name: 'source', kind: 'string' },
] };

export const BATCH_OUTPUT: FlatTable<engine.BatchOutput> = { name: 'BatchOutput', members: [
  { name: 'output', kind: 'string' },
  { name: 'source', kind: 'string' },
] };

export const PROVIDER: FlatTable<engine.Provider> = { name: 'Provider', members: [
  { name: 'name', kind: 'string' },
  { name: 'options', kind: 'pairs' },
] };

export const SERVER_OPTIONS: FlatTable<engine.ServerOptions> = { name: 'ServerOptions', members: [
  { name: 'provider', kind: 'string' },
  { name: 'options', kind: 'string', many: true },
] };

export const ENSEMBLE_LINK: FlatTable<engine.EnsembleLink> = { name: 'EnsembleLink', members: [
  { name: 'name', kind: 'string' },
  { name: 'tensor', kind: 'string' },
] };

export const ENSEMBLE_STEP: FlatTable<engine.EnsembleStep> = { name: 'EnsembleStep', members: [
  { name: 'handle', kind: 'uint' },
  { name: 'inputs', kind: ENSEMBLE_LINK, many: true },
  { name: 'outputs', kind: ENSEMBLE_LINK, many: true },
] };

export const SEQUENCE_CONTROL: FlatTable<engine.SequenceControl> = { name: 'SequenceControl', members: [
  { name: 'input', kind: 'string' },
  { name: 'signal', kind: SEQUENCE_SIGNAL },
  { name: 'datatype', kind: DTYPE },
  { name: 'off', kind: 'bytes' },
  { name: 'on', kind: 'bytes' },
] };

export const SEQUENCE_STATE: FlatTable<engine.SequenceState> = { name: 'SequenceState', members: [
  { name: 'input', kind: 'string' },
  { name: 'output', kind: 'string' },
  { name: 'datatype', kind: DTYPE },
  { name: 'dims', kind: 'long', many: true },
  { name: 'initial', kind: 'bytes' },
] };

export const SEQUENCE_SPEC: FlatTable<engine.SequenceSpec> = { name: 'SequenceSpec', members: [
  { name: 'strategy', kind: SEQUENCE_STRATEGY },
  { name: 'idleUs', kind: 'ulong' },
  { name: 'slots', kind: 'uint' },
  { name: 'rowsMin', kind: 'uint' },
  { name: 'controls', kind: SEQUENCE_CONTROL, many: true },
  { name: 'states', kind: SEQUENCE_STATE, many: true },
  { name: 'doneOutput', kind: 'string' },
  { name: 'stepsMax', kind: 'uint' },
] };

export const LIMIT_SPEC: FlatTable<engine.LimitSpec> = { name: 'LimitSpec', members: [
  { name: 'maxInFlight', kind: 'uint' },
  { name: 'requestsPerSecond', kind: 'double' },
  { name: 'rowsPerSecond', kind: 'double' },
] };

export const RATE_RESOURCE: FlatTable<engine.RateResource> = { name: 'RateResource', members: [
  { name: 'name', kind: 'string' },
  { name: 'global', kind: 'bool' },
  { name: 'count', kind: 'uint' },
] };

export const CALLER: FlatTable<engine.Caller> = { name: 'Caller', members: [
  { name: 'number', kind: 'uint' },
  { name: 'name', kind: 'string' },
  { name: 'limits', kind: LIMIT_SPEC },
  { name: 'models', kind: 'string', many: true },
  { name: 'weight', kind: 'uint', fallback: 100 },
] };

export const CALLER_TABLE: FlatTable<engine.CallerTable> = { name: 'CallerTable', members: [
  { name: 'callers', kind: CALLER, many: true },
] };

export const MODEL_SPEC: FlatTable<engine.ModelSpec> = { name: 'ModelSpec', members: [
  { name: 'name', kind: 'string' },
  { name: 'version', kind: 'decimal', optional: true },
  { name: 'backend', kind: 'string' },
  { name: 'path', kind: 'string', optional: true },
  { name: 'intraOpThreads', kind: 'int', optional: true },
  { name: 'interOpThreads', kind: 'int', optional: true },
  { name: 'graphOptimization', kind: 'int', fallback: 99, optional: true },
  { name: 'providers', kind: PROVIDER, many: true, optional: true },
  { name: 'instances', kind: 'int', fallback: 1, optional: true },
  { name: 'queueRequestsMax', kind: 'int', fallback: 1024, optional: true },
  { name: 'execMode', kind: EXEC_MODE, optional: true },
  { name: 'inlineUsMax', kind: 'int', fallback: 100, optional: true },
  { name: 'nullMode', kind: 'string', optional: true },
  { name: 'nullDelayUs', kind: 'long', optional: true },
  { name: 'nullSignature', kind: SIGNATURE, optional: true },
  { name: 'batch', kind: BATCH_POLICY, optional: true },
  { name: 'priorityLevels', kind: 'uint', optional: true },
  { name: 'defaultPriority', kind: 'uint', optional: true },
  { name: 'queuePolicy', kind: QUEUE_POLICY, optional: true },
  { name: 'priorityPolicies', kind: PRIORITY_QUEUE_POLICY, many: true, optional: true },
  { name: 'batchDim', kind: 'bool', optional: true },
  { name: 'inputs', kind: TENSOR_OVERRIDE, many: true, optional: true },
  { name: 'outputs', kind: TENSOR_OVERRIDE, many: true, optional: true },
  { name: 'devices', kind: 'int', many: true, optional: true },
  { name: 'sessionConfig', kind: 'pairs', optional: true },
  { name: 'graphs', kind: GRAPH_SPEC, many: true, optional: true },
  { name: 'weights', kind: WEIGHT, many: true, optional: true },
  { name: 'weightFiles', kind: 'string', many: true, optional: true },
  { name: 'states', kind: 'uint', many: true, optional: true },
  { name: 'extendedV2', kind: 'bool', optional: true },
  { name: 'graphRows', kind: 'uint', many: true, optional: true },
  { name: 'serverOptions', kind: SERVER_OPTIONS, many: true, optional: true },
  { name: 'graphUse', kind: GRAPH_USE, optional: true },
  { name: 'retry', kind: 'bool', optional: true },
  { name: 'ensemble', kind: ENSEMBLE_STEP, many: true, optional: true },
  { name: 'ensembleSignature', kind: SIGNATURE, optional: true },
  { name: 'responseCache', kind: 'bool', optional: true },
  { name: 'sequence', kind: SEQUENCE_SPEC, optional: true },
  { name: 'decoupled', kind: 'bool', optional: true },
  { name: 'limits', kind: LIMIT_SPEC, optional: true },
  { name: 'batchInputs', kind: BATCH_INPUT, many: true, optional: true },
  { name: 'batchOutputs', kind: BATCH_OUTPUT, many: true, optional: true },
  { name: 'turnWeight', kind: 'uint', fallback: 100, optional: true },
  { name: 'rateResources', kind: RATE_RESOURCE, many: true, optional: true },
  { name: 'ratePriority', kind: 'uint', fallback: 1, optional: true },
  { name: 'operatorLibraries', kind: 'string', many: true, optional: true },
] };

export const PROVIDER_NODES: FlatTable<engine.ProviderNodes> = { name: 'ProviderNodes', members: [
  { name: 'provider', kind: 'string' },
  { name: 'nodes', kind: 'uint' },
] };

export const DEVICE_RUNS: FlatTable<engine.DeviceRuns> = { name: 'DeviceRuns', members: [
  { name: 'graphRows', kind: 'uint', many: true },
  { name: 'graphBytes', kind: 'long' },
  { name: 'fixedRows', kind: 'uint', many: true },
  { name: 'why', kind: 'string' },
] };

export const MODEL_INFO: FlatTable<engine.ModelInfo> = { name: 'ModelInfo', members: [
  { name: 'handle', kind: 'uint' },
  { name: 'signatures', kind: SIGNATURE, many: true },
  { name: 'producer', kind: 'string' },
  { name: 'graphName', kind: 'string' },
  { name: 'description', kind: 'string' },
  { name: 'domain', kind: 'string' },
  { name: 'modelVersion', kind: 'decimal' },
  { name: 'metadata', kind: 'pairs' },
  { name: 'fileBytes', kind: 'long' },
  { name: 'loadUs', kind: 'long' },
  { name: 'providers', kind: 'string', many: true },
  { name: 'batchMode', kind: BATCH_MODE },
  { name: 'inputsBatchable', kind: 'bool' },
  { name: 'batchProof', kind: BATCH_PROOF },
  { name: 'batchFinding', kind: 'string' },
  { name: 'notes', kind: 'string', many: true, optional: true },
  { name: 'nodes', kind: PROVIDER_NODES, many: true, optional: true },
  { name: 'rows', kind: ROWS_FINDING, many: true, optional: true },
  { name: 'device', kind: DEVICE_RUNS, optional: true },
] };

export const VERSION_ROUTE: FlatTable<engine.VersionRoute> = { name: 'VersionRoute', members: [
  { name: 'version', kind: 'decimal' },
  { name: 'handle', kind: 'uint' },
  { name: 'ready', kind: 'bool' },
  { name: 'reason', kind: 'string' },
] };

export const LABEL_ROUTE: FlatTable<engine.LabelRoute> = { name: 'LabelRoute', members: [
  { name: 'label', kind: 'string' },
  { name: 'version', kind: 'decimal' },
] };

export const MODEL_ROUTE: FlatTable<engine.ModelRoute> = { name: 'ModelRoute', members: [
  { name: 'name', kind: 'string' },
  { name: 'defaultVersion', kind: 'long', fallback: -1 },
  { name: 'versions', kind: VERSION_ROUTE, many: true },
  { name: 'labels', kind: LABEL_ROUTE, many: true },
  { name: 'gone', kind: 'bool' },
] };

export const MISSING: FlatTable<engine.Missing> = { name: 'Missing', members: [
  { name: 'part', kind: MISSING_PART },
  { name: 'model', kind: 'string' },
  { name: 'version', kind: 'string' },
  { name: 'label', kind: 'string' },
  { name: 'foundVersion', kind: 'decimal' },
  { name: 'reason', kind: 'string' },
  { name: 'signature', kind: 'string' },
  { name: 'requestId', kind: 'string' },
  { name: 'known', kind: 'bool' },
  { name: 'retryAfterS', kind: 'uint' },
] };

export const ROUTE_TABLE: FlatTable<engine.RouteTable> = { name: 'RouteTable', members: [
  { name: 'epoch', kind: 'ulong' },
  { name: 'models', kind: MODEL_ROUTE, many: true },
] };

export const DURATION_STAT: FlatTable<engine.DurationStat> = { name: 'DurationStat', members: [
  { name: 'count', kind: 'ulong' },
  { name: 'ns', kind: 'ulong' },
] };

export const BATCH_STAT: FlatTable<engine.BatchStat> = { name: 'BatchStat', members: [
  { name: 'batchSize', kind: 'ulong' },
  { name: 'computeInput', kind: DURATION_STAT },
  { name: 'computeInfer', kind: DURATION_STAT },
  { name: 'computeOutput', kind: DURATION_STAT },
] };

export const MODEL_STATS: FlatTable<engine.ModelStats> = { name: 'ModelStats', members: [
  { name: 'handle', kind: 'uint' },
  { name: 'requestsInline', kind: 'ulong' },
  { name: 'requestsQueued', kind: 'ulong' },
  { name: 'failures', kind: 'ulong' },
  { name: 'cancelled', kind: 'ulong' },
  { name: 'queueFull', kind: 'ulong' },
  { name: 'queueNs', kind: 'ulong' },
  { name: 'computeNs', kind: 'ulong' },
  { name: 'lastInferenceMs', kind: 'ulong' },
  { name: 'inferenceCount', kind: 'ulong' },
  { name: 'executionCount', kind: 'ulong' },
  { name: 'success', kind: DURATION_STAT },
  { name: 'fail', kind: DURATION_STAT },
  { name: 'queue', kind: DURATION_STAT },
  { name: 'computeInput', kind: DURATION_STAT },
  { name: 'computeInfer', kind: DURATION_STAT },
  { name: 'computeOutput', kind: DURATION_STAT },
  { name: 'batches', kind: BATCH_STAT, many: true },
  { name: 'rejected', kind: 'ulong' },
  { name: 'pending', kind: 'ulong' },
  { name: 'cacheHit', kind: DURATION_STAT },
  { name: 'cacheMiss', kind: DURATION_STAT },
] };

export const ENGINE_STATS: FlatTable<engine.EngineStats> = { name: 'EngineStats', members: [
  { name: 'models', kind: MODEL_STATS, many: true },
  { name: 'tensorBytesCopied', kind: 'ulong' },
  { name: 'tensorBytesViewed', kind: 'ulong' },
  { name: 'bodiesOpen', kind: 'ulong' },
  { name: 'ticketsOpen', kind: 'ulong' },
] };

export const TRACE_RULE: FlatTable<engine.TraceRule> = { name: 'TraceRule', members: [
  { name: 'model', kind: 'string' },
  { name: 'own', kind: 'bool' },
  { name: 'on', kind: 'bool' },
  { name: 'rate', kind: 'uint' },
  { name: 'count', kind: 'long' },
  { name: 'tensors', kind: 'bool' },
] };

export const TRACE_RULES: FlatTable<engine.TraceRules> = { name: 'TraceRules', members: [
  { name: 'rules', kind: TRACE_RULE, many: true },
  { name: 'parents', kind: 'bool' },
] };

export const TRACED_TENSOR: FlatTable<engine.TracedTensor> = { name: 'TracedTensor', members: [
  { name: 'name', kind: 'string' },
  { name: 'output', kind: 'bool' },
  { name: 'datatype', kind: DTYPE },
  { name: 'shape', kind: 'long', many: true },
  { name: 'data', kind: 'bytes' },
  { name: 'missing', kind: 'bytes' },
  { name: 'leftOut', kind: 'bool' },
] };

export const TRACE_RECORD: FlatTable<engine.TraceRecord> = { name: 'TraceRecord', members: [
  { name: 'traceId', kind: 'bytes' },
  { name: 'spanId', kind: 'bytes' },
  { name: 'parentId', kind: 'bytes' },
  { name: 'traceState', kind: 'string' },
  { name: 'model', kind: 'string' },
  { name: 'version', kind: 'string' },
  { name: 'requestId', kind: 'string' },
  { name: 'protocol', kind: 'ubyte' },
  { name: 'code', kind: 'ubyte' },
  { name: 'startS', kind: 'ulong' },
  { name: 'startNs', kind: 'uint' },
  { name: 'steadyNs', kind: 'decimal' },
  { name: 'totalNs', kind: 'ulong' },
  { name: 'queueNs', kind: 'ulong' },
  { name: 'inputNs', kind: 'ulong' },
  { name: 'inferNs', kind: 'ulong' },
  { name: 'outputNs', kind: 'ulong' },
  { name: 'requestBytes', kind: 'ulong' },
  { name: 'responseBytes', kind: 'ulong' },
  { name: 'rows', kind: 'uint' },
  { name: 'batchTraceId', kind: 'bytes' },
  { name: 'batchSpanId', kind: 'bytes' },
  { name: 'batchRequests', kind: 'uint' },
  { name: 'batchRows', kind: 'uint' },
  { name: 'tensors', kind: TRACED_TENSOR, many: true },
  { name: 'loadWaitNs', kind: 'ulong' },
] };

export const TRACE_TAKE: FlatTable<engine.TraceTake> = { name: 'TraceTake', members: [
  { name: 'records', kind: TRACE_RECORD, many: true },
  { name: 'left', kind: TRACE_RULE, many: true },
] };

export const REQUEST_LOG_RATE: FlatTable<engine.RequestLogRate> = { name: 'RequestLogRate', members: [
  { name: 'model', kind: 'string' },
  { name: 'rate', kind: 'double' },
  { name: 'tensorflow', kind: 'bool' },
] };

export const REQUEST_LOG_RATES: FlatTable<engine.RequestLogRates> = { name: 'RequestLogRates', members: [
  { name: 'rates', kind: REQUEST_LOG_RATE, many: true },
] };

export const LOGGED_REQUEST: FlatTable<engine.LoggedRequest> = { name: 'LoggedRequest', members: [
  { name: 'protocol', kind: 'ubyte' },
  { name: 'protocolName', kind: 'string' },
  { name: 'code', kind: 'ubyte' },
  { name: 'model', kind: 'string' },
  { name: 'version', kind: 'string' },
  { name: 'id', kind: 'string' },
  { name: 'timeMs', kind: 'ulong' },
  { name: 'totalUs', kind: 'ulong' },
  { name: 'jsonBytes', kind: 'long', fallback: -1 },
  { name: 'responseJsonBytes', kind: 'ulong' },
  { name: 'request', kind: 'bytes' },
  { name: 'response', kind: 'bytes' },
  { name: 'tensorflow', kind: 'bytes' },
  { name: 'tensorflowFault', kind: 'string' },
] };

export const REQUEST_LOG_BATCH: FlatTable<engine.RequestLogBatch> = { name: 'RequestLogBatch', members: [
  { name: 'requests', kind: LOGGED_REQUEST, many: true },
  { name: 'dropped', kind: 'ulong' },
  { name: 'more', kind: 'bool' },
] };
