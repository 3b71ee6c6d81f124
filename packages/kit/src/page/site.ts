import { type Html, html } from './html.ts'

/** A page in the bar at the top of its neighbours. */
export interface SiteLink {
  readonly href: string
  readonly text: string
}

/** The bar at the top of a page that is one of several. */
export interface Site {
  readonly links: readonly SiteLink[]
  /** The `href` of the page itself, or of the one that it belongs to. */
  readonly here: string
  /** The words of the link that leads past the bar. */
  readonly skip: string
  /** What the links are, for screen readers. */
  readonly label: string
}

/**
 * The product's name, which leads to the first page, and the links to the others. Above an application, which brings its
 * own banner, the bar is none.
 */
export function siteBar(brand: Html, { links, here, skip, label }: Site, isApplication = false): Html {
  const items = links.map(
    ({ href, text }) => html`<li><a href="${href}"${href === here && html` aria-current="page"`}>${text}</a></li>`,
  )
  return html`<a class="skip" href="#main">${skip}</a>
<header${isApplication && html` role="presentation"`}><nav aria-label="${label}"><a class="brand" href="${links[0]?.href ?? '/'}">${brand}</a>
<ul>${items}</ul></nav></header>`
}

/** The style sheet of pages with a bar, beside that of every page. */
export const siteStyleSheet = `body.site { display: block; padding: 0; background: var(--ground); }
body.site > header { display: block; margin: 0; padding: .55rem max(1.25rem, (100vw - 78rem) / 2 + 1.25rem); background: var(--card); border-bottom: 1px solid var(--line); }
body.site > header nav { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem; }
.brand { display: flex; align-items: center; gap: .6rem; min-height: 2.75rem; color: var(--ink); text-decoration: none; }
body.site > header ul { display: flex; flex-wrap: wrap; gap: 0 .25rem; list-style: none; margin: 0 0 0 -.6rem; padding: 0; font-size: .95rem; font-weight: 500; letter-spacing: 0; }
body.site > header li a { display: block; padding: .5rem .6rem; border-radius: .5rem; color: var(--soft); text-decoration: none; }
body.site > header li a:hover { color: var(--ink); background: var(--ground); }
body.site > header li a[aria-current] { color: var(--ink); box-shadow: inset 0 -2px var(--accent); border-radius: .5rem .5rem 0 0; }
body.site > main { max-width: 78rem; margin: 0 auto; padding: 2.25rem 1.25rem 4rem; background: none; border: 0; border-radius: 0; box-shadow: none; }
.skip { position: absolute; inset: .5rem auto auto .5rem; z-index: 10; padding: .6rem 1rem; border-radius: .6rem; background: var(--accent); color: var(--on-accent); }
.skip:not(:focus) { width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: .9rem; padding: 1.25rem 1.4rem; min-width: 0; }
.panel > :last-child { margin-bottom: 0; }
.panel > h2:first-child { margin-top: 0; }
@media (max-width: 30rem) { body.site > main { padding: 1.5rem 1rem 3rem; } body.site > header { padding: .4rem 1rem; } }
`
