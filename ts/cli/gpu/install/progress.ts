// Progress of `serval gpu install`: one line that is rewritten on a terminal, else a line for each
// package. Control plane; pure except for its stream.

export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const EVERY_MS = 100;

export class Progress {
  readonly #out: Output;
  readonly #now: () => number;
  #began = 0;
  #beganBytes = -1;
  #toldAt = 0;
  #width = 0;

  constructor(out: Output, now: () => number = Date.now) {
    this.#out = out;
    this.#now = now;
  }

  /** Prints a permanent line. */
  say(line: string): void {
    this.clear();
    this.#out.write(`${line}\n`);
  }

  /** Begins a new package. */
  start(): void {
    this.#began = this.#now();
    this.#beganBytes = -1;
    this.#toldAt = 0;
  }

  /** Bytes of one package downloaded so far, and in total. */
  at(name: string, bytes: number, all: number): void {
    if (this.#out.isTTY !== true) return;
    if (this.#beganBytes < 0) this.#beganBytes = bytes;
    const now = this.#now();
    if (now - this.#toldAt < EVERY_MS && bytes < all) return;
    this.#toldAt = now;
    const seconds = (now - this.#began) / 1000;
    const speed = seconds > 0 ? (bytes - this.#beganBytes) / seconds : 0;
    this.#show(progressLine(name, bytes, all, speed));
  }

  /** Draws the temporary line. */
  show(line: string): void {
    if (this.#out.isTTY === true) this.#show(line);
  }

  clear(): void {
    if (this.#width > 0) this.#out.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }

  #show(line: string): void {
    const text = line.slice(0, Math.max(20, (this.#out.columns ?? 80) - 1));
    this.#out.write(`\r${text.padEnd(this.#width)}`);
    this.#width = text.length;
  }
}

/** "nvidia-cublas   42%  178.1 of 423.1 MB  55.2 MB/s  4 s left" */
export function progressLine(name: string, bytes: number, all: number, speed: number): string {
  const percent = String(Math.floor((bytes / all) * 100)).padStart(3);
  const left = speed > 0 ? `  ${Math.ceil((all - bytes) / speed)} s left` : '';
  const rate = speed > 0 ? `  ${megabytes(speed)} MB/s` : '';
  return `${name}  ${percent}%  ${megabytes(bytes)} of ${megabytes(all)} MB${rate}${left}`;
}

export const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
