// A thread that calls the engine: it receives orders and returns results as messages (sender.ts).
// The load's threads and the pacers'.
import { parentPort, workerData } from 'node:worker_threads';
import { ErrorCode, reasonOf, ServalError } from '../../../base/errors.js';
import { EngineSender } from './engine-sender.js';
import { Loop } from './loop.js';
import { pace, Pacer, type PacerData } from './pacer.js';
import type { EngineTarget, FromLoad, LoadSchedule, Sender, ToLoad } from './sender.js';

export interface LoadData {
  readonly role: 'load';
  readonly target: EngineTarget;
}

class LoadThread {
  readonly #target: EngineTarget;
  readonly #pacer = new Pacer(new URL(import.meta.url));
  #sender: Sender | undefined;
  #schedule: LoadSchedule | undefined;

  constructor(target: EngineTarget) {
    this.#target = target;
  }

  async take(message: ToLoad): Promise<FromLoad> {
    switch (message.say) {
      case 'prepare': {
        this.#sender ??= await EngineSender.load(this.#target);
        const { schedule, request } = message;
        this.#schedule = schedule;
        if (schedule.loop === 'open') await this.#pacer.start();
        await this.#sender.prepare(request);
        return { say: 'prepared' };
      }
      case 'go': {
        if (this.#sender === undefined || this.#schedule === undefined)
          throw new TypeError('no schedule');
        const loop = new Loop(this.#sender, this.#schedule, this.#pacer);
        return { say: 'done', result: await loop.run(message.begins) };
      }
      case 'close':
        await this.#sender?.close();
        await this.#pacer.close();
        return { say: 'closed' };
    }
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
