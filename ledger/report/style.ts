/** The page's own style: nothing is loaded. Dark on light in every mode, for it is made to be printed. */
export const STYLE = `
:root { color-scheme: light; --ink: #1b2733; --dim: #5b6b7a; --line: #d5dce3; --bar: #2f6f9f; --bad: #a8201a; --good: #1f6f43 }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1.5rem; max-width: 60rem; color: var(--ink); background: #fff;
  font: 14px/1.45 system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif }
h1 { font-size: 1.7rem; margin: 0 }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 2px solid var(--ink); padding-bottom: .2rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem }
p { margin: .4rem 0; max-width: 48rem; overflow-wrap: anywhere }
.wide { overflow-x: auto }
.dim, figcaption { color: var(--dim) }
.tiles { display: grid; grid-template-columns: repeat(3, 1fr); gap: .6rem; margin: 1.2rem 0 }
.tile { border: 1px solid var(--line); border-radius: 4px; padding: .6rem .8rem }
.tile b { display: block; font-size: 1.1rem; font-variant-numeric: tabular-nums }
.tile span { color: var(--dim); font-size: .85rem }
table { border-collapse: collapse; width: 100%; font-size: .85rem }
th, td { text-align: left; vertical-align: top; padding: .22rem .4rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { font-weight: 600; color: var(--dim); border-bottom: 1px solid var(--ink) }
.n, .w { white-space: nowrap; overflow-wrap: normal; font-variant-numeric: tabular-nums }
th, th.n { white-space: normal; vertical-align: bottom }
.n { text-align: right }
td:first-child { min-width: 7rem }
td:nth-child(2):not(.n, .w, .t) { min-width: 5.5rem }
td:nth-child(n + 3):not(.n, .w, .t) { min-width: 5rem }
td.t { min-width: 21em }
.wide + .wide { margin-top: 1rem }
tr.sum td { font-weight: 600; border-top: 1px solid var(--ink); border-bottom: 1px solid var(--ink) }
.bad { color: var(--bad); font-weight: 600 }
.good { color: var(--good); font-weight: 600 }
code { font: .92em ui-monospace, "Liberation Mono", monospace; overflow-wrap: anywhere }
figure { margin: .8rem 0; break-inside: avoid }
svg { display: block; width: 100%; height: auto }
.bar { fill: var(--bar) }
.grid { stroke: var(--line) }
.label { fill: var(--dim); font-size: 11px }
@media screen and (max-width: 45rem) {
  body { padding: 1rem .75rem }
  .tiles { grid-template-columns: repeat(2, 1fr) }
  .tile { overflow-wrap: anywhere }
  th, td { padding: .22rem .25rem }
  figure { overflow-x: auto }
  figure > svg { min-width: 36rem }
}
@page { size: A4; margin: 15mm 13mm }
@media print {
  body { padding: 0; max-width: none; font-size: 9.5pt }
  .wide { overflow-x: visible }
  .w { white-space: normal }
  td.t { min-width: 8rem }
  table { font-size: 8.5pt }
  table:has(th:nth-child(7)) { font-size: 7pt }
  table:has(th:nth-child(7)) :is(th, td) { padding: .2rem .25rem }
  h2, h3, h2 + p, h3 + p { break-after: avoid }
  tr, .tile { break-inside: avoid }
  thead { display: table-header-group }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
`;
