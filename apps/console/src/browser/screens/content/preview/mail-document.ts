import { answerColourScheme, type ColourScheme, holdUrls, knowsDark } from './colour-scheme.ts'

/** How a mail is shown. */
export interface MailLook {
  readonly scheme: ColourScheme
  /** Whether pictures have a place; those of other hosts are never loaded. */
  readonly images: boolean
}

/** What has no place in a preview; the policy of its document refuses it as well. */
const refused = 'script, link, base, meta[http-equiv], iframe, frame, frameset, object, embed, portal'

/**
 * The document of a mail as its frame shows it: nothing in it reaches out, its colour scheme is the one that is wanted, and
 * pictures of other hosts are drawn as their places. It is parsed without being run.
 */
export function mailDocument(html: string, { scheme, images }: MailLook): string {
  const mail = new DOMParser().parseFromString(html, 'text/html')
  for (const element of mail.querySelectorAll(refused)) element.remove()
  const isMadeForDark = [
    ...mail.querySelectorAll('style, meta[name="color-scheme"], meta[name="supported-color-schemes"]'),
  ].some((element) => knowsDark(element.textContent ?? '') || /\bdark\b/i.test(element.getAttribute('content') ?? ''))
  for (const style of mail.querySelectorAll('style'))
    style.textContent = holdUrls(answerColourScheme(style.textContent ?? '', scheme))
  for (const element of mail.querySelectorAll('[style]'))
    element.setAttribute('style', holdUrls(element.getAttribute('style') ?? ''))
  for (const element of mail.querySelectorAll('[media]'))
    element.setAttribute('media', answerColourScheme(element.getAttribute('media') ?? '', scheme))
  for (const meta of mail.querySelectorAll('meta[name="color-scheme"]')) meta.remove()
  for (const image of mail.querySelectorAll('img, source, input[type="image" i]')) holdImage(image, images)
  for (const element of mail.querySelectorAll('[background], [poster]')) {
    element.removeAttribute('background')
    element.removeAttribute('poster')
  }
  const style = mail.createElement('style')
  style.textContent = baseStyle(scheme, isMadeForDark)
  mail.head.prepend(style)
  return `<!doctype html>\n${mail.documentElement.outerHTML}`
}

/** The ground that a mail program gives a mail that says nothing about it. */
function baseStyle(scheme: ColourScheme, isMadeForDark: boolean): string {
  const font = 'body{font-family:system-ui,sans-serif;margin:12px;overflow-wrap:anywhere}'
  if (scheme === 'light') return `:root{color-scheme:light;background:#fff;color:#000}${font}`
  if (isMadeForDark) return `:root{color-scheme:dark}${font}`
  return `:root{color-scheme:light;background:#1f1f1f;color:#e8e8e8}a{color:#8ab4f8}${font}`
}

/** A picture of another host becomes its place; without images its words stand there, as mail programs show it. */
function holdImage(image: Element, images: boolean): void {
  image.removeAttribute('srcset')
  const source = image.getAttribute('src') ?? ''
  const isInside = /^data:image\//i.test(source)
  if (images && isInside) return
  if (!images) image.removeAttribute('src')
  else if (source !== '') image.setAttribute('src', placeholder)
}

const placeholder = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="80" viewBox="0 0 160 80" preserveAspectRatio="none"><rect width="160" height="80" fill="#9aa5b5"/><path d="M0 80 60 30 90 55 120 35 160 80z" fill="#7b8798"/></svg>',
)}`
