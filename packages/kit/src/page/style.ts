import { type Branding, inkOn } from './branding.ts'

/** The colours of every page as custom properties; they follow the light or dark surroundings of the browser. */
export function colourSheet({ colour, colourDark }: Branding): string {
  return `:root {
  color-scheme: light dark;
  --accent: ${colour}; --on-accent: ${inkOn(colour)};
  --ground: #f3f5f8; --card: #ffffff; --ink: #1a1f27; --soft: #566072; --line: #d4dae3; --field: #ffffff;
  --wrong: #a61b1b; --wrong-ground: #fdeeee; --careful: #6b4700; --careful-ground: #fff5dc;
  --good: #1c5a33; --good-ground: #e8f5ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --accent: ${colourDark}; --on-accent: ${inkOn(colourDark)};
    --ground: #12151a; --card: #1c2128; --ink: #e8ebf0; --soft: #a3adbb; --line: #39424f; --field: #14181e;
    --wrong: #ffb4ab; --wrong-ground: #3a1d1d; --careful: #ffd98a; --careful-ground: #362a10;
    --good: #a5dfb6; --good-ground: #16301f;
  }
}
`
}

/** The style sheet of every page. */
export function styleSheet(branding: Branding): string {
  return `${colourSheet(branding)}* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
body { margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink); display: flex; flex-direction: column; align-items: center; padding: 8vh 1rem 2rem; }
header { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.25rem; font-weight: 650; font-size: 1.1rem; letter-spacing: -.01em; }
header img { height: 2.25rem; width: auto; max-width: 14rem; }
.mark { width: 1.75rem; height: 1.75rem; border-radius: .5rem; background: var(--accent); color: var(--on-accent); display: grid; place-items: center; font-size: 1rem; font-weight: 700; }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 2rem; box-shadow: 0 1px 2px rgb(0 0 0 / .05), 0 8px 24px rgb(0 0 0 / .06); }
main.wide { max-width: 42rem; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.02em; margin: 0 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
img.logo { display: block; width: 3.5rem; height: 3.5rem; object-fit: contain; border-radius: .6rem; margin: 0 0 1rem; }
.lead, .soft { color: var(--soft); }
.soft { font-size: .9rem; }
form { margin: 0; }
h1 + .note, h1 + form { margin-top: 1rem; }
main > :last-child { margin-bottom: 0; }
.links + .soft, form + .soft, .soft[id] { margin-top: .6rem; }
label { display: block; font-weight: 550; font-size: .92rem; margin: 1rem 0 .3rem; }
input:not([type=hidden], [type=checkbox]) { width: 100%; font: inherit; color: inherit; background: var(--field); border: 1px solid var(--soft); border-radius: .6rem; padding: .65rem .8rem; min-height: 2.9rem; }
input.code { font: 600 1.5rem/1.2 ui-monospace, "Liberation Mono", monospace; letter-spacing: .15em; text-align: center; text-transform: uppercase; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
button, a.button { font: inherit; font-weight: 600; min-height: 2.9rem; padding: .6rem 1.1rem; border-radius: .6rem; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); cursor: pointer; }
a.button { display: block; text-align: center; text-decoration: none; margin-top: 1.5rem; }
button:hover, a.button:hover { filter: brightness(1.08); }
button.quiet { background: transparent; color: var(--ink); border-color: var(--soft); }
button.small { min-height: 2.25rem; padding: .25rem .8rem; font-size: .9rem; }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
.actions > * { flex: 1 1 8rem; }
.providers { flex-direction: column; margin-top: .75rem; }
.providers > * { flex: none; }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.25rem 0 0; color: var(--soft); font-size: .9rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
a { color: var(--accent); text-underline-offset: .2em; }
.links { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .5rem 1rem; margin: 1.5rem 0 0; font-size: .92rem; }
.note { border-left: .25rem solid; border-radius: .6rem; padding: .75rem .9rem; margin: 0 0 1rem; font-size: .94rem; }
.wrong { background: var(--wrong-ground); color: var(--wrong); }
.careful { background: var(--careful-ground); color: var(--careful); }
.good { background: var(--good-ground); color: var(--good); }
ul.grants { list-style: none; margin: 0 0 1rem; padding: 0; border: 1px solid var(--line); border-radius: .6rem; }
ul.grants li { padding: .6rem .8rem .6rem 2.2rem; position: relative; overflow-wrap: anywhere; }
ul.grants li + li { border-top: 1px solid var(--line); }
ul.grants li::before { content: "✓"; position: absolute; left: .85rem; color: var(--accent); font-weight: 700; }
ul.choices { list-style: none; margin: 1.5rem 0 0; padding: 0; display: grid; gap: .75rem; }
ul.choices button { width: 100%; overflow-wrap: anywhere; }
ul.rows { list-style: none; margin: 0; padding: 0; }
ul.rows li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1rem; padding: .8rem 0; border-top: 1px solid var(--line); }
ul.rows li > div { flex: 1 1 14rem; min-width: 0; overflow-wrap: anywhere; }
ul.rows strong { display: block; }
details > ul.rows { margin-top: .6rem; }
.badge { white-space: nowrap; font-size: .78rem; font-weight: 600; border: 1px solid var(--line); border-radius: 1rem; padding: .05rem .5rem; color: var(--soft); }
fieldset.choice { border: 0; border-top: 1px solid var(--line); margin: 0; padding: .9rem 0; min-width: 0; }
legend { font-weight: 600; padding: 0; float: left; float: inline-start; width: 100%; overflow-wrap: anywhere; }
legend + * { clear: both; }
label.check { display: inline-flex; align-items: center; gap: .5rem; min-height: 2.25rem; margin: 0 1.25rem 0 0; font-weight: 400; }
label.check input { width: 1.15rem; height: 1.15rem; margin: 0; accent-color: var(--accent); }
code { font: .9em ui-monospace, "Liberation Mono", monospace; overflow-wrap: anywhere; }
.qr { max-width: 14rem; margin: 1.25rem auto; }
.qr svg { display: block; width: 100%; border-radius: .6rem; }
code.secret { font-size: 1rem; word-spacing: .15em; }
ul.rows li > div.buttons { flex: 0 1 auto; display: flex; flex-wrap: wrap; gap: .5rem; }
.soft.remember { margin-top: .75rem; }
details.more { margin-top: 1.5rem; }
summary { cursor: pointer; font-size: .92rem; color: var(--accent); }
ul.codes { list-style: none; display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr)); gap: .5rem 1rem; margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: .6rem; }
ul.codes code { font-size: 1rem; }
@media (max-width: 30rem) {
  body { padding: 1.5rem 0 0; background: var(--card); }
  main { border: 0; border-radius: 0; box-shadow: none; padding: 1rem 1.25rem 2rem; }
}
@media (forced-colors: active) { button, a.button { border: 2px solid ButtonText; } }
`
}

/** Sends the form of a page that has nothing to ask; without scripts its button does. */
export const submitScript = 'document.forms[0].submit()\n'
