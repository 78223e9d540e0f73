// Waiting for a condition, and clients that send requests meanwhile. Test time only.
import { RawConnection, jsonOf, requestBytes } from './raw-http.js';

/** The time between two checks. */
const EVERY_MS = 10;
/** Longer than anything here takes on a busy machine, but shorter than a test's limit. */
const LIMIT_MS = 20_000;

/**
 * Returns the first result of `look` other than undefined and false; rejects if there is none
 * within `limitMs`. `what` and `seen()` are part of that error.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  seen: () => unknown = () => '',
  limitMs = LIMIT_MS,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    const answer = await look();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`too late: ${what}; ${String(seen())}`);
    await new Promise((resolve) => {
      setTimeout(resolve, EVERY_MS);
    });
  }
}

/** Repeats a request on one connection, and keeps the responses. */
export class SteadyLoad {
  answered = 0;
  /** Failures: status and body, or the connection's end. */
  readonly failures: string[] = [];
  /** The responses in their order, without equal neighbours; as JSON text. */
  readonly answers: string[] = [];
  private readonly ended: Promise<void>;
  private stopping = false;

  constructor(port: number, path: string, body: string) {
    this.ended = this.run(port, requestBytes('POST', path, body));
  }

  /** Settles when `count` more requests were sent and answered, whatever the responses were. */
  async more(count: number): Promise<void> {
    const wanted = this.answered + count;
    await until(
      `${count} more answers`,
      () => this.answered >= wanted,
      () => this.failures.join('; '),
    );
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.ended;
  }

  private async run(port: number, request: Buffer): Promise<void> {
    try {
      const connection = await RawConnection.open(port);
      while (!this.stopping) {
        await connection.write(request);
        const response = await connection.response();
        this.answered += 1;
        if (response.status === 200) this.keep(JSON.stringify(jsonOf(response)));
        else this.failures.push(`${response.status} ${response.body.toString()}`);
      }
      connection.close();
    } catch (error) {
      this.failures.push(String(error));
    }
  }

  private keep(answer: string): void {
    if (this.answers.at(-1) !== answer) this.answers.push(answer);
  }
}
