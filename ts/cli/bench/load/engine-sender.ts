// Sends requests to a model in this process through the library's infer(): no transport. The load's
// thread, which runs small models itself, as a listener's does.
import { ErrorCode } from '../../../base/errors.js';
import { keptAlive, openModel, type OpenModel } from '../../../library/open-model.js';
import { V2_REST } from '../../../model/request-kinds.js';
import type { CompletionTarget } from '../../../engine/link.js';
import { failure } from '../../../engine/missing.js';
import type { EngineTarget, LoadRequest, OnAnswer, Sender } from './sender.js';

export class EngineSender implements Sender {
  onAnswer: OnAnswer = () => undefined;
  onFree: () => void = () => undefined;
  readonly #open: OpenModel;
  readonly #alive = keptAlive();
  #body = new ArrayBuffer(0);
  #jsonBytes = -1;
  #heard = 0;

  private constructor(open: OpenModel) {
    this.#open = open;
  }

  /** Errors: those of loadModel(). */
  static async load({ path, choice, settings }: EngineTarget): Promise<EngineSender> {
    return new EngineSender(await openModel(path, choice, settings));
  }

  prepare({ body, jsonBytes }: LoadRequest): Promise<void> {
    this.#body = new Uint8Array(body).buffer;
    this.#jsonBytes = jsonBytes;
    return Promise.resolve();
  }

  free(): boolean {
    return true;
  }

  send(begun: number): void {
    const { engine, loaded } = this.#open;
    const call = new Call(begun, this, this.#heard);
    engine.link.infer(V2_REST, loaded.handle, this.#body, this.#jsonBytes, call);
  }

  /** Handles the end of a call begun when the `heard` generation was current. */
  answered(begun: number, heard: number, error: string | undefined): void {
    if (heard === this.#heard) this.onAnswer(begun, error);
  }

  cut(): void {
    this.#heard += 1;
  }

  async close(): Promise<void> {
    const { engine, loaded } = this.#open;
    try {
      await engine.control.unload(loaded.handle);
    } finally {
      clearInterval(this.#alive);
      engine.close();
    }
  }
}

class Call implements CompletionTarget {
  ticket = 0;

  constructor(
    private readonly begun: number,
    private readonly sender: EngineSender,
    private readonly heard: number,
  ) {}

  complete(code: number, body: Buffer, jsonBytes: number): void {
    const isError = code !== ErrorCode.Ok;
    const error = isError ? failure(code, body, jsonBytes).message : undefined;
    this.sender.answered(this.begun, this.heard, error);
  }
}
