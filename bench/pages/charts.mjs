// The chart of the peers: a group of bars for each case, the requests per second of each server
// relative to the fastest. Pure.
import { escapeXml } from '../chart.mjs';

const WIDTH = 900;
const LABEL_PX = 230;
const BARS_PX = 480;
const BAR_PX = 18;
const GROUP_PX = 34;
const TOP_PX = 44;
const COLOUR = { serval: '#2a7f62', peer: '#7f8c9a', floor: '#d5b46b' };

/** Rates as short text: 58,400 or 12.3. */
export function rateText(perSecond) {
  if (perSecond < 100) return perSecond.toPrecision(3);
  return Number(perSecond.toPrecision(3)).toLocaleString('en-US');
}

function bar({ title, kind, perSecond }, largest, y) {
  const width = Math.max(1, (perSecond / largest) * BARS_PX).toFixed(1);
  const end = `x="${LABEL_PX - 8}" y="${y + 13}" text-anchor="end"`;
  const label = `<text ${end}>${escapeXml(title)}</text>`;
  const size = `width="${width}" height="${BAR_PX - 4}"`;
  const box = `<rect x="${LABEL_PX}" y="${y + 2}" ${size} fill="${COLOUR[kind]}"/>`;
  const x = (LABEL_PX + Number(width) + 6).toFixed(1);
  return `${label}\n${box}\n<text x="${x}" y="${y + 13}">${rateText(perSecond)}/s</text>`;
}

/** `groups`: [{title, bars: [{title, kind: serval, peer or floor, perSecond}]}]. */
export function drawPeers(groups, machine) {
  const parts = [];
  let y = TOP_PX;
  for (const { title, bars } of groups) {
    const largest = Math.max(...bars.map(({ perSecond }) => perSecond));
    parts.push(`<text x="12" y="${y + 14}" font-weight="bold">${escapeXml(title)}</text>`);
    y += 20;
    for (const one of bars) {
      parts.push(bar(one, largest, y));
      y += BAR_PX;
    }
    y += GROUP_PX - 20;
  }
  const heading = 'Requests per second (longer is better); each group has its own scale';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 16}"
  font-family="sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="24" font-size="14">${escapeXml(heading)}</text>
${parts.join('\n')}
<text x="12" y="${y + 6}" fill="#666">${escapeXml(
    `${machine.cpu}, ${machine.cpus} cores, ${machine.time.slice(0, 10)}, Serval ${machine.commit}`,
  )}</text>
</svg>
`;
}
