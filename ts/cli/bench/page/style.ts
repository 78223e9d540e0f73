// The style sheet of a bench page: colours of the console, light and dark, and for paper. Control
// plane; a constant.

const LIGHT = `
--back:#f7f7f4;--panel:#fff;--raised:#f0f0ec;--line:#dcdcd4;--text:#1d211f;--dim:#5f665c;
--accent:#1f6f5c;--soft:#dcefe8;--bad:#b3261e;--bad-soft:#fbe4e1;--busy-soft:#fbeecb;
--s0:#1f6f5c;--s1:#c4660a;--s2:#8b3fa8;--s3:#1c68b5;--s4:#a8325f;--s5:#77700f;--s6:#5b6675;--s7:#80502a;
`;
const DARK = `
--back:#141715;--panel:#1b1f1d;--raised:#242927;--line:#343b37;--text:#e6e9e5;--dim:#9ba59d;
--accent:#5cc2a4;--soft:#1f3a32;--bad:#ff9086;--bad-soft:#43201d;--busy-soft:#3a2f12;
--s0:#5cc2a4;--s1:#f0a24f;--s2:#cc93e6;--s3:#6cb0f2;--s4:#f083b0;--s5:#cbc55e;--s6:#a3aebd;--s7:#cf9f76;
`;
const COLOURS = Array.from({ length: 8 }, (_, i) => `.s${i}{--c:var(--s${i})}`).join('');

export const STYLE = `
:root{color-scheme:light dark;${LIGHT}}
@media (prefers-color-scheme:dark){:root{${DARK}}}
@media print{:root{color-scheme:light;${LIGHT}--back:#fff}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);
font:14px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
main{max-width:1240px;margin:0 auto;padding:20px 20px 48px}
header{display:flex;align-items:baseline;gap:12px;flex-wrap:wrap;margin-bottom:12px}
.brand{font-size:12px;font-weight:650;color:var(--accent);background:var(--soft);
padding:2px 10px;border-radius:10px;white-space:nowrap}
h1{font-size:24px;line-height:1.2;font-weight:680;margin:0;overflow-wrap:anywhere}
h2{font-size:18px;font-weight:660;margin:30px 0 10px}
h3{font-size:14px;font-weight:650;margin:20px 0 8px}
.panel,.plot,.card{background:var(--panel);border:1px solid var(--line);border-radius:8px}
.facts{display:grid;grid-template-columns:max-content 1fr max-content 1fr;gap:3px 14px;
padding:12px 16px;margin:0 0 14px}
dt{color:var(--dim)}
dd{margin:0;overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,"SF Mono","Cascadia Code","DejaVu Sans Mono",Menlo,monospace;
font-size:12.5px}
.warn{background:var(--busy-soft);border-left:3px solid var(--s1);padding:7px 12px;
border-radius:4px;overflow-wrap:anywhere;margin:10px 0}
.warn.bad{background:var(--bad-soft);border-color:var(--bad)}
.bad{color:var(--bad)}
.dim{color:var(--dim)}
p.dim{font-size:13px}
.lead{font-size:15px;margin:0 0 10px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{text-align:left;font-weight:400;padding:5px 8px;white-space:nowrap;vertical-align:middle}
td.dim{white-space:normal;min-width:220px}
tbody th{font-weight:550}
tbody tr>*{border-top:1px solid var(--line)}
tbody tr:hover>*{background:var(--raised)}
thead th{color:var(--dim);font-size:12px}
thead .over th{color:var(--text);font-weight:600;padding-bottom:0}
.number{text-align:right}
tr>:first-child{padding-left:16px}
tr>:last-child{padding-right:16px}
.chosen>*{background:var(--soft)}
.tag{font-size:11px;font-weight:650;color:var(--panel);background:var(--accent);
padding:1px 8px;border-radius:8px}
.barcell{width:16%;min-width:90px}
.bar{display:block;width:100%;height:8px;border-radius:4px}
.bar .track{fill:var(--raised)}
.chosen .bar .track,tr:hover .bar .track{fill:var(--line)}
.bar .full{fill:var(--accent)}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr));
gap:14px;margin:14px 0}
.plot{margin:0;padding:12px 16px 10px;min-width:0}
.plot>svg{display:block;width:100%;max-width:760px;height:auto;margin:4px auto 0}
figcaption{display:flex;gap:10px;align-items:baseline;flex-wrap:wrap}
figcaption b{font-weight:650}
figcaption span{color:var(--dim);font-size:12.5px}
.grid,.tickline,.base{stroke:var(--line);stroke-width:1}
.base{stroke:var(--dim)}
.tickline{stroke:var(--dim)}
.tick,.axis,.label,.boundname{font-size:11.5px;fill:var(--dim)}
.label{fill:var(--text);font-size:11px}
.start{text-anchor:start}
.middle{text-anchor:middle}
.end{text-anchor:end}
${COLOURS}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.line.minor{stroke-width:1.4;stroke-dasharray:4 3}
.mark{fill:var(--c);stroke:var(--panel);stroke-width:1.2}
.mark.minor{stroke:none}
.near{fill:transparent}
.point:hover .mark{stroke:var(--text);stroke-width:2}
.bound{stroke:var(--bad);stroke-width:1.3;stroke-dasharray:6 4}
.boundname{fill:var(--bad)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:3px 16px;margin:6px 0 0;padding:0;
font-size:12.5px;color:var(--dim)}
.legend li{display:flex;align-items:center;gap:6px}
.key{width:26px;height:12px;flex:none}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:14px}
.card{padding:10px 16px;display:flex;flex-direction:column}
.card span,.card small{color:var(--dim);font-size:12.5px}
.card b{font-size:22px;line-height:1.35;font-weight:650}
.files{display:flex;flex-direction:column;gap:14px;min-width:0}
.file{padding:2px 16px 12px;flex:1;min-width:0}
.file h3{margin:10px 0 6px}
pre{margin:0;overflow-x:auto;user-select:all;white-space:pre}
details.panel{padding:10px 16px;margin-top:14px}
summary{cursor:pointer;font-weight:600}
.all{margin-top:30px}
.all>summary{font-size:18px;font-weight:660;margin-bottom:10px}
.steps{margin:8px 0 0;padding-left:26px;color:var(--dim)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
@media (max-width:760px){.facts{grid-template-columns:max-content 1fr}main{padding:14px 12px 36px}}
@media print{.plot,.panel,.card{break-inside:avoid}details>*{display:block}}
`;
