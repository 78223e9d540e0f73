// Spark models in memory, for the tests of ts/importers/spark: the files that PipelineModel.save
// writes.
import type { ModelFiles } from '../../../../../ts/importers/spark/read/folder.js';
import { type Codec, parquet, type Row, type Shape } from './parquet.js';

export interface StageSketch {
  /** "feature.StringIndexerModel", or with dots to a class outside Spark. */
  readonly class: string;
  readonly uid: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** More members of the metadata: numClasses, ... */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly version?: string;
  readonly tables?: Readonly<Record<string, TableSketch>>;
  /** Stages in folders below this one: bestModel, model_0. */
  readonly children?: Readonly<Record<string, StageSketch>>;
  /** The stages of a pipeline. */
  readonly stages?: readonly StageSketch[];
}

export interface TableSketch {
  readonly columns: Readonly<Record<string, Shape>>;
  readonly rows: readonly Row[];
  readonly codec?: Codec;
  /** The number of files. */
  readonly parts?: number;
}

export function pipeline(...stages: readonly StageSketch[]): StageSketch {
  return { class: 'PipelineModel', uid: 'PipelineModel_0', stages };
}

/** The files of a model. */
export function modelFiles(stage: StageSketch): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  write(stage, '', files);
  return files;
}

export function openFiles(files: ReadonlyMap<string, Uint8Array>): ModelFiles {
  const get = (name: string): Uint8Array => {
    const bytes = files.get(name);
    if (bytes === undefined) throw new Error(`no file ${name}`);
    return bytes;
  };
  return {
    names: [...files.keys()],
    read: (name) => Promise.resolve(get(name)),
    size: (name) => get(name).length,
  };
}

function write(stage: StageSketch, prefix: string, files: Map<string, Uint8Array>): void {
  const { stages = [], tables = {}, children = {}, params = {}, defaults = {} } = stage;
  const known = /^(?:feature|classification|regression|clustering|recommendation|tuning|fpm)\./;
  const spark = known.test(stage.class) || !stage.class.includes('.');
  const metadata = {
    class: spark ? `org.apache.spark.ml.${stage.class}` : stage.class,
    timestamp: 1_700_000_000_000,
    sparkVersion: stage.version ?? '3.5.5',
    uid: stage.uid,
    paramMap: stage.stages === undefined ? params : { stageUids: stages.map(({ uid }) => uid) },
    defaultParamMap: defaults,
    ...stage.extra,
  };
  files.set(`${prefix}metadata/part-00000`, Buffer.from(`${JSON.stringify(metadata)}\n`));
  files.set(`${prefix}metadata/_SUCCESS`, new Uint8Array(0));
  files.set(`${prefix}metadata/.part-00000.crc`, Uint8Array.of(1, 2, 3));
  for (const [name, table] of Object.entries(tables)) {
    const { columns, rows, codec = 'snappy', parts = 1 } = table;
    for (let part = 0; part < parts; part++) {
      const some = rows.filter((_, i) => i % parts === part);
      const file = `part-${String(part).padStart(5, '0')}-0a1b-c000.${codec}.parquet`;
      files.set(`${prefix}${name}/${file}`, parquet(columns, some, codec));
    }
    files.set(`${prefix}${name}/_SUCCESS`, new Uint8Array(0));
  }
  for (const [name, child] of Object.entries(children)) write(child, `${prefix}${name}/`, files);
  const width = String(stages.length).length;
  for (const [i, child] of stages.entries()) {
    write(child, `${prefix}stages/${String(i).padStart(width, '0')}_${child.uid}/`, files);
  }
}
