/** Light or dark surroundings of a mail. */
export const schemes = ['light', 'dark'] as const
/** Surroundings that a mail is shown in. */
export type Scheme = (typeof schemes)[number]

/**
 * What a mail in its frame may do: be looked at. Nothing is loaded, nothing runs, no form is sent; a link opens a window
 * of its own when somebody follows it.
 */
export const framePolicy = [
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join('; ')

/** The same for the attribute of the frame. */
export const frameSandbox = 'allow-popups allow-popups-to-escape-sandbox'

/**
 * An HTML mail as a document of its own. A frame follows the surroundings of the browser, not of the page around it, so
 * what the mail asks of them is answered here.
 */
export function mailDocument(html: string, scheme: Scheme): string {
  const answered = html.replaceAll(/\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/gi, (_, wanted: string) =>
    wanted.toLowerCase() === scheme ? '(min-width: 0px)' : '(max-width: 0px)',
  )
  return `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="${scheme}"><base target="_blank">
<style>html { color-scheme: ${scheme}; background: Canvas; overflow-wrap: anywhere; }</style>
${answered}`
}

/** Whether a mail names images of other places, which are not loaded here. Takes time linear in its length. */
export function hasRemoteImages(html: string): boolean {
  const inImage = /<img\b[^<>]*\bsrc\s*=\s*(?:["']\s*)?(?:https?:)?\/\//i
  return inImage.test(html) || /url\(\s*(?:["']\s*)?(?:https?:)?\/\//i.test(html)
}
