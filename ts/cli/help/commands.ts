// The table of commands, from which `serval help`, the pages of each command, shell completion and
// the manual page are made, and the flags of commands other than `serve`. Control plane; data only.
// The flags of `serve` are in ts/config/flags.ts.
import { SERVE_FLAGS } from '../../config/flags.js';
import type { FlagRow } from '../../config/values/flag-row.js';
import { BENCH_FLAGS } from '../bench/flags.js';
import { COMPILE_FLAGS } from '../compile/flags.js';
import { CHECK_FLAGS, IMPORT_FLAGS, INSPECT_FLAGS } from '../model-flags.js';
import { DOCTOR_FLAGS, GPU_FLAGS } from '../gpu/flags.js';
import { PREDICT_FLAGS } from '../predict/flags.js';
import { TYPES_FLAGS } from '../types/flags.js';

export interface Example {
  readonly line: string;
  readonly what: string;
}

interface Described {
  /** The arguments after the name in the usage line. */
  readonly takes: string;
  /** One line. */
  readonly summary: string;
  /** Sentences of its page. */
  readonly about: string;
  readonly flags: readonly FlagRow[];
  /** Flags shown on the short page; the long one has all. Default: all. */
  readonly common?: readonly string[];
  readonly examples: readonly Example[];
  /**
   * Completion of plain arguments: paths, the commands' names, some of these words, or one of the
   * words `first` and then folders.
   */
  readonly completes:
    | 'paths'
    | 'commands'
    | readonly string[]
    | { readonly first: readonly string[]; readonly then: 'folders' };
}

export interface CommandRow extends Described {
  readonly name: CommandName;
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

const SERVE: Described = {
  takes: '[PATH ...] [flags]',
  summary: 'serve models over REST and gRPC',
  about:
    'A PATH is a model file (x.onnx, x.pb, x.pmml, an archive), a model folder, or a repository of ' +
    '<name>/<version>/model.onnx; several may be given. The commands printed at start can be pasted. ' +
    'SIGTERM drains, SIGHUP reloads the models.',
  flags: SERVE_FLAGS.filter((row) => row.positional !== true),
  common: [
    ...['model-repository', 'model-base-path', 'model-config-file', 'model-control-mode'],
    ...['host', 'http-port', 'grpc-port', 'tls-cert', 'tls-key', 'api-key-file'],
    ...['access-log', 'log-format', 'memory-limit', 'drain-seconds', 'config'],
  ],
  examples: [
    { line: 'serval serve model.onnx', what: 'one model, named after its file' },
    { line: 'serval serve /models', what: 'all models of a repository' },
    {
      line: 'serval serve --model-name half --model-base-path /models/half',
      what: 'as TensorFlow Serving does: the newest version, including later ones',
    },
    {
      line: 'serval serve --model-repository /models --model-control-mode explicit --load-model m',
      what: 'as Triton does: models are loaded by the repository API',
    },
    { line: 'serval serve --config serval.yaml --http-port 0', what: 'settings from a file' },
  ],
  completes: 'paths',
};

const PREDICT: Described = {
  takes: 'PATH|URL [--input NAME=VALUE | --random]',
  summary: 'call a model once, without a server or at its URL',
  about:
    'A PATH is loaded and run in this process; a URL is http://HOST:PORT/v2/models/NAME (or /v1), ' +
    'or the same with grpc://HOST:PORT; https and grpcs use TLS. ' +
    'VALUE is JSON, text for an input of BYTES, @file.json, @file.npy, @photo.png (or .jpg) for ' +
    'pixels, @photo.png?scale=1/255&resize=224x224, or @file for BYTES; ' +
    '--input @file.json has all inputs. --random fills inputs that are not given.',
  flags: PREDICT_FLAGS,
  common: [
    ...['input', 'random', 'batch', 'seed', 'output', 'json'],
    ...['model', 'model-version', 'signature', 'header'],
  ],
  examples: [
    { line: "serval predict model.onnx --input 'x=[1, 2, 5]'", what: 'without a server' },
    { line: 'serval predict /models --model m --random --batch 2', what: 'random values' },
    {
      line: 'serval predict http://localhost:8000/v2/models/m --input x=@x.npy --json',
      what: 'at a server, as JSON',
    },
    {
      line: 'serval predict grpc://localhost:8001/v2/models/m --random',
      what: "over gRPC; TensorFlow's API if the server has no V2",
    },
  ],
  completes: 'paths',
};

const BENCH: Described = {
  takes: 'PATH|URL [flags]',
  summary: 'measure how fast a model responds, alone and through each protocol',
  about:
    'For a PATH, a server is started on free ports; a URL is http:// or ' +
    "grpc://HOST:PORT/v2/models/NAME, or /v1/models/NAME by TensorFlow Serving's APIs. Closed " +
    'loops keep a number of requests in flight, open loops send requests at a fixed rate, ' +
    'and their latencies count from when a request was due. Inputs are random unless --input ' +
    'gives them.',
  flags: BENCH_FLAGS,
  common: [
    ...['paths', 'concurrency', 'rate', 'batch', 'seconds', 'input', 'shape', 'json', 'html'],
    ...['tune', 'latency-bound', 'tune-seconds', 'config-out'],
    ...['model', 'header', 'load-threads', 'instances', 'intra-op-threads'],
  ],
  examples: [
    { line: 'serval bench model.onnx', what: 'the engine alone, REST and gRPC' },
    { line: 'serval bench model.onnx --batch 1,8,32 --concurrency 1,8', what: 'sweeps' },
    {
      line: 'serval bench model.onnx --paths grpc --rate 500,1000,2000',
      what: 'latency at these rates',
    },
    {
      line: 'serval bench http://localhost:8000/v2/models/m --json report.json',
      what: 'a running server, as JSON',
    },
    {
      line: 'serval bench http://localhost:8501/v1/models/m',
      what: 'a TensorFlow Serving',
    },
    {
      line: 'serval bench model.onnx --tune --latency-bound 20ms --html tune.html',
      what: 'search for the best config.pbtxt',
    },
  ],
  completes: 'paths',
};

const INSPECT: Described = {
  takes: 'PATH [--json]',
  summary: "show a model's inputs and outputs",
  about:
    'For one model: inputs, outputs, shapes, size, opset, producer; for a TensorFlow model its tags, ' +
    'signatures and operators; for a Spark, MLeap or PMML model its fields, outputs and stages. For a ' +
    'folder of several models: a line each. Sizes include data outside of the model file.',
  flags: INSPECT_FLAGS,
  examples: [
    { line: 'serval inspect model.onnx', what: 'inputs, outputs, types, shapes' },
    { line: 'serval inspect /models', what: 'one line per model' },
    { line: 'serval inspect saved_model --json', what: 'as JSON' },
  ],
  completes: 'paths',
};

const CHECK: Described = {
  takes: '[PATH ...] [flags of serve] [--json]',
  summary: 'load every model once and report which ones fail',
  about:
    'A dry run of `serve` with the same arguments: loads, imports and warms up every version that it ' +
    'would serve, one at a time, and opens no port. The exit code is 0 if such a server would be ' +
    'ready, 1 if a model fails or a place of models has a fault.',
  flags: CHECK_FLAGS,
  examples: [
    { line: 'serval check /models', what: 'a line per version, with the reason of each failure' },
    { line: 'serval check --model-config-file models.config --json', what: 'as JSON' },
  ],
  completes: 'paths',
};

const IMPORT: Described = {
  takes: 'PATH --out FILE',
  summary: 'write a TensorFlow model as ONNX, others as their plan',
  about:
    'Does on disk what `serve` does in memory when it loads such a model. A signature that cannot be ' +
    'written is named on stderr, and the exit code is 1.',
  flags: IMPORT_FLAGS,
  examples: [
    { line: 'serval import saved_model --out model.onnx', what: 'one file per signature' },
    { line: 'serval import iris.pmml --out iris.plan', what: 'the plan of a tabular model' },
  ],
  completes: 'paths',
};

const COMPILE: Described = {
  takes: 'PATH --out DIR',
  summary: 'write a model of any format for libserval.so and Python',
  about:
    'Imports the model as `serve` does and writes the result with everything it needs to a new ' +
    "folder, which serval_open() of the C library and Python's serval.load() read without Node. " +
    'The model is loaded once, and its verification records are run, before the folder appears.',
  flags: COMPILE_FLAGS,
  common: ['out', 'model', 'model-version', 'signature', 'saved-model-tags', 'model-cache'],
  examples: [
    { line: 'serval compile saved_model --out compiled', what: 'a SavedModel' },
    { line: 'serval compile /models --model iris --out iris', what: 'one model of a repository' },
  ],
  completes: 'paths',
};

const TYPES: Described = {
  takes: 'URL [MODEL ...]',
  summary: "print TypeScript types of a server's models",
  about:
    'The types check the names, datatypes and outputs of calls with the clients of serval/client. ' +
    'The URL is http://HOST:PORT or grpc://HOST:PORT (https and grpcs use TLS) of any server of V2. ' +
    'Default: all models that are ready.',
  flags: TYPES_FLAGS,
  examples: [
    { line: 'serval types http://localhost:8000 > models.d.ts', what: 'all models' },
    { line: 'serval types grpc://localhost:8001 iris', what: 'one model, over gRPC' },
  ],
  completes: [],
};

const GPU: Described = {
  takes: 'adopt DIR | install [flags]',
  summary: "use or download NVIDIA's libraries and ONNX Runtime for GPUs",
  about:
    '`adopt` links to the CUDA libraries that DIR already has: a Python environment (site-packages, ' +
    "as torch's packages bring them), a conda environment or CUDA itself. Only ONNX Runtime for " +
    'GPUs is downloaded, if DIR and --onnxruntime do not have it. Libraries that ONNX Runtime ' +
    'cannot use are listed and refused. `install` downloads 1.4 GB ' +
    "from the package index of pip's configuration, else PyPI, verifies the hashes " +
    'and extracts only the libraries. Installed files are kept; interrupted downloads resume.',
  flags: GPU_FLAGS,
  examples: [
    { line: 'serval gpu adopt /opt/venv', what: 'the libraries of a Python environment' },
    { line: 'serval gpu adopt "$CONDA_PREFIX" --dry-run', what: 'only report what is there' },
    {
      line: 'serval gpu adopt /opt/venv --onnxruntime onnxruntime_gpu.whl',
      what: 'without a network',
    },
    { line: 'serval gpu install', what: 'download all, to where servers find it' },
    { line: 'serval gpu install --tensorrt --to /opt/serval-gpu', what: 'with TensorRT 10' },
  ],
  completes: { first: ['adopt', 'install'], then: 'folders' },
};

const DOCTOR: Described = {
  takes: '[--json]',
  summary: 'check whether this machine can run models on GPUs',
  about:
    'Prints the driver, its devices, each library found or missing, the providers that load, and a ' +
    'verdict. The exit code is 0 if models can run on a GPU, 1 if they run on the CPU.',
  flags: DOCTOR_FLAGS,
  examples: [{ line: 'serval doctor', what: 'what is present, what is missing, what to do' }],
  completes: [],
};

const KEY: Described = {
  takes: 'NAME GROUP[,GROUP...]',
  summary: 'make an API key',
  about:
    'Its line for --api-key-file goes to stdout; the key itself, which is not stored, to stderr.',
  flags: [],
  examples: [
    { line: 'serval key alice inference,metadata >> keys', what: 'a key that may call models' },
  ],
  completes: [],
};

const COMPLETION: Described = {
  takes: 'bash|zsh|fish',
  summary: 'print a completion script for a shell',
  about: 'It completes commands, flags, values and paths, without running serval.',
  flags: [],
  examples: [
    { line: 'source <(serval completion bash)', what: 'now; in ~/.bashrc: always' },
    {
      line: 'serval completion zsh > "${fpath[1]}/_serval"',
      what: 'a folder of $fpath; then start a new shell',
    },
    {
      line: 'serval completion fish > ~/.config/fish/completions/serval.fish',
      what: 'for fish',
    },
  ],
  completes: SHELLS,
};

const VERSION: Described = {
  takes: '',
  summary: 'show the version; also -v and --version, anywhere',
  about: 'Prints "serval" and its version.',
  flags: [],
  examples: [{ line: 'serval version', what: 'or serval -v' }],
  completes: [],
};

const HELP: Described = {
  takes: '[COMMAND] [all]',
  summary: 'show this text, or the page of a command; also -h and --help',
  about: 'With "all": every setting of the command (serval serve --help all).',
  flags: [],
  examples: [
    { line: 'serval help serve', what: 'the most used settings' },
    { line: 'serval serve --help all', what: 'every setting, in groups' },
  ],
  completes: 'commands',
};

/** In the order of the overview. ts/main.ts runs each of these. */
const TABLE = {
  serve: SERVE,
  predict: PREDICT,
  bench: BENCH,
  inspect: INSPECT,
  check: CHECK,
  import: IMPORT,
  compile: COMPILE,
  types: TYPES,
  gpu: GPU,
  doctor: DOCTOR,
  key: KEY,
  completion: COMPLETION,
  version: VERSION,
  help: HELP,
} as const;

export type CommandName = keyof typeof TABLE;

export const COMMANDS: readonly CommandRow[] = Object.entries(TABLE).map(([name, row]) => ({
  name: name as CommandName,
  ...row,
}));

export function findCommand(name: string): CommandRow | undefined {
  return COMMANDS.find((row) => row.name === name);
}
