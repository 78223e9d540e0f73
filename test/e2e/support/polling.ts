// Waiting for something to become true, and clients that keep asking meanwhile. Test time only.
import { RawConnection, jsonOf, requestBytes } from './raw-http.js';

/** Between two looks. */
const EVERY_MS = 10;
/** Longer than anything here takes on a busy machine; shorter than a test may. */
const LIMIT_MS = 20_000;

/** The first answer of `look` that is neither undefined nor false; rejects when there is none
 * within `limitMs`. `what` and `seen()` go into that error. */
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

/** Asks the same again and again on one connection, and keeps what came. */
export class SteadyLoad {
  answered = 0;
  /** What went wrong: status and body, or the connection's end. */
  readonly failures: string[] = [];
  /** The answers in their order, equal neighbours once; as JSON text. */
  readonly answers: string[] = [];
  private readonly ended: Promise<void>;
  private stopping = false;

  constructor(port: number, path: string, body: string) {
    this.ended = this.run(port, requestBytes('POST', path, body));
  }

  /** Settles when this many more requests were sent and answered, whatever the answers were. */
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
