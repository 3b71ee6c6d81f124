import {
  answerColourScheme,
  type ColourScheme,
  holdUrls,
  knowsDark,
  metaElements,
  namesColourScheme,
  styleElements,
} from './colour-scheme.ts'

/** How a mail is shown. */
export interface MailLook {
  readonly scheme: ColourScheme
  /** Whether pictures have a place; those of other hosts are never loaded. */
  readonly images: boolean
}

/**
 * The document of a mail as its frame shows it: in the colour scheme that is wanted, with pictures of other hosts drawn as
 * their places. That nothing in it runs or loads is the work of the server that it is served by; what is done here keeps
 * the browser quiet about it.
 */
export function mailDocument(html: string, { scheme, images }: MailLook): string {
  const isMadeForDark = knowsDark(html)
  const mail = html
    .replace(metaElements, (meta) => (namesColourScheme(meta) ? '' : meta))
    .replace(styleElements, (_, start: string, css: string, end: string) =>
      [start, holdUrls(answerColourScheme(css, scheme)), end].join(''),
    )
    .replace(
      /(\smedia\s*=\s*)("[^"]*"|'[^']*')/gi,
      (_, name: string, value: string) => name + answerColourScheme(value, scheme),
    )
    .replace(/(\sstyle\s*=\s*)("[^"]*"|'[^']*')/gi, (_, name: string, value: string) => name + holdUrls(value))
    .replace(/(<[a-z][^<>]*?)\s(?:background|poster)\s*=\s*(?:"[^"]*"|'[^']*')/gi, '$1')
    .replace(/<(?:img|source|input)\b[^<>]*>/gi, (tag) => holdImage(tag, images))
  return `<!doctype html>\n<style>${baseStyle(scheme, isMadeForDark)}</style>\n${mail}`
}

/** The ground that a mail program gives a mail that says nothing about it. */
function baseStyle(scheme: ColourScheme, isMadeForDark: boolean): string {
  const font = 'body{font-family:system-ui,sans-serif;margin:12px;overflow-wrap:anywhere}'
  if (scheme === 'light') return `:root{color-scheme:light}${font}`
  if (isMadeForDark) return `:root{color-scheme:dark}${font}`
  return `:root{color-scheme:light}body{background:#1f1f1f;color:#e8e8e8}a{color:#8ab4f8}${font}`
}

const source = /\ssrc\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)/i

/** A picture of another host becomes its place; without images its words stand there, as mail programs show it. */
function holdImage(tag: string, images: boolean): string {
  const single = tag.replace(/\ssrcset\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)/gi, '')
  const [, address = ''] = source.exec(single) ?? []
  if (address === '' || (images && /^["']?data:image\//i.test(address))) return single
  return single.replace(source, images ? ` src="${placeholder}"` : '')
}

const placeholder = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="80" viewBox="0 0 160 80" preserveAspectRatio="none"><rect width="160" height="80" fill="#9aa5b5"/><path d="M0 80 60 30 90 55 120 35 160 80z" fill="#7b8798"/></svg>',
)}`
