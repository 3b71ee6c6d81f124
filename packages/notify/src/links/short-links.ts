import { randomBytes } from 'node:crypto'
import type { Retention } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import type { ShortenLinks } from '../model/delivery/short-link.ts'
import { type TrackingRule, trackingOf } from '../model/delivery/tracking.ts'
import { bucketOfSlot, slotOfUser } from '../model/id.ts'
import { replaceLinks } from '../templates/text-links.ts'

/** What shortening links needs. */
export interface ShortenOptions {
  /** Where the world reaches us, without a slash at the end. */
  readonly baseUrl: string
  /** The hosts whose addresses are replaced whatever the template. */
  readonly hosts: ReadonlySet<string>
  /** Of event types that do not say. */
  readonly tracking: TrackingRule
  readonly retention: Pick<Retention, 'linkDays' | 'inboxDays'>
}

/** Mails have links of their own, which need no row: their length does not matter. */
const shortened: ReadonlySet<Channel> = new Set(['push', 'sms', 'in-app'])
const maxLinks = 20
const dayMs = 86_400_000

/** Sensitive messages keep their links: what they lead to is stored nowhere. */
export function createShortenLinks({ baseUrl, hosts, tracking, retention }: ShortenOptions): ShortenLinks {
  const prefix = `${baseUrl}/l/`
  const own = `${URL.parse(baseUrl)?.href.replace(/\/$/, '') ?? baseUrl}/`
  return ({ userId, channel, eventType, content, linkHosts, now }) => {
    const level = trackingOf(eventType.tracking ?? {}, channel) ?? trackingOf(tracking, channel)
    const isTracked = level === 'on' || level === 'clicks'
    if (!isTracked || eventType.sensitive || !shortened.has(channel)) return { content, links: [] }
    const { linkDays, inboxDays } = retention
    const days = channel === 'in-app' ? Math.max(linkDays, inboxDays) : linkDays
    const ids = new Map<string, string>()
    const isLeft = (target: string) => {
      const { host } = new URL(target)
      return target.startsWith(own) || !(hosts.has(host) || linkHosts.has(host))
    }
    const shorten = (text: string) =>
      replaceLinks(text, (target) => {
        if (isLeft(target) || (ids.size >= maxLinks && !ids.has(target))) return undefined
        const id = ids.get(target) ?? newLinkId(slotOfUser(userId))
        ids.set(target, id)
        return `${prefix}${id}`
      })
    const { subject, body } = content
    const replaced = {
      ...content,
      body: shorten(body),
      ...(subject === undefined ? {} : { subject: shorten(subject) }),
    }
    const links = [...ids].map(([target, id]) => ({ id, target, expiresAt: now + days * dayMs }))
    return { content: replaced, links }
  }
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idLength = 12
const idPattern = /^[\dA-Za-z]{12}$/
/** 71 bits, 16 of which are the slot. */
const slots = 65_536n
const idSpace = BigInt(alphabet.length) ** BigInt(idLength)
const randomByteCount = 16

/**
 * A fresh id of a short link, twelve letters and digits. It is random but for the remainder that names the slot of its
 * user, so that it is looked up in one bucket; all links together are spread over 71 bits.
 */
export function newLinkId(slot: number): string {
  const random = BigInt(`0x${randomBytes(randomByteCount).toString('hex')}`) % (idSpace / slots)
  let rest = random * slots + BigInt(slot)
  let id = ''
  for (let place = 0; place < idLength; place++) {
    id = alphabet[Number(rest % 62n)] + id
    rest /= 62n
  }
  return id
}

/** The bucket of a link; undefined for what is no id of one. */
export function bucketOfLink(id: string, buckets: number): number | undefined {
  if (!idPattern.test(id)) return undefined
  let value = 0n
  for (const character of id) value = value * 62n + BigInt(alphabet.indexOf(character))
  return bucketOfSlot(Number(value % slots), buckets)
}
