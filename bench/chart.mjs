// Draws rows as an SVG bar chart: the distance of each row from its target. Pure.
import { formatFigure } from './report.mjs';

const ROW_PX = 30;
const LABEL_PX = 330;
const BARS_PX = 420;
const FIGURE_PX = 250;
const TOP_PX = 56;
const SCALE_MAX = 3;
const COLOUR = { met: '#2a7f62', missed: '#c0392b', line: '#333', text: '#222', grid: '#bbb' };

/** Returns how many times better than its target a row is: 1 = exactly met, below 1 = missed. */
export function timesTarget(row) {
  const { relation, limit } = row.target;
  if (relation.startsWith('>')) return row.got / limit;
  return row.got <= 0 ? Infinity : limit / row.got;
}

/** Escapes text for XML. */
export function escapeXml(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function bar(row, index) {
  const times = Math.min(timesTarget(row), SCALE_MAX);
  const width = ((Math.max(times, 0.01) * BARS_PX) / SCALE_MAX).toFixed(1);
  const y = TOP_PX + index * ROW_PX;
  const figure = `${formatFigure(row.form, row.got)} (target ${row.target.relation} ${formatFigure(
    row.form,
    row.target.limit,
  )})`;
  return `<text x="${LABEL_PX - 8}" y="${y + 15}" text-anchor="end">${escapeXml(row.title)}</text>
<rect x="${LABEL_PX}" y="${y}" width="${width}" height="20" fill="${
    row.ok ? COLOUR.met : COLOUR.missed
  }"/>
<text x="${LABEL_PX + BARS_PX + 8}" y="${y + 15}">${escapeXml(figure)}</text>`;
}

function gridLine(times, bottom) {
  const x = LABEL_PX + (times * BARS_PX) / SCALE_MAX;
  const colour = times === 1 ? COLOUR.line : COLOUR.grid;
  return `<line x1="${x}" y1="${TOP_PX - 8}" x2="${x}" y2="${bottom}" stroke="${colour}"/>
<text x="${x}" y="${TOP_PX - 12}" text-anchor="middle">${times}x</text>`;
}

/** Draws every row that has a target and a figure; bars end at 3 times the target. */
export function drawChart(rows, machine) {
  const drawn = rows.filter((row) => row.error === undefined && row.target !== null);
  const width = LABEL_PX + BARS_PX + FIGURE_PX;
  const bottom = TOP_PX + drawn.length * ROW_PX;
  const title = `Serval ${machine.commit}: times better than the target (longer is better)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + 30}"
  font-family="sans-serif" font-size="12" fill="${COLOUR.text}">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="20" font-size="14">${escapeXml(title)}</text>
${drawn.map(bar).join('\n')}
${[1, 2, 3].map((times) => gridLine(times, bottom)).join('\n')}
<text x="12" y="${bottom + 20}" fill="#666">${escapeXml(
    `${machine.cpu}, ${machine.cpus} cores, Node ${machine.node}, ${machine.time}`,
  )}</text>
</svg>
`;
}
