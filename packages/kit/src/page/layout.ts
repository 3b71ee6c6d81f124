import { type Branding, initialOf } from './branding.ts'
import { type Html, html } from './html.ts'
import { type Site, siteBar } from './site.ts'
import type { Texts } from './texts.ts'

/** The content of one page and how it looks. */
export interface Page {
  readonly texts: Texts
  readonly branding: Branding
  readonly title: string
  readonly body: Html
  readonly wide?: boolean
  /** Sends the page's form by itself. */
  readonly submits?: boolean
  /** A script of the page, by the name of its file among the assets. */
  readonly script?: string
  /** Where style, icon and script are served; `/pages` when left out. */
  readonly assets?: string
  /** The bar above a page that is one of several; such a page fills the window. */
  readonly site?: Site
  /** Further style sheets, by the names of their files among the assets. */
  readonly styles?: readonly string[]
  /** An application draws the page: it brings its main landmark and its styles, and takes no more than our colours. */
  readonly isApplication?: boolean
  /** Further elements of the head. */
  readonly head?: Html
}

/** A whole page: plain HTML that needs no script. */
export function layout(page: Page): string {
  const {
    texts,
    branding,
    title,
    body,
    wide,
    submits,
    script,
    assets = '/pages',
    site,
    styles = [],
    isApplication,
    head,
  } = page
  const brand = branding.logoUrl
    ? html`<img src="${branding.logoUrl}" alt="${branding.name}">`
    : html`<span class="mark" aria-hidden="true">${initialOf(branding)}</span><span>${branding.name}</span>`
  return html`<!doctype html>
<html lang="${texts.locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${branding.name}</title>
<link rel="icon" type="image/svg+xml" href="${assets}/icon.svg">
${[isApplication ? 'colours.css' : 'style.css', ...(site ? ['site.css'] : []), ...styles].map(
  (file) => html`<link rel="stylesheet" href="${assets}/${file}">
`,
)}${head}</head>
<body${site && html` class="site"`}>
${site ? siteBar(brand, site, isApplication) : html`<header>${brand}</header>`}
${
  isApplication
    ? html`<div id="main">${body}</div>`
    : html`<main${wide && html` class="wide"`}${site && html` id="main"`}>
${body}
</main>`
}${submits && html`<script src="${assets}/submit.js"></script>`}${script !== undefined && html`<script type="module" src="${assets}/${script}"></script>`}
</body>
</html>
`.text
}
