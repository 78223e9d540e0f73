// `serval bench --tune`: searches for the settings under which a model returns the most rows per
// second with p99 within a bound. Climbs setting by setting, abandons hopeless trials early, keeps
// to a time budget, and measures the winner against the defaults once more. Control plane; main
// thread. It starts no process itself: see StartTuned.
import { reasonOf } from '../../../base/errors.js';
import type { BenchPoint, StartTuned, TunedSettings, TuneTrial } from '../types.js';
import { WALKS, type Candidate, type Known, type Walk } from './candidates.js';
import {
  bestOf,
  isBetter,
  keeps,
  measured,
  MARGIN,
  workloadOf,
  type Load,
  type Measured,
} from './trial.js';
import { gainWords, pointWords, settingsKey, settingsWords, time } from './words.js';

/** The winner is measured again for this many times as long. */
const CONFIRM_TIMES = 2;
const ROUNDS_MAX = 3;

export interface SearchOptions extends Load {
  readonly start: StartTuned;
  /** Cores of the serving machine. */
  readonly cores: number;
  /** Whether requests can be batched: the model has a batch dimension. */
  readonly canBatch: boolean;
  /** After this time nothing new is started. */
  readonly budgetSeconds: number;
  /** Called with a line for each finished step. */
  readonly say: (line: string) => void;
  /** Whether a stop was requested: it ends with its current results. */
  readonly isStopped?: () => boolean;
  /** Milliseconds; default: the process's clock. */
  readonly now?: () => number;
}

export interface Found {
  /** The first one is the server's defaults. */
  readonly trials: readonly TuneTrial[];
  /** Index into `trials`; undefined if none kept the bound. */
  readonly best?: number | undefined;
  readonly steps: readonly string[];
}

interface Tried extends Measured {
  readonly settings: TunedSettings;
  readonly why: string;
}

class Search {
  private readonly tried: Tried[] = [];
  private readonly keys = new Set<string>();
  private readonly steps: string[] = [];
  private readonly now: () => number;
  private readonly begun: number;
  private best: Tried | undefined;
  private saidWhy = false;

  constructor(private readonly options: SearchOptions) {
    this.now = options.now ?? (() => performance.now());
    this.begun = this.now();
  }

  async run(): Promise<Found> {
    await this.baseline();
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      const before = this.best;
      for (const walk of WALKS) await this.walk(walk);
      if (this.best === before || this.isOver()) break;
    }
    await this.confirm();
    const index = this.best === undefined ? -1 : this.tried.indexOf(this.best);
    return { trials: this.tried, best: index < 0 ? undefined : index, steps: this.steps };
  }

  private say(line: string): void {
    this.steps.push(line);
    this.options.say(line);
  }

  /** The defaults must work: their error is the search's error. */
  private async baseline(): Promise<void> {
    const tried = await this.measure(
      { settings: {}, why: 'the defaults of a repository model' },
      1,
    );
    this.tried.push(tried);
    this.keys.add(settingsKey({}));
    if (tried.points.length === 0) throw new Error(tried.problem ?? 'nothing was measured');
    if (tried.best !== undefined) this.best = tried;
    this.say(`defaults: ${resultWords(tried, undefined, this.options.latencyBound)}`);
  }

  private async walk(next: (known: Known) => Walk): Promise<void> {
    const known = this.known();
    const { candidates, patience } = next(known);
    let idle = 0;
    for (const candidate of candidates) {
      const key = settingsKey(candidate.settings);
      if (this.keys.has(key)) continue;
      if (this.isOver()) return this.timeUp();
      this.keys.add(key);
      if (await this.tryOne(candidate)) idle = 0;
      else idle += 1;
      if (idle > patience) return;
    }
  }

  private timeUp(): void {
    if (this.saidWhy) return;
    this.saidWhy = true;
    const spent = Math.round((this.now() - this.begun) / 1000);
    const why = this.options.isStopped?.() === true ? 'stopped' : 'out of time';
    this.say(`${why} after ${spent} s: the remaining settings are not tried`);
  }

  /** Returns whether it is the new best. */
  private async tryOne(candidate: Candidate): Promise<boolean> {
    // An instance without a request would not be measured.
    const from = Math.max(this.best?.best?.concurrency ?? 1, candidate.settings.instances ?? 1);
    const tried = await this.measure(candidate, from);
    this.tried.push(tried);
    const rival = this.best?.best;
    const { best } = tried;
    const wins = best !== undefined && (rival === undefined || isBetter(best, rival));
    const words = resultWords(tried, rival, this.options.latencyBound);
    const end = wins ? ': the best so far' : '';
    this.say(`${settingsWords(candidate.settings)}: ${words}${end}`);
    if (wins) this.best = tried;
    return wins;
  }

  private async measure({ settings, why }: Candidate, from: number): Promise<Tried> {
    const { options } = this;
    const best = this.best?.best;
    const rival = best === undefined ? undefined : { best, points: this.best?.points ?? [] };
    try {
      const server = await options.start(settings);
      try {
        const end = (): boolean => this.isOver();
        return { settings, why, ...(await measured(server.measure, options, from, rival, end)) };
      } finally {
        await server.close();
      }
    } catch (error) {
      return { settings, why, points: [], problem: reasonOf(error) };
    }
  }

  /** Includes the time reserved for measuring again. */
  private isOver(): boolean {
    const { seconds, warmupSeconds, budgetSeconds, isStopped } = this.options;
    if (isStopped?.() === true) return true;
    const reserve = 3 * (seconds * CONFIRM_TIMES + warmupSeconds + 1);
    return (this.now() - this.begun) / 1000 > budgetSeconds - Math.min(reserve, budgetSeconds / 2);
  }

  private known(): Known {
    const { cores, canBatch, batch, concurrencyMax, latencyBound } = this.options;
    const [defaults] = this.tried;
    const point = this.best?.best ?? defaults?.points[0];
    if (point === undefined) throw new TypeError('nothing was measured');
    const rows = Math.max(1, batch);
    const best = this.best?.settings ?? {};
    return { best, point, cores, canBatch, rows, concurrencyMax, latencyBound };
  }

  /** Measures the winner and the defaults for longer, in sequence, to detect lucky results. */
  private async confirm(): Promise<void> {
    const { options } = this;
    const [defaults] = this.tried;
    for (const winner of this.ranked()) {
      if (defaults === undefined || winner === defaults || options.isStopped?.() === true) return;
      const again = await this.again(winner);
      const plain = await this.again(defaults, winner.best?.concurrency);
      const bound = options.latencyBound;
      if (again === undefined || !keeps(again, bound)) {
        this.say(`${settingsWords(winner.settings)}: not confirmed when measured again`);
        this.best = this.rankedBehind(winner);
        continue;
      }
      this.best = this.replaced(winner, again);
      if (plain === undefined || !keeps(plain, bound)) {
        this.say(`measured again: ${pointWords(again)}`);
        return;
      }
      const base = this.replaced(defaults, plain);
      const isGain = isBetter(again, plain);
      if (!isGain) this.best = base;
      const end = isGain
        ? ''
        : `: less than ${Math.round((MARGIN - 1) * 100)} %, keeping the defaults`;
      this.say(
        `measured again with the defaults:  ${pointWords(again)}${gainWords(plain, again)}${end}`,
      );
      return;
    }
  }

  /** Best first; the chosen one before all. */
  private ranked(): readonly Tried[] {
    const chosen = this.best;
    if (chosen === undefined) return [];
    const others = this.tried
      .filter((one) => one !== chosen && one.best !== undefined)
      .sort((a, b) => (b.best?.rowsPerSecond ?? 0) - (a.best?.rowsPerSecond ?? 0));
    return [chosen, ...others].slice(0, ROUNDS_MAX);
  }

  private rankedBehind(lost: Tried): Tried | undefined {
    const problem = 'not confirmed when measured again';
    const without = { ...lost, best: undefined, problem };
    this.tried[this.tried.indexOf(lost)] = without;
    return this.tried
      .filter((one) => one.best !== undefined)
      .sort((a, b) => (b.best?.rowsPerSecond ?? 0) - (a.best?.rowsPerSecond ?? 0))[0];
  }

  private replaced(old: Tried, best: BenchPoint): Tried {
    const replaced = { ...old, best, points: [...old.points, best] };
    this.tried[this.tried.indexOf(old)] = replaced;
    return replaced;
  }

  /**
   * Measures longer at the load of its best point, and at `beside` if that differs; returns the
   * better one, undefined if it cannot be measured now.
   */
  private async again({ settings, best }: Tried, beside?: number): Promise<BenchPoint | undefined> {
    const { options } = this;
    const load = { ...options, seconds: options.seconds * CONFIRM_TIMES };
    const loads = new Set([best?.concurrency, beside].filter((one) => one !== undefined));
    const points: BenchPoint[] = [];
    try {
      const server = await options.start(settings);
      try {
        for (const one of loads) points.push(await server.measure(workloadOf(load, one)));
      } finally {
        await server.close();
      }
    } catch {
      return undefined;
    }
    return bestOf(points, options.latencyBound) ?? points[0];
  }
}

function resultWords(
  tried: Tried,
  rival: BenchPoint | undefined,
  bound: number | undefined,
): string {
  const { best, points, problem } = tried;
  const last = points.at(-1);
  if (best !== undefined) {
    const note = problem === undefined ? '' : `, ${problem}`;
    return `${pointWords(best)}${gainWords(rival, best)}${note}`;
  }
  if (problem !== undefined)
    return last === undefined ? problem : `${pointWords(last)}, ${problem}`;
  if (last === undefined) return 'not measured';
  return `${pointWords(last)}, above the bound of ${time(bound ?? 0)}`;
}

/** Rejects if the server does not serve the model with its defaults. */
export function search(options: SearchOptions): Promise<Found> {
  return new Search(options).run();
}
