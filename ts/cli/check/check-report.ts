// The report of `serval check`, for people and as JSON. Pure; control plane.
import type { SignatureInfo } from '../../model/snapshot.js';
import { tensorText } from '../serve/startup-text.js';

/** One version, or a model without one. */
export interface CheckedVersion {
  readonly name: string;
  /** "" if the model has no version. */
  readonly version: string;
  readonly ok: boolean;
  readonly format: string;
  readonly path: string;
  /** Why it cannot be served; "" if it can. */
  readonly reason: string;
  readonly signatures: readonly SignatureInfo[];
}

/** The output of `--json`. */
export interface CheckReport {
  /** Whether a server would be ready. */
  readonly ok: boolean;
  readonly models: readonly CheckedVersion[];
  /** Problems of the places that the models come from, and settings without effect. */
  readonly problems: readonly string[];
}

const HEADINGS = ['RESULT', 'MODEL', 'VERSION', 'FORMAT', 'INPUTS -> OUTPUTS'];
const COLUMN_CHARS_MAX = 60;

/** A line per version, the reasons after them; with a final newline. */
export function checkText({ models, problems }: CheckReport): string {
  const rows = models.map(({ ok, name, version, format, signatures }) => [
    ok ? 'ok' : 'FAILED',
    name,
    version || '-',
    format || '-',
    signatureText(signatures),
  ]);
  const all = [HEADINGS, ...rows];
  const widths = HEADINGS.map((_, i) =>
    Math.min(COLUMN_CHARS_MAX, Math.max(...all.map((row) => row[i]?.length ?? 0))),
  );
  const lines = all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const failed = models.filter(({ ok }) => !ok);
  const reasons = failed.map(({ name, version, reason }) => {
    const which = version === '' ? '' : `, version ${version}`;
    return `model '${name}'${which}: ${reason}`;
  });
  const others = problems.map((one) => `problem: ${one}`);
  const count = `${models.length - failed.length} of ${models.length} can be served`;
  const table = models.length === 0 ? [] : lines;
  return [...table, ...reasons, ...others, count].map((line) => `${line}\n`).join('');
}

function signatureText([signature]: readonly SignatureInfo[]): string {
  if (signature === undefined) return '-';
  const { inputs, outputs } = signature;
  return `${inputs.map(tensorText).join(', ')} -> ${outputs.map(tensorText).join(', ')}`;
}
