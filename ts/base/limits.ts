// Every limit of the control plane; native/base/limits.h has those of the native side, and
// proto/limits.mjs lists the ones that both need. Each is checked once, with an error that names
// it. Constants only.

export * from './generated/native-limits.js';

/** Sizes of batches that a configuration may ask CUDA graphs for. */
export const GRAPHS_MAX = 31;
/** The smallest --memory-limit, both when set and when derived at startup. */
export const MEMORY_LIMIT_MIN = 16_777_216;

/**
 * Request line and headers of an HTTP request; Node's own limit. uWebSockets.js alone would accept
 * 4 KiB.
 */
export const HTTP_HEAD_BYTES_MAX = 16_384;
/**
 * Idle time after which a connection without a request under way is closed, unless
 * --http-idle-seconds sets another (uWebSockets.js has 10 seconds compiled in).
 */
export const HTTP_IDLE_MS = 60_000;
/** The longest time that a connection may stay open without sending its first request. */
export const HTTP_SILENT_MS = 10_000;
export const HTTP_IDLE_SECONDS_MAX = 86_400;
/** A request body or response that makes no progress for this long is abandoned. */
export const HTTP_STALLED_MS = 600_000;

/** Size of the --config file. */
export const CONFIG_FILE_BYTES_MAX = 1_048_576;
/** Lines of --api-key-file: a request that needs a key is compared with all of them. */
export const ACCESS_KEYS_MAX = 1000;
/** Patterns of model names of one key. */
export const MODEL_PATTERNS_MAX = 256;
/** The largest limits of a model or a key; native/engine/control/spec has the same. */
export const LIMIT_IN_FLIGHT_MAX = 1_000_000;
export const LIMIT_RATE_MAX = 1_000_000_000;
/** The largest `weight` of a model or a key, and that without one; the same. */
export const WEIGHT_MAX = 1000;
export const WEIGHT_DEFAULT = 100;
/** A JavaScript heap is compacted once this number of models changed, and none for this time. */
export const COMPACT_MODELS_MIN = 1000;
export const COMPACT_AFTER_MS = 1000;
/** Poll interval of --api-key-file. */
export const ACCESS_LOOK_MS = 1000;
/** Connections of the admin address: operators and scrapers are few. */
export const ADMIN_CONNECTIONS_MAX = 256;
/** How long listeners may exceed --drain-seconds to close their connections. */
export const DRAIN_GRACE_MS = 500;
/** Runs of warm-up requests of one version, and the time after which no more runs begin. */
export const WARMUP_RUNS_MAX = 10_000;
export const WARMUP_MS_MAX = 60_000;
/** A warm-up that takes longer than this, the current run included, fails the load. */
export const WARMUP_END_MS = 600_000;
/** Connections of one listener; fewer where the process may open fewer files. */
export const CONNECTIONS_MAX = 1_000_000;
/** File descriptors reserved for other uses than connections: models, logs, the threads' own. */
export const DESCRIPTORS_KEPT = 96;
/**
 * A gRPC client that has not sent its HTTP/2 preface and settings within this time is disconnected.
 */
export const HANDSHAKE_MS_MAX = 10_000;
/** Minimum time between two log lines about too many connections. */
export const FULL_LOG_EVERY_MS = 60_000;
/** Minimum time between two log lines about failed TLS handshakes. */
export const HANDSHAKE_LOG_EVERY_MS = 10_000;
/** Once a drain begins, a partly received request may send the rest for this long. */
export const DRAIN_BODY_MS = 1000;
/** Log lines that may wait for a slow reader of stderr; later ones are lost. */
export const LOG_BACKLOG_BYTES_MAX = 16_777_216;
/** Listener threads on one port. */
export const HTTP_THREADS_MAX = 256;
/** Threads of the gRPC listener. */
export const GRPC_THREADS_MAX = 256;
/** Native threads of one model, and threads inside one model run. */
export const MODEL_THREADS_MAX = 1024;

/** Shared-memory regions that clients may register: each keeps a file open. */
export const SHARED_REGIONS_MAX = 1024;

/** Models in all repositories together. */
export const MODELS_MAX = 100_000;
/** Version folders of one model. */
export const VERSIONS_MAX = 10_000;
/** Versions are int64, as TensorFlow Serving has them. */
export const VERSION_MAX = 9_223_372_036_854_775_807n;
/** Models in one response of GET /v1/models and GET /v2/models. */
export const MODEL_LIST_MAX = 1000;
/** Models that the OpenAPI document describes; others are requested by name. */
export const OPENAPI_MODELS_MAX = 1000;
/** Versions in state END that a model's status keeps showing (failed or unloaded). */
export const ENDED_VERSIONS_MAX = 16;
/** Models that load at the same time. */
export const LOADS_AT_ONCE = 4;
/** Minimum number of models that load, unload or wait to load that counts as a burst. */
export const BURST_MODELS = 16;
/**
 * During a burst, snapshots are published at intervals: this long after the last one, or this many
 * times the time it took (so that publishing takes at most a tenth of the time, whatever the number
 * of models), but no longer than the maximum.
 */
export const PUBLISH_EVERY_MS = 10;
export const PUBLISH_TIMES = 9;
export const PUBLISH_EVERY_MS_MAX = 500;

/** One top-level string of an ONNX file. */
export const ONNX_STRING_BYTES_MAX = 1_048_576;
/** All top-level strings of an ONNX file. */
export const ONNX_STRINGS_BYTES_MAX = 16_777_216;
/** Operator set imports, and metadata entries, of an ONNX file. */
export const ONNX_ENTRIES_MAX = 65_536;
/** Top-level fields of an ONNX file, unknown ones included. */
export const ONNX_FIELDS_MAX = 1_048_576;

/** Characters of one logged value; the rest is cut and marked. */
export const LOG_VALUE_CHARS_MAX = 2048;
/** Elements of a printed sample request, all inputs together. */
export const SAMPLE_ELEMENTS_MAX = 256;
/**
 * Elements of a sample request that is written to a file for the commands that `serval serve`
 * prints.
 */
export const REQUEST_FILE_ELEMENTS_MAX = 524_288;
/** Pixels of an image that `serval predict` decodes. */
export const PICTURE_PIXELS_MAX = 100_000_000;
/** Connections of one thread of `serval bench`, and the time limit for opening one. */
export const BENCH_CONNECTIONS_MAX = 1024;
export const BENCH_CONNECT_MS = 10_000;
/** Concurrent requests, requests per second, and sending threads. */
export const BENCH_CONCURRENCY_MAX = 16_384;
export const BENCH_RATE_MAX = 10_000_000;
export const BENCH_THREADS_MAX = 64;
/** Time limit of a call outside the measurement; the first run of a large model takes long. */
export const BENCH_CALL_MS = 120_000;
/** Characters kept of the ready line of the server that the bench starts. */
export const BENCH_LINE_CHARS_MAX = 1_048_576;
/** Bytes of one bench request or response. */
export const BENCH_REQUEST_BYTES_MAX = 1_073_741_824;
/**
 * Elements of one bench request that pass through JavaScript values: drawn at random, or written as
 * JSON.
 */
export const BENCH_ELEMENTS_MAX = 16_777_216;
/** Points of one report, and the maximum duration of one. */
export const BENCH_POINTS_MAX = 1000;
export const BENCH_SECONDS_MAX = 3600;
/** Files next to a model's versions that --tune links to. */
export const BENCH_LINKS_MAX = 1000;
/** Models that `serval serve` prints such commands for. */
export const TRY_MODELS_MAX = 8;

/**
 * Decompressed size of all blocks of a TensorFlow checkpoint's index together; also the list of
 * tensors in a version 1 file. 100,000 variables take about 10 MB.
 */
export const CHECKPOINT_INDEX_BYTES_MAX = 67_108_864;
/**
 * Decompressed size of one block of a version 1 checkpoint: a protobuf message, which is less than
 * 2 GiB, and the block's other entries.
 */
export const CHECKPOINT_BLOCK_BYTES_MAX = 2_214_592_512;
/** Entries of one checkpoint file's table or block: tensors and slices. */
export const CHECKPOINT_ENTRIES_MAX = 1_048_576;
/** A key of a checkpoint table: a tensor's name, or name and slice. */
export const CHECKPOINT_KEY_BYTES_MAX = 65_536;
/** All keys of a table or block: prefix compression expands a few bytes to long keys. */
export const CHECKPOINT_KEYS_BYTES_MAX = 268_435_456;
/** Data files of a version 2 checkpoint, and files of a version 1 one. */
export const CHECKPOINT_SHARDS_MAX = 100_000;
/** Slices that one tensor is stored in; each is compared with others to find overlaps. */
export const CHECKPOINT_SLICES_MAX = 16_384;
/** Elements of one string tensor: each is an object in memory. */
export const CHECKPOINT_STRINGS_MAX = 16_777_216;
/** Nodes of a boosted trees estimator's ensemble. */
export const TREE_NODES_MAX = 4_194_304;
/** Levels of a tree of TensorFlow Decision Forests: ONNX Runtime reads trees by recursion. */
export const FOREST_DEPTH_MAX = 512;
/** Categories of all sets that the conditions of a decision forest test: a byte each. */
export const FOREST_SET_BYTES_MAX = 268_435_456;
/** A tensor's rank; TensorFlow's own limit. */
export const TENSORFLOW_RANK_MAX = 254;

/**
 * Size of the metadata file of one stage of a Spark model: its parameters, including stop words.
 */
export const SPARK_METADATA_BYTES_MAX = 67_108_864;
/** Nesting depth of pipelines. */
export const SPARK_NESTING_MAX = 32;
/** Stages of one Spark model, including those of nested pipelines. */
export const SPARK_STAGES_MAX = 100_000;
/** Rows of one table of a Spark model: nodes of a forest, words of a vocabulary, users. */
export const SPARK_TABLE_ROWS_MAX = 50_000_000;
/**
 * Decompressed size of one page of a parquet file. Writers' own limit is 1 MiB, and a row is never
 * split.
 */
export const PARQUET_PAGE_BYTES_MAX = 1_073_741_824;

/** Time limit of one import of a model into ONNX, and the JavaScript heap of its worker. */
export const IMPORT_MS_MAX = 300_000;
export const IMPORT_HEAP_MB_MAX = 4096;
export const IMPORT_YOUNG_HEAP_MB = 24;

/**
 * Size of an XML file (PMML), and in it: nesting depth of elements, attributes of one element,
 * characters of one attribute, of one tag or comment, and of one element's text.
 */
export const XML_FILE_BYTES_MAX = 4_294_967_296;
export const XML_DEPTH_MAX = 4096;
export const XML_ATTRIBUTES_MAX = 256;
export const XML_ATTRIBUTE_CHARS_MAX = 1_048_576;
export const XML_TOKEN_CHARS_MAX = 67_108_864;
export const XML_TEXT_CHARS_MAX = 268_435_456;

/** Files of one tabular model, whether a folder or an archive. */
export const MODEL_FILES_MAX = 100_000;
/** Decompressed size of one file of a tabular model. */
export const MODEL_FILE_BYTES_MAX = 2_147_483_647;
/** Decompressed size of all files of an archive. */
export const ARCHIVE_BYTES_MAX = 4_294_967_296;
/** Depth of folders above a file. */
export const MODEL_FILE_DEPTH_MAX = 64;
/** A file's path inside the model, in characters. */
export const MODEL_FILE_NAME_CHARS_MAX = 4096;
/**
 * Maximum ratio of decompressed to compressed size, applied to files and archives that decompress
 * to more than this size. Real models stay below 50; deflate's own limit is 1,032.
 */
export const ARCHIVE_RATIO_FROM_BYTES = 16_777_216;
export const ARCHIVE_RATIO_MAX = 200;
/** A booster's file (XGBoost, LightGBM, CatBoost), which is read into memory. */
export const BOOSTER_BYTES_MAX = 2_147_483_647;
/** A .skops file, which is read into memory, and its tree of objects. */
export const SKLEARN_BYTES_MAX = 2_147_483_647;
export const SKLEARN_SCHEMA_BYTES_MAX = 268_435_456;
/** Columns between the steps of such a model. */
export const SKLEARN_COLUMNS_MAX = 1_048_576;
/** Coefficients of a support vector classifier: pairs * (vectors + 2 * classes). */
export const SKLEARN_MACHINE_CELLS_MAX = 134_217_728;
/** Features of a booster: each is a field, and a request's tensors name at most this number. */
export const BOOSTER_FEATURES_MAX = 16_384;
/** A tabular model's schema file. */
export const SCHEMA_BYTES_MAX = 16_777_216;

/** Size of a LeapFrame or CSV body: it is parsed in JavaScript, on the listener's thread. */
export const FRAME_BODY_BYTES_MAX = 33_554_432;
/** Nesting depth of lists in such a body. */
export const FRAME_DEPTH_MAX = 64;
/** Values of all sparse tensors of a LeapFrame after expansion to dense ones. */
export const FRAME_SPARSE_VALUES_MAX = 4_194_304;

/** Traces that wait to be written to a file. */
export const TRACES_WAITING_MAX = 65_536;
/** Characters of a trace file with a fixed number of traces: a larger one has fewer. */
export const TRACE_GROUP_TEXT_MAX = 16_777_216;
/** Characters of traces that wait to be written to a file; more are dropped. */
export const TRACE_TEXT_WAITING_MAX = 67_108_864;
/** Minimum time between two warnings about dropped traces. */
export const TRACE_WARN_EVERY_MS = 60_000;
/** How long a stopping server waits for a trace collector. */
export const TRACE_FLUSH_MS = 3000;
/** How often logged requests are fetched from the engine and written. */
export const REQUEST_LOG_TAKE_MS = 200;
/** Retry interval of a request log that could not be written. */
export const REQUEST_LOG_RETRY_MS = 5000;

/** Nesting depth of lists in the arguments of loadModel().infer(). */
export const LIBRARY_RANK_MAX = 64;
/** A load that takes longer is logged, and again after at most this interval. */
export const LOAD_TOLD_AFTER_MS = 1000;
export const LOAD_TOLD_EVERY_MS_MAX = 30_000;
/** Loads in such an interval that are logged one by one; of the others only the number is. */
export const LOADED_LINES_MAX = 50;
export const LOADED_LINES_EVERY_MS = 1000;
/** Versions that `serval serve` lists when it starts. */
export const TABLE_VERSIONS_MAX = 25;
/** On a terminal: when a load is first shown, and how often its line is redrawn. */
export const LOAD_LINE_AFTER_MS = 300;
export const LOAD_LINE_EVERY_MS = 250;
/** Files whose sizes are added up for that line. */
export const LOAD_SIZE_ENTRIES_MAX = 4096;
/** The largest 32-bit numbers. */
export const INT32_MAX = 2_147_483_647;
export const UINT32_MAX = 4_294_967_295;

/** Pause after a load on demand that failed, doubled by each further one up to the maximum. */
export const DEMAND_RETRY_MS = 1000;
export const DEMAND_RETRY_MAX_MS = 60_000;
/** How long a load on demand waits until another version may leave, and how often it looks. */
export const ROOM_WAIT_MS = 5000;
export const ROOM_LOOK_MS = 20;
/** Memory of a loaded model besides its weights: a session with its graph and kernels. */
export const SESSION_BYTES = 150_000;
/** How long a version that was loaded on demand stays at least. */
export const STAYS_MS = 250;

/** Rows that explanations of a tabular model are relative to, and the bytes of their file. */
export const BACKGROUND_ROWS_MAX = 1000;
export const BACKGROUND_BYTES_MAX = 64 * 1024 * 1024;
