// The files that `serval bench` writes. Control plane.
import { writeFileSync } from 'node:fs';
import { ErrorCode, reasonOf, ServalError } from '../../base/errors.js';
import type { BenchReport } from './types.js';

/** `flag`: the flag that requested it. Errors: InvalidArgument: it cannot be written. */
export function writeFileOf(flag: string, file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new ServalError(ErrorCode.InvalidArgument, `--${flag}: ${reasonOf(error)}`);
  }
}

export interface ReportFiles {
  /** "-": stdout. */
  readonly json: string | undefined;
  readonly html: string | undefined;
}

/** Errors: InvalidArgument: one cannot be written. */
export async function writeReport(files: ReportFiles, report: BenchReport): Promise<void> {
  if (files.json !== undefined) {
    const text = `${JSON.stringify(report, undefined, 2)}\n`;
    if (files.json === '-') process.stdout.write(text);
    else writeFileOf('json', files.json, text);
  }
  if (files.html === undefined) return;
  const { benchPage } = await import('./page/page.js');
  writeFileOf('html', files.html, benchPage(report));
}
