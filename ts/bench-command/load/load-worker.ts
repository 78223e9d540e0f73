// A thread that sends requests: what is to be sent comes by messages (sender.ts), and so does what
// became of it. The load's threads and the pacers'.
import { parentPort, workerData } from 'node:worker_threads';
import { ErrorCode, reasonOf, ServalError } from '../../errors.js';
import { EngineSender } from './engine-sender.js';
import { GrpcSender } from './grpc-sender.js';
import { HttpSender } from './http-sender.js';
import { Loop } from './loop.js';
import { pace, Pacer, type PacerData } from './pacer.js';
import type { FromLoad, LoadPlan, LoadTarget, Sender, ToLoad } from './sender.js';

export interface LoadData {
  readonly role: 'load';
  readonly target: LoadTarget;
}

/** An open loop begins with so many connections, and makes more where it needs them. */
const OPEN_FIRST = 32;
const OPEN_MOST = 1_000_000;

class LoadThread {
  readonly #target: LoadTarget;
  readonly #pacer = new Pacer(new URL(import.meta.url));
  #sender: Sender | undefined;
  #plan: LoadPlan | undefined;

  constructor(target: LoadTarget) {
    this.#target = target;
  }

  async take(message: ToLoad): Promise<FromLoad> {
    switch (message.say) {
      case 'prepare': {
        this.#sender ??= await senderFor(this.#target);
        const { plan, request } = message;
        this.#plan = plan;
        const open = plan.loop === 'open';
        if (open) await this.#pacer.start();
        const first = open ? OPEN_FIRST : plan.concurrency;
        await this.#sender.prepare(request, first, open ? OPEN_MOST : plan.concurrency);
        return { say: 'prepared' };
      }
      case 'go': {
        if (this.#sender === undefined || this.#plan === undefined) throw new TypeError('no plan');
        const loop = new Loop(this.#sender, this.#plan, this.#pacer);
        return { say: 'done', result: await loop.run(message.begins) };
      }
      case 'close':
        await this.#sender?.close();
        await this.#pacer.close();
        return { say: 'closed' };
    }
  }
}

function senderFor(target: LoadTarget): Promise<Sender> {
  switch (target.kind) {
    case 'http':
      return Promise.resolve(new HttpSender(target));
    case 'grpc':
      return Promise.resolve(new GrpcSender(target));
    case 'engine':
      return EngineSender.load(target);
  }
}

const data = workerData as LoadData | PacerData;
if (data.role === 'pacer') {
  pace(data);
} else {
  const thread = new LoadThread(data.target);
  parentPort?.on('message', (message: ToLoad) => {
    thread
      .take(message)
      .catch((error: unknown): FromLoad => {
        const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
        return { say: 'failed', code, message: reasonOf(error) };
      })
      .then((answer) => {
        parentPort?.postMessage(answer);
        if (answer.say === 'closed') parentPort?.close();
      })
      .catch((error: unknown) => {
        throw error;
      });
  });
}
