import { type Branding, initialOf } from './branding.ts'
import { type Html, html } from './html.ts'
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
}

/** A whole page: plain HTML that needs no script. */
export function layout({ texts, branding, title, body, wide, submits, script, assets = '/pages' }: Page): string {
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
<link rel="stylesheet" href="${assets}/style.css">
</head>
<body>
<header>${brand}</header>
<main${wide && html` class="wide"`}>
${body}
</main>${submits && html`<script src="${assets}/submit.js"></script>`}${script !== undefined && html`<script type="module" src="${assets}/${script}"></script>`}
</body>
</html>
`.text
}
