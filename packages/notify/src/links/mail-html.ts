import { replaceAttributes } from '../templates/html-attributes.ts'
import type { Links } from './links.ts'

/** Whether links to a host, as URL.host writes it, are tracked. */
export type IsTracked = (host: string) => boolean

/** Leads the tracked http(s) links through us. One that is ours already, or would be too long, stays as it is. */
export function withClicks(text: string, deliveryId: string, links: Links, isTracked: IsTracked): string {
  return replaceAttributes(text, ({ tag, name, value }) => {
    const target = tag === 'a' && name === 'href' ? formatLinks(value.trim()) : undefined
    if (
      target === undefined ||
      !/^https?:\/\//i.test(target) ||
      !isTracked(URL.parse(target)?.host ?? '') ||
      target.startsWith(`${links.baseUrl}/`)
    )
      return undefined
    return links.url('click', [deliveryId, target])
  })
}

const marks: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** What an attribute of HTML says; undefined where it names a character by a name that isn't known here. */
function formatLinks(attribute: string): string | undefined {
  let known = true
  const text = attribute.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w+));/gi, (_, decimal, hex, name: string) => {
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    const character = Number.isNaN(code) ? marks[name] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
    known &&= character !== undefined
    return character ?? ''
  })
  return known ? text : undefined
}

/** An HTML text with an addition: where its body ends, or at its end. */
export function beforeEnd(text: string, addition: string): string {
  const end = [...text.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? text.length
  return text.slice(0, end) + addition + text.slice(end)
}
