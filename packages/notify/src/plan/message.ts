import type { DeliveryPlan } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Channel } from '../model/channel.ts'
import { suppresses } from '../model/delivery/suppression.ts'
import { type EventType, failsOverOnTimeout } from '../model/notification/event-type.ts'
import type { Content, Data, Target } from '../model/notification/notification.ts'
import { createReason, type Reason, type ReasonCode } from '../model/notification/reason.ts'
import type { Profile } from '../store/store.ts'
import { textOfHtml } from '../templates/message-text.ts'
import { MissingTextError, TemplateError } from '../templates/template.ts'

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
    return {
      plan: { kind: 'drop', outcome: 'no_recipient', reason: createReason(unknownAddress[channel]) },
      missing: [],
    }
  const about = { channel, event: eventType.event, critical: eventType.priority === 'critical', now }
  const suppressionOf = ({ address }: Target) =>
    profile.suppressions.find((entry) => suppresses(entry, { ...about, address }))
  const reachable = targets.filter((target) => suppressionOf(target) === undefined)
  if (reachable.length === 0) {
    const { reason: suppression = 'manual' } = targets.map(suppressionOf)[0] ?? {}
    const reason = createReason('address_suppressed', { suppression })
    return { plan: { kind: 'drop', outcome: 'undeliverable', reason }, missing: [] }
  }
  const wanted = [profile.recipient?.locale, defaultLocale].filter((locale) => locale !== undefined)
  try {
    const hasLinks = channel === 'email' && !eventType.sensitive
    const variables = hasLinks ? { ...catalog.mailVariables?.(userId, eventType.event), ...data } : data
    const compiled = catalog.text(eventType.templateId, channel, wanted)
    const { content, missing } = compiled.render(variables)
    const failover = failsOverOnTimeout(eventType, channel) ? {} : { failoverOnTimeout: false as const }
    const text = withText(content)
    const linkHosts = catalog.linkHosts(eventType.templateId, channel)
    const shortened = catalog.shortenLinks?.({ userId, channel, eventType, content: text, linkHosts, now })
    const { content: written, links } = shortened ?? { content: text, links: [] }
    const message = { ...written, targets: reachable, ...failover }
    const { templateId: id, version, locale } = compiled.text
    const template = { id, version, locale }
    return { plan: { kind: 'send', message, template, ...(links.length > 0 ? { links } : {}) }, missing }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { plan: { kind: 'fail', cause: 'template', reason: reasonOfFault(error, eventType, channel) }, missing: [] }
  }
}

const unknownAddress = {
  push: 'no_device',
  email: 'no_email_address',
  sms: 'no_phone_number',
  'in-app': 'no_feed',
} as const satisfies Record<Channel, ReasonCode>

/** The fault of a template in its own words. */
function reasonOfFault(error: TemplateError, { templateId }: EventType, channel: Channel): Reason {
  const code = error instanceof MissingTextError ? 'template_missing' : 'template_failed'
  return { ...createReason(code, { template_id: templateId, channel }), reason: error.message }
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
