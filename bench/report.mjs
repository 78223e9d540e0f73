// Formats rows as text tables, and compares them with a saved run. Pure.

const MISSING = '-';

/** Columns of cells -> lines aligned with two spaces between; the first row is the heading. */
export function alignTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join('\n');
}

/** Formats a figure with its unit: ratios as 0.83, us as +12 us, others plain. */
export function formatFigure(form, value) {
  switch (form) {
    case 'ratio':
      return value >= 10 ? value.toFixed(1) : value.toFixed(3);
    case 'us':
      return `${value >= 0 ? '+' : ''}${value.toFixed(1)} us`;
    case 'time':
      return formatUs(value);
    case 's':
      return `${value.toFixed(3)} s`;
    case 'ms':
      return `${value.toFixed(2)} ms`;
    case 'count':
      return value.toFixed(0);
    case 'MB':
      return `${value.toFixed(1)} MB`;
    case 'kB':
      return `${value.toFixed(1)} kB`;
    default:
      throw new RangeError(
        `unknown form '${form}': expected ratio, us, time, ms, s, MB, kB or count`,
      );
  }
}

function formatTarget(row) {
  if (row.target === null) return 'reported';
  const { relation, limit } = row.target;
  return `${relation} ${row.form === undefined ? limit : formatFigure(row.form, limit)}`;
}

function formatOk(row) {
  if (row.error !== undefined) return row.skipped === true ? 'SKIPPED' : 'ERROR';
  if (row.ok === null) return MISSING;
  return row.ok ? 'yes' : 'NO';
}

/** Microseconds with three digits: 12.3 us, 1.23 ms. */
export function formatUs(us) {
  if (us >= 1000) return `${(us / 1000).toPrecision(3)} ms`;
  return `${us >= 100 ? us.toFixed(0) : us.toPrecision(3)} us`;
}

/**
 * Describes one side: rate or time, its tail, the server's CPU time per request and the share of a
 * core that it used. A server far below 100 % under many connections waited for the load generator.
 * `extra` is text of the workload itself.
 */
export function formatSide(sample) {
  if (sample === undefined) return MISSING;
  const parts = [];
  if (sample.usPerRequest !== undefined && sample.usPerRequest < 500) {
    parts.push(`${Math.round(sample.perSecond)}/s`);
  } else if (sample.usPerRequest !== undefined) {
    parts.push(formatUs(sample.usPerRequest));
  }
  if (sample.p50Us !== undefined) {
    parts.push(`p50 ${formatUs(sample.p50Us)}`, `p99 ${formatUs(sample.p99Us)}`);
  }
  if (sample.p999Us !== undefined) {
    parts.push(`p99.9 ${formatUs(sample.p999Us)}`);
  }
  if (sample.cpuUs !== undefined) {
    const busy = Math.round((sample.cpuUs * sample.perSecond) / 1e4);
    parts.push(`cpu ${formatUs(sample.cpuUs)} (${busy} %)`);
  }
  if (sample.busierShare !== undefined) {
    const share = Math.round(sample.busierShare * 100);
    parts.push(`listeners ${share}/${100 - share} %`);
  }
  if (sample.lateUs !== undefined) parts.push(`load late by ${formatUs(sample.lateUs)}`);
  if (sample.extra !== undefined) parts.push(sample.extra);
  return parts.join(', ');
}

function tableRow(row) {
  if (row.error !== undefined) {
    const first = row.error.split('\n')[0];
    return [
      row.title,
      row.reference,
      formatTarget(row),
      MISSING,
      MISSING,
      MISSING,
      formatOk(row),
      first,
      '',
    ];
  }
  const { min, max } = row.spread;
  const figure = (value) => formatFigure(row.form, value);
  return [
    row.title,
    row.reference,
    formatTarget(row),
    figure(row.got),
    `${figure(min)} .. ${figure(max)}`,
    typeof row.gotByCpu === 'number' ? figure(row.gotByCpu) : MISSING,
    formatOk(row),
    formatSide(row.sides.serval),
    formatSide(row.sides.reference),
  ];
}

/** The main table: one line per row. */
export function formatRows(rows) {
  const heading = [
    'workload',
    'reference',
    'target',
    'got',
    'spread',
    'by cpu',
    'ok',
    'Serval',
    'the reference itself',
  ];
  return alignTable([heading, ...rows.map(tableRow)]);
}

/** The errors of failed rows in full, or ''. */
export function formatErrors(rows) {
  return rows
    .filter((row) => row.error !== undefined && row.skipped !== true)
    .map((row) => `${row.id}: ${row.error}`)
    .join('\n');
}

/** The reasons why rows were omitted, or ''. */
export function formatSkipped(rows) {
  return rows
    .filter((row) => row.skipped === true)
    .map((row) => `skipped: ${row.id}: ${row.error}`)
    .join('\n');
}

/**
 * Compares this run with a saved one, row by row. `better` and `worse` are only used if the spreads
 * of the two runs do not overlap; rows that only one run has are omitted.
 */
export function compareRuns(saved, rows) {
  const old = new Map(saved.rows.map((row) => [row.id, row]));
  const both = rows.filter((row) => usable(row) && usable(old.get(row.id)));
  return both.map((row) => {
    const before = old.get(row.id);
    return {
      id: row.id,
      form: row.form,
      before: before.got,
      now: row.got,
      change: before.got === 0 ? null : row.got / before.got - 1,
      verdict: verdictOf(before, row),
    };
  });
}

function usable(row) {
  return row !== undefined && row.error === undefined;
}

function verdictOf(before, now) {
  const apart = now.spread.min > before.spread.max || now.spread.max < before.spread.min;
  if (!apart) return 'same';
  const higherIsBetter = now.target === null || now.target.relation.startsWith('>');
  return now.got > before.got === higherIsBetter ? 'better' : 'worse';
}

/** Formats the result of compareRuns as a table. */
export function formatComparison(name, comparison) {
  const heading = ['workload', `saved '${name}'`, 'now', 'change', 'verdict'];
  const lines = comparison.map(({ id, form, before, now, change, verdict }) => [
    id,
    formatFigure(form, before),
    formatFigure(form, now),
    change === null ? MISSING : `${change >= 0 ? '+' : ''}${(change * 100).toFixed(1)} %`,
    verdict,
  ]);
  return alignTable([heading, ...lines]);
}
