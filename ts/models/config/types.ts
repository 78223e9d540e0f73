// Contents of configuration files as plain typed data: TensorFlow Serving's models.config, batching
// and monitoring files, and Triton's config.pbtxt. Types only; control plane. Field names are the
// files' own (Triton's JSON form is the same object with the same names: TritonConfig is what GET
// config returns and what a load with a config override accepts).
import type { VersionPolicy } from '../../model/version-policy.js';
import type { ConfigProblem } from '../../protobuf/problem.js';

/** One `config` entry of models.config that can be served. */
export interface ModelEntry {
  readonly name: string;
  /** Absolute path, without a "file://" prefix. */
  readonly basePath: string;
  /** The written value; "" when absent (checked against the known names). */
  readonly platform: string;
  readonly versionPolicy: VersionPolicy;
  readonly labels: Readonly<Record<string, string>>;
  /** Absent: this file does not configure request logging for the model. */
  readonly logging?: LoggingConfig;
  readonly place: string;
}

/** logging_config: PredictionLog records in TFRecord files. */
export interface LoggingConfig {
  /** Absolute path prefix; log file names are this prefix plus a suffix. */
  readonly filenamePrefix: string;
  /** 0 .. 1. */
  readonly samplingRate: number;
}

/**
 * models.config. Entries with a problem are left out and reported; a file that is not a text proto
 * is one problem and no entries.
 */
export interface ModelServerConfig {
  readonly models: readonly ModelEntry[];
  readonly problems: readonly ConfigProblem[];
}

export interface MonitoringConfig {
  readonly enabled: boolean;
  /** Starts with "/". */
  readonly path: string;
}

/**
 * inference.ModelConfig as Triton's JSON has it: proto field names, enums by name, int64 as numbers
 * if they fit, maps as objects. Only members that are set or completed are present; the schema
 * (proto/wire/model_config.proto) checked every one.
 */
export type TritonConfig = Readonly<Record<string, unknown>> & { readonly name?: string };
