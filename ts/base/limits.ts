// Every limit of the control plane in one place; those of the native side stand in
// native/base/limits.h. Each is checked once, with an error that names it. Constants only.

/** Of the host, pinned for GPUs: Triton's default. */
export const PINNED_POOL_BYTES_DEFAULT = 268_435_456;
/** Sizes of batches that a configuration may ask CUDA graphs for. */
export const GRAPHS_MAX = 31;
/** Default of --body-bytes-max and --grpc-message-bytes-max: 2 GiB - 1, protobuf's own. */
export const BODY_BYTES_MAX_DEFAULT = 2_147_483_647;
/** The least that --memory-limit may be, and the least that is found at start. */
export const MEMORY_LIMIT_MIN = 16_777_216;
/** Default of --json-depth-max. */
export const JSON_DEPTH_MAX_DEFAULT = 512;

/** First line and headers of an HTTP request; Node's own. uWebSockets.js alone would take 4 KiB. */
export const HTTP_HEAD_BYTES_MAX = 16_384;
/** A connection on which no request is under way is closed after so long, where
 * --http-idle-seconds does not say otherwise (uWebSockets.js has 10 seconds, compiled in). */
export const HTTP_IDLE_MS = 60_000;
/** A connection that has sent no request yet is closed after so long at most. */
export const HTTP_SILENT_MS = 10_000;
export const HTTP_IDLE_SECONDS_MAX = 86_400;
/** A body or an answer of which nothing moved for so long is given up. */
export const HTTP_STALLED_MS = 600_000;

/** A file given to --config. */
export const CONFIG_FILE_BYTES_MAX = 1_048_576;
/** Lines of --api-key-file: a request that needs a key is compared with all of them. */
export const ACCESS_KEYS_MAX = 1000;
/** Credentials that a thread remembers to have let in to one kind of call (the engine's gRPC
 * listener: to all), and how long one may be for that: others are hashed each time. */
export const ACCEPTED_KEYS_MAX = 128;
export const ACCEPTED_KEY_CHARS_MAX = 256;
/** Of what a line of the access log quotes: a path or name, and the reason of a refusal; the
 * engine's own lines count bytes. */
export const ACCESS_NAME_CHARS_MAX = 256;
export const ACCESS_REASON_CHARS_MAX = 1024;
/** How often --api-key-file is looked at for changes. */
export const ACCESS_LOOK_MS = 1000;
/** Of the admin address: operators and scrapers are few. */
export const ADMIN_CONNECTIONS_MAX = 256;
/** What --drain-seconds may be overrun by, for listeners to close their connections. */
export const DRAIN_GRACE_MS = 500;
/** Runs of warm-up requests of one version, and how long they go on: no more begin then. */
export const WARMUP_RUNS_MAX = 10_000;
export const WARMUP_MS_MAX = 60_000;
/** A warm-up, the run under way too, that takes longer than this fails the load. */
export const WARMUP_END_MS = 600_000;
/** Connections of one listener; fewer where the process may open fewer files. */
export const CONNECTIONS_MAX = 1_000_000;
/** Of the files that the process may open, those that are not for connections: models, logs,
 * threads' own. */
export const DESCRIPTORS_KEPT = 96;
/** A gRPC client that has not said its HTTP/2 preface and settings by then is cut. */
export const HANDSHAKE_MS_MAX = 10_000;
/** Between two log lines about too many connections. */
export const FULL_LOG_EVERY_MS = 60_000;
/** Between two about TLS handshakes that failed. */
export const HANDSHAKE_LOG_EVERY_MS = 10_000;
/** A request of which a part has come may send the rest for so long once a drain has begun. */
export const DRAIN_BODY_MS = 1000;
/** Log lines that may wait for a slow reader of stderr; what comes then is lost. */
export const LOG_BACKLOG_BYTES_MAX = 16_777_216;
/** Listener threads on one port. */
export const HTTP_THREADS_MAX = 256;
/** Threads of the gRPC listener. */
export const GRPC_THREADS_MAX = 256;
/** Native threads of one model, and threads inside one model run. */
export const MODEL_THREADS_MAX = 1024;

/** Regions of shared memory that clients may have registered: each keeps a file open. */
export const SHARED_REGIONS_MAX = 1024;

/** A model's name in UTF-8; native/base/limits.h kNameBytesMax. */
export const MODEL_NAME_BYTES_MAX = 4096;
/** Models in all repositories together. */
export const MODELS_MAX = 100_000;
/** Version folders of one model. */
export const VERSIONS_MAX = 10_000;
/** Versions are int64, as TensorFlow Serving has them. */
export const VERSION_MAX = 9_223_372_036_854_775_807n;
/** Models in one answer of GET /v1/models and GET /v2/models. */
export const MODEL_LIST_MAX = 1000;
/** Models that the OpenAPI document describes; another one is asked for by name. */
export const OPENAPI_MODELS_MAX = 1000;
/** Versions in state END that a model's status keeps showing (failed or unloaded). */
export const ENDED_VERSIONS_MAX = 16;
/** Models that load at the same time. */
export const LOADS_AT_ONCE = 4;
/** Models that load, unload or wait for it make a burst from this number on. */
export const BURST_MODELS = 16;
/** Of a burst one snapshot is published every so often: this long after the last one, or
 * this many times what that took (so that publishing takes a tenth of the time at most, however
 * many models there are), but not longer than the maximum. */
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

/** Characters of one logged value; the rest is cut with a mark. */
export const LOG_VALUE_CHARS_MAX = 2048;
/** Elements that a printed sample request may have in all its inputs together. */
export const SAMPLE_ELEMENTS_MAX = 256;
/** Elements of a request that is written to a file for the lines that `serval serve` prints. */
export const REQUEST_FILE_ELEMENTS_MAX = 524_288;
/** Of a picture that `serval predict` decodes. */
export const PICTURE_PIXELS_MAX = 100_000_000;
/** Of `serval bench`: connections of one of its threads, and how long one may take to be made. */
export const BENCH_CONNECTIONS_MAX = 1024;
export const BENCH_CONNECT_MS = 10_000;
/** Requests under way at the same time, requests a second, and threads that send them. */
export const BENCH_CONCURRENCY_MAX = 16_384;
export const BENCH_RATE_MAX = 10_000_000;
export const BENCH_THREADS_MAX = 64;
/** A call that is no part of a measurement; the first run of a large model takes long. */
export const BENCH_CALL_MS = 120_000;
/** What is kept of the ready line of the server that it starts. */
export const BENCH_LINE_CHARS_MAX = 1_048_576;
/** One request of it, or an answer. */
export const BENCH_REQUEST_BYTES_MAX = 1_073_741_824;
/** Elements of one that are values of JavaScript on their way: drawn, or written as JSON. */
export const BENCH_ELEMENTS_MAX = 16_777_216;
/** Points of one report, and how long one of them may go on. */
export const BENCH_POINTS_MAX = 1000;
export const BENCH_SECONDS_MAX = 3600;
/** Files beside a model's versions that --tune links to. */
export const BENCH_LINKS_MAX = 1000;
/** Models that such lines are printed of. */
export const TRY_MODELS_MAX = 8;

/** What a compressed REST body, or gRPC message, may unpack to; TensorFlow Serving's own limit. */
export const INFLATED_BYTES_MAX = 104_857_600;

/** Blocks of a TensorFlow checkpoint's index, unpacked, together; also the list of tensors in a
 * version 1 file. 100,000 variables take about 10 MB. */
export const CHECKPOINT_INDEX_BYTES_MAX = 67_108_864;
/** One unpacked block of a version 1 checkpoint: a protobuf message, which is less than 2 GiB, and
 * the block's other entries. */
export const CHECKPOINT_BLOCK_BYTES_MAX = 2_214_592_512;
/** Entries of one checkpoint file's table or block: tensors and slices. */
export const CHECKPOINT_ENTRIES_MAX = 1_048_576;
/** A key of a checkpoint table: a tensor's name, or name and slice. */
export const CHECKPOINT_KEY_BYTES_MAX = 65_536;
/** All keys of a table or block: prefix compression makes long ones of few bytes. */
export const CHECKPOINT_KEYS_BYTES_MAX = 268_435_456;
/** Data files of a version 2 checkpoint, and files of a version 1 one. */
export const CHECKPOINT_SHARDS_MAX = 100_000;
/** Slices that one tensor is stored in; each is compared with others to find overlaps. */
export const CHECKPOINT_SLICES_MAX = 16_384;
/** Elements of one string tensor: each is an object in memory. */
export const CHECKPOINT_STRINGS_MAX = 16_777_216;
/** Nodes of a boosted trees estimator's ensemble. */
export const TREE_NODES_MAX = 4_194_304;
/** A tensor's rank; TensorFlow's own limit. */
export const TENSORFLOW_RANK_MAX = 254;

/** The metadata file of one stage of a Spark model: its parameters; stop words are some. */
export const SPARK_METADATA_BYTES_MAX = 67_108_864;
/** Pipelines inside one another. */
export const SPARK_NESTING_MAX = 32;
/** Stages of one Spark model, those of nested pipelines each. */
export const SPARK_STAGES_MAX = 100_000;
/** Rows of one table of a Spark model: nodes of a forest, words of a vocabulary, users. */
export const SPARK_TABLE_ROWS_MAX = 50_000_000;
/** One page of a parquet file, unpacked. Writers' own limit is 1 MiB, and a row is never split. */
export const PARQUET_PAGE_BYTES_MAX = 1_073_741_824;

/** One import of a model into ONNX: how long it may take, and its worker's JavaScript heap. */
export const IMPORT_MS_MAX = 300_000;
export const IMPORT_HEAP_MB_MAX = 4096;
export const IMPORT_YOUNG_HEAP_MB = 24;

/** An XML file (PMML), and in it: elements inside each other, attributes of one element, characters
 * of one attribute, of one tag or comment, and of one element's text. */
export const XML_FILE_BYTES_MAX = 4_294_967_296;
export const XML_DEPTH_MAX = 4096;
export const XML_ATTRIBUTES_MAX = 256;
export const XML_ATTRIBUTE_CHARS_MAX = 1_048_576;
export const XML_TOKEN_CHARS_MAX = 67_108_864;
export const XML_TEXT_CHARS_MAX = 268_435_456;

/** Files of one tabular model, be it a folder or an archive. */
export const MODEL_FILES_MAX = 100_000;
/** One of them, unpacked. */
export const MODEL_FILE_BYTES_MAX = 2_147_483_647;
/** All files of an archive, unpacked. */
export const ARCHIVE_BYTES_MAX = 4_294_967_296;
/** Folders above a file. */
export const MODEL_FILE_DEPTH_MAX = 64;
/** A file's path inside the model, in characters. */
export const MODEL_FILE_NAME_CHARS_MAX = 4096;
/** What is more than this when unpacked, be it a file or the archive, may be so many times its
 * packed size. Real models stay below 50; deflate's own limit is 1,032. */
export const ARCHIVE_RATIO_FROM_BYTES = 16_777_216;
export const ARCHIVE_RATIO_MAX = 200;
/** A tabular model's schema file. */
export const SCHEMA_BYTES_MAX = 16_777_216;

/** A LeapFrame or CSV body: it is read in JavaScript, on the listener's thread. */
export const FRAME_BODY_BYTES_MAX = 33_554_432;
/** Lists in lists of one. */
export const FRAME_DEPTH_MAX = 64;
/** Values that all sparse tensors of a LeapFrame have when they are dense. */
export const FRAME_SPARSE_VALUES_MAX = 4_194_304;

/** Traces that wait for a file to be written. */
export const TRACES_WAITING_MAX = 65_536;
/** Between two warnings that traces are dropped. */
export const TRACE_WARN_EVERY_MS = 60_000;
/** What a server that stops waits for a collector. */
export const TRACE_FLUSH_MS = 3000;
/** How often logged requests are taken from the engine and written. */
export const REQUEST_LOG_TAKE_MS = 200;
/** A request log that could not be written is tried again after this. */
export const REQUEST_LOG_RETRY_MS = 5000;

/** Lists inside each other in what loadModel().infer() is given. */
export const LIBRARY_RANK_MAX = 64;
/** A load that takes longer is told in the log, and again after at most this. */
export const LOAD_TOLD_AFTER_MS = 1000;
export const LOAD_TOLD_EVERY_MS_MAX = 30_000;
/** On a terminal: when a load is first shown, and how often it is drawn anew. */
export const LOAD_LINE_AFTER_MS = 300;
export const LOAD_LINE_EVERY_MS = 250;
/** Files whose sizes are added up for that. */
export const LOAD_SIZE_ENTRIES_MAX = 4096;
