/** The look. Every colour and measure is a variable that the page may set on the element. */
export const style = `
:host {
  --_accent: var(--gatehouse-accent, light-dark(#1f5fbf, #8ab4f8));
  --_on-accent: var(--gatehouse-on-accent, light-dark(#fff, #0b1320));
  --_ground: var(--gatehouse-ground, light-dark(#fff, #1c2128));
  --_ink: var(--gatehouse-ink, light-dark(#1a1f27, #e8ebf0));
  --_soft: var(--gatehouse-soft, light-dark(#566072, #a3adbb));
  --_line: var(--gatehouse-line, light-dark(#d4dae3, #39424f));
  --_fresh: var(--gatehouse-fresh, light-dark(#eef4fd, #222c3a));
  --_badge: var(--gatehouse-badge, #c62828);
  --_on-badge: var(--gatehouse-on-badge, #fff);
  --_radius: var(--gatehouse-radius, .75rem);
  color-scheme: var(--gatehouse-scheme, light dark);
  display: inline-block; position: relative; color: var(--_ink);
  font: var(--gatehouse-font, 1rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif);
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; border-radius: .5rem; text-align: start; }
button:focus-visible, input:focus-visible { outline: 3px solid var(--_accent); outline-offset: 2px; }
svg { width: 1.25rem; height: 1.25rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }
.icon { width: 2.25rem; height: 2.25rem; display: grid; place-items: center; color: var(--_soft); flex: none; }
.icon:hover, .bell:hover { background: color-mix(in srgb, currentColor 10%, transparent); }
:host(:dir(rtl)) .back svg { transform: scaleX(-1); }
.bell { width: 2.75rem; height: 2.75rem; display: grid; place-items: center; position: relative; color: var(--gatehouse-bell, inherit); }
.bell svg { width: 1.5rem; height: 1.5rem; }
.badge { position: absolute; inset-block-start: .1rem; inset-inline-end: .05rem; min-width: 1.25rem; padding: 0 .3rem; border-radius: 1rem; background: var(--_badge); color: var(--_on-badge); font-size: .75rem; font-weight: 700; line-height: 1.25rem; text-align: center; }
.panel { position: absolute; z-index: 1000; inset-block-start: calc(100% + .4rem); inset-inline-end: 0; width: min(25rem, 100vw - 1rem); max-height: min(36rem, 80vh); display: flex; flex-direction: column; background: var(--_ground); border: 1px solid var(--_line); border-radius: var(--_radius); box-shadow: 0 8px 32px rgb(0 0 0 / .18); overflow: hidden; }
:host([align=start]) .panel { inset-inline: 0 auto; }
.head { display: flex; align-items: center; gap: .15rem; padding: .6rem; padding-inline-start: 1rem; border-block-end: 1px solid var(--_line); }
h2 { font-size: 1.05rem; margin: 0; flex: 1; overflow-wrap: anywhere; }
.bar { display: flex; align-items: center; gap: .35rem; padding: .5rem 1rem; font-size: .88rem; border-block-end: 1px solid var(--_line); }
.bar .spring { flex: 1; }
.pill { padding: .25rem .75rem; border-radius: 1rem; min-height: 2rem; color: var(--_soft); border: 1px solid transparent; }
.pill[aria-pressed=true] { color: var(--_ink); border-color: var(--_line); font-weight: 600; }
.text { color: var(--_accent); min-height: 2rem; padding: 0 .3rem; }
.scroll { overflow-y: auto; overscroll-behavior: contain; flex: 1; min-height: 6rem; }
ul { list-style: none; margin: 0; padding: 0; }
li.item { display: flex; align-items: flex-start; gap: .1rem; padding: .35rem; padding-inline-end: .5rem; border-block-end: 1px solid var(--_line); }
li.unread { background: var(--_fresh); }
.open { flex: 1; min-width: 0; padding: .4rem .65rem; display: block; overflow-wrap: anywhere; }
.open > span { display: block; }
.subject { font-weight: 600; }
.unread .subject::before { content: ""; display: inline-block; width: .55rem; height: .55rem; border-radius: 50%; background: var(--_accent); margin-inline-end: .45rem; }
.body { font-size: .93rem; white-space: pre-line; display: -webkit-box !important; -webkit-box-orient: vertical; -webkit-line-clamp: 4; line-clamp: 4; overflow: hidden; }
time { color: var(--_soft); font-size: .84rem; }
.note { margin: 0; padding: 1rem; color: var(--_soft); }
.note.wrong { color: light-dark(#a61b1b, #ffb4ab); border-block-end: 1px solid var(--_line); padding-block: .6rem; }
.more { display: block; margin: .6rem auto; }
fieldset { border: 0; border-block-end: 1px solid var(--_line); margin: 0; padding: .8rem 1rem; min-width: 0; }
legend { font-weight: 600; padding: 0; float: inline-start; width: 100%; margin-block-end: .25rem; overflow-wrap: anywhere; }
.channels { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; clear: both; }
label { display: inline-flex; align-items: center; gap: .45rem; min-height: 2rem; cursor: pointer; }
input { width: 1.15rem; height: 1.15rem; accent-color: var(--_accent); margin: 0; }
.foot { padding: .9rem 1rem; }
.plain { border: 1px solid var(--_soft); padding: .4rem .9rem; }
.live { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) {
  .panel { position: fixed; inset: 0; width: auto; max-height: none; border: 0; border-radius: 0; }
}
@media (forced-colors: active) { .badge, .pill, .plain { border: 1px solid; } }
`
