// Runs an imported graph through Serval's own engine, as a gRPC Predict request, with the codecs
// and custom operators of a server.
import { ErrorCode, type ServalError } from '../../../../ts/base/errors.js';
import type { ImportedGraph, ImportedModel } from '../../../../ts/importers/tensorflow/imported.js';
import { encodeTensorProto } from '../../../../ts/importers/tensorflow/proto/tensor-proto-writer.js';
import { ReadContext } from '../../../../ts/importers/tensorflow/proto/read-context.js';
import { readTensor } from '../../../../ts/importers/tensorflow/proto/tensor-proto.js';
import type { Tensor } from '../../../../ts/importers/tensorflow/types.js';
import { createEngine, type Engine } from '../../../../ts/engine/engine.js';
import { PromiseTarget } from '../../../../ts/engine/promised.js';
import {
  TF_CLASSIFY,
  TF_PREDICT,
  TF_REGRESS,
  type MessageProtocol,
} from '../../../../ts/model/request-kinds.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import { WireReader } from '../../../../ts/protobuf/reader.js';
import { importedSpec } from '../../../../ts/importers/run/imported-spec.js';

/** Feeds and results by alias. Rejects if the model cannot be loaded or run. */
export type RunGraph = (
  imported: ImportedModel,
  graph: ImportedGraph,
  feeds: ReadonlyMap<string, Tensor>,
) => Promise<ReadonlyMap<string, Tensor>>;

/** One example's classes; a missing label is "", a missing score 0. */
export type Classes = readonly { readonly label: string; readonly score: number }[];

interface Loaded {
  readonly name: string;
  readonly handle: number;
}

/** Its own engine; call close(). */
export class EngineRunner {
  readonly #engine: Engine;
  readonly #loaded = new WeakMap<ImportedModel, Promise<Loaded>>();
  readonly #routes = new Map<string, number>();
  #epoch = 0;
  #names = 0;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  static async open(): Promise<EngineRunner> {
    return new EngineRunner(await createEngine({ intraOpThreads: 1 }));
  }

  close(): void {
    this.#engine.close();
  }

  /** Runs graphs; loads each model once. */
  readonly run: RunGraph = async (imported, graph, feeds) => {
    const name = await this.load(imported);
    return readOutputs(await this.#ask(TF_PREDICT, predictRequest(name, graph.signature, feeds)));
  };

  /** Classify with serialized Examples. */
  async classify(
    imported: ImportedModel,
    signature: string,
    examples: readonly Uint8Array[],
  ): Promise<Classes[]> {
    const request = examplesRequest(await this.load(imported), signature, examples);
    return readClassifications(await this.#ask(TF_CLASSIFY, request));
  }

  /** Regress with serialized Examples. */
  async regress(
    imported: ImportedModel,
    signature: string,
    examples: readonly Uint8Array[],
  ): Promise<number[]> {
    const request = examplesRequest(await this.load(imported), signature, examples);
    return readRegressions(await this.#ask(TF_REGRESS, request));
  }

  /** Loads the model if it is not loaded yet; returns its name. */
  async load(imported: ImportedModel): Promise<string> {
    const loading = this.#loaded.get(imported) ?? this.#load(imported);
    this.#loaded.set(imported, loading);
    return (await loading).name;
  }

  /** Removes a model from the engine. */
  async unload(imported: ImportedModel): Promise<void> {
    const loading = this.#loaded.get(imported);
    if (loading === undefined) return;
    this.#loaded.delete(imported);
    const loaded = await loading.catch(() => undefined);
    if (loaded === undefined) return;
    const { name, handle } = loaded;
    this.#routes.delete(name);
    this.#publish();
    await this.#engine.control.unload(handle);
  }

  async #load(imported: ImportedModel): Promise<Loaded> {
    this.#names += 1;
    const name = `model${this.#names}`;
    const spec = importedSpec({ name, version: '1', backend: 'onnxruntime' }, imported);
    const { handle } = await this.#engine.control.load(spec);
    this.#routes.set(name, handle);
    this.#publish();
    return { name, handle };
  }

  #publish(): void {
    this.#epoch += 1;
    this.#engine.control.publishRoutes(
      this.#epoch,
      [...this.#routes].map(([name, handle]) => ({
        name,
        defaultVersion: 0,
        labels: {},
        versions: [{ version: '1', handle, ready: true, reason: '' }],
      })),
    );
  }

  #ask(protocol: MessageProtocol, message: Buffer): Promise<Buffer> {
    const target = new PromiseTarget((answer) => answer);
    this.#engine.link.inferMessage(message, protocol, 0, target);
    return target.promise.catch(({ code, message: text }: ServalError) => {
      throw new Error(`${ErrorCode[code]}: ${text}`);
    });
  }
}

function predictRequest(
  name: string,
  signature: string,
  feeds: ReadonlyMap<string, Tensor>,
): Buffer {
  const out = new ProtobufWriter();
  out.message(1, (spec) => spec.string(1, name).string(3, signature));
  for (const [alias, tensor] of feeds) {
    out.message(2, (entry) => entry.string(1, alias).bytes(2, encodeTensorProto(tensor)));
  }
  return Buffer.from(out.concat());
}

/** ClassificationRequest and RegressionRequest have the same form. */
function examplesRequest(name: string, signature: string, examples: readonly Uint8Array[]): Buffer {
  const out = new ProtobufWriter();
  out.message(1, (spec) => spec.string(1, name).string(3, signature));
  out.message(2, (input) =>
    input.message(1, (list) => {
      for (const example of examples) list.bytes(1, example);
    }),
  );
  return Buffer.from(out.concat());
}

/** The results of `read` for every field `number` of a message. */
function fieldsOf<T>(reader: WireReader, number: number, read: (reader: WireReader) => T): T[] {
  const found: T[] = [];
  while (reader.next()) {
    if (reader.field === number) found.push(read(reader));
    else reader.skip();
  }
  return found;
}

function readClassifications(message: Buffer): Classes[] {
  const reader = new WireReader(message, 'ClassificationResponse');
  return fieldsOf(reader, 1, (response) =>
    fieldsOf(response.nested('result'), 1, (result) =>
      fieldsOf(result.nested('classifications'), 1, (one) => readClass(one.nested('classes'))),
    ),
  ).flat();
}

function floatOf(reader: WireReader): number {
  const bytes = reader.fixed(4);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat32(0, true);
}

function readClass(reader: WireReader): Classes[number] {
  let label = '';
  let score = 0;
  while (reader.next()) {
    if (reader.field === 1) label = reader.string();
    else if (reader.field === 2) score = floatOf(reader);
    else reader.skip();
  }
  return { label, score };
}

function readRegressions(message: Buffer): number[] {
  const reader = new WireReader(message, 'RegressionResponse');
  return fieldsOf(reader, 1, (response) =>
    fieldsOf(
      response.nested('result'),
      1,
      (result) =>
        // proto3 omits 0.
        fieldsOf(result.nested('regressions'), 1, floatOf)[0] ?? 0,
    ),
  ).flat();
}

function readOutputs(message: Buffer): Map<string, Tensor> {
  const outputs = new Map<string, Tensor>();
  const reader = new WireReader(message, 'PredictResponse');
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const entry = reader.nested('output');
    let alias = '';
    let tensor: Tensor | undefined;
    while (entry.next()) {
      if (entry.field === 1) alias = entry.string();
      else if (entry.field === 2) tensor = readTensor(entry.nested('value'), new ReadContext());
      else entry.skip();
    }
    if (tensor !== undefined) outputs.set(alias, tensor);
  }
  return outputs;
}
