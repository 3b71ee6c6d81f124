/** The colour scheme that a mail is shown in. */
export type ColourScheme = 'light' | 'dark'

const always = '(min-width: 0px)'
const never = '(max-width: -1px)'

/**
 * A style sheet or a media query whose `prefers-color-scheme` is answered: a frame follows the system, not the scheme
 * that its page asks for.
 */
export function answerColourScheme(css: string, scheme: ColourScheme): string {
  return css.replace(/\(\s*prefers-color-scheme\s*(?::\s*([\w-]+)\s*)?\)/gi, (_, wanted: string | undefined) =>
    wanted === undefined || wanted.toLowerCase() === scheme ? always : never,
  )
}

/*
 * A mail may hold whatever a producer or a user wrote, as long as an event may be: what looks into one takes time linear
 * in its length. So what is not closed ends with the text, and other repeats are bounded or end at the next tag.
 */

/** The style elements of a mail: start tag, style sheet, end tag. */
export const styleElements = /(<style\b[^>]{0,500}>)([\s\S]*?)(<\/style\s*>|$)/gi

/** The meta elements of a mail, of the length that they have. */
export const metaElements = /<meta\b[^<>]{0,500}>/gi

/** Whether a meta element says which colour schemes a mail is made for. */
export function namesColourScheme(meta: string): boolean {
  return /\bname\s*=\s*["']?(?:supported-)?color-schemes?\b/i.test(meta)
}

/** Whether the styles of a mail, or a meta element of it, say that it is made for the dark. */
export function knowsDark(html: string): boolean {
  for (const [meta] of html.matchAll(metaElements)) if (namesColourScheme(meta) && /\bdark\b/i.test(meta)) return true
  for (const [style] of html.matchAll(styleElements))
    if (/prefers-color-scheme|color-schemes?\s{0,20}:[^;{}]{0,100}\bdark\b/i.test(style)) return true
  return false
}

/** A style sheet that loads nothing: neither others nor pictures of other hosts. */
export function holdUrls(css: string): string {
  return css
    .replace(/@import\b[^;]*;?/gi, '')
    .replace(/url\(([^)]*)(?:\)|$)/gi, (url: string, address: string) =>
      /^\s*["']?data:/i.test(address) ? url : 'none',
    )
}
