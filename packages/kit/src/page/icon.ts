import { type Branding, initialOf, inkOn } from './branding.ts'
import { html } from './html.ts'

/** The icon of a tab, as SVG: the product's initial on its colour. */
export function icon(branding: Branding): string {
  const { colour } = branding
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="${colour}"/><text x="16" y="23" text-anchor="middle" font-family="system-ui,sans-serif" font-size="19" font-weight="700" fill="${inkOn(colour)}">${initialOf(branding)}</text></svg>
`.text
}
