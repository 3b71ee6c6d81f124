import type { DeliveryPlan } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Channel } from '../model/channel.ts'
import { type EventType, failsOverOnTimeout } from '../model/event-type.ts'
import type { Content, Data, Target } from '../model/notification.ts'
import { suppresses } from '../model/suppression.ts'
import type { Profile } from '../store/store.ts'
import { textOfHtml } from '../templates/message-text.ts'
import { TemplateError } from '../templates/template.ts'

/** What a user would get on a channel, and the variables its template missed. */
export interface WrittenMessage {
  readonly plan: DeliveryPlan
  readonly missing: readonly string[]
}

/** What a message is written from. */
export interface MessageInput {
  readonly eventType: EventType
  readonly data: Data
  readonly userId: string
  readonly profile: Profile
  readonly catalog: Catalog
  /** Unix milliseconds. */
  readonly now: number
}

/** Addresses and renders one channel of a notification. A template that fails fails only its own delivery. */
export function writeMessage(
  channel: Channel,
  { eventType, data, userId, profile, catalog, now }: MessageInput,
  defaultLocale: string,
): WrittenMessage {
  const targets = targetsOf(channel, userId, profile)
  if (targets.length === 0)
    return { plan: { kind: 'drop', outcome: 'no_recipient', reason: unknownAddress[channel] }, missing: [] }
  const about = { channel, event: eventType.event, critical: eventType.priority === 'critical', now }
  const suppressionOf = ({ address }: Target) =>
    profile.suppressions.find((entry) => suppresses(entry, { ...about, address }))
  const reachable = targets.filter((target) => suppressionOf(target) === undefined)
  if (reachable.length === 0) {
    const reason = `its address is left out: ${targets.map(suppressionOf)[0]?.reason}`
    return { plan: { kind: 'drop', outcome: 'undeliverable', reason }, missing: [] }
  }
  const wanted = [profile.recipient?.locale, defaultLocale].filter((locale) => locale !== undefined)
  try {
    const variables = channel === 'email' ? { ...catalog.mailVariables?.(userId, eventType.event), ...data } : data
    const { content, missing } = catalog.text(eventType.templateId, channel, wanted).render(variables)
    const failover = failsOverOnTimeout(eventType, channel) ? {} : { failoverOnTimeout: false as const }
    const text = withText(content)
    const { content: written, links } = catalog.shortenLinks?.({ userId, channel, eventType, content: text, now }) ?? {
      content: text,
      links: [],
    }
    const message = { ...written, targets: reachable, ...failover }
    return { plan: { kind: 'send', message, ...(links.length > 0 ? { links } : {}) }, missing }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { plan: { kind: 'fail', cause: 'template', detail: error.message }, missing: [] }
  }
}

const unknownAddress: Readonly<Record<Channel, string>> = {
  push: 'the user has no device',
  email: 'the user has no email address',
  sms: 'the user has no telephone number',
  'in-app': 'the user has no feed',
}

function withText(content: Content): Content {
  return content.html !== undefined && content.body === '' ? { ...content, body: textOfHtml(content.html) } : content
}

/** Where a channel reaches the user: every living device, or the one address. */
export function targetsOf(channel: Channel, userId: string, profile: Profile): Target[] {
  if (channel === 'in-app') return [{ id: channel, address: userId }]
  if (channel === 'push')
    return profile.devices
      .filter(({ deadAt }) => deadAt === undefined)
      .map(({ deviceId, token, service }) => ({ id: deviceId, address: token, service }))
  const address = channel === 'email' ? profile.recipient?.email : profile.recipient?.phoneNumber
  return address === undefined ? [] : [{ id: channel, address }]
}
