import { createHeaders, measurePush, type OutgoingMessage, type PushSize } from '@gatehouse/providers'
import type { Catalog } from '../../catalog/catalog.ts'
import type { CompleteMessages } from '../../links/complete-messages.ts'
import { hideTokens } from '../../links/links.ts'
import type { Channel } from '../../model/channel.ts'
import { deliveryIdOf, newIdOfUser } from '../../model/id.ts'
import type { Content } from '../../model/notification/notification.ts'
import { linkHostsOf } from '../../templates/link-hosts.ts'
import { divideSms } from '../../templates/sms-parts.ts'
import type { TemplateText } from '../../templates/template.ts'

/** What turns a rendered text into the message that people get. */
export interface AsSent {
  /** Gives a message what it carries beside its text. */
  readonly completeMessages: Partial<Record<Channel, CompleteMessages>>
  readonly publicUrl: string
}

interface Rendered {
  /** What was rendered: a text of the template, or a draft of one. */
  readonly text: TemplateText
  readonly content: Content
}

/** A rendered text with what is added before it goes out: the footer and links of mails, short links, ids of pushes. */
export async function completePreview(context: AsSent, catalog: Catalog, rendered: Rendered) {
  const { content, text } = rendered
  const { channel } = text
  const { locale: _, ...shown } = content
  if (channel === 'email') return completeMail(context, catalog, rendered)
  if (channel === 'sms') return { ...shown, sms: formatSms(maxText(catalog, rendered)) }
  if (channel !== 'push') return shown
  const message = sampleMessage(catalog, { ...rendered, content: { ...content, body: maxText(catalog, rendered) } })
  const [completed = message] = (await context.completeMessages.push?.([message])) ?? []
  const { fcm, apns, web } = measurePush(completed)
  return { ...shown, push: { fcm: formatSize(fcm), apns: formatSize(apns), web: formatSize(web) } }
}

/** A mail with its footer, its tracked links and its header fields, as the first event type of its template has them. */
async function completeMail({ completeMessages, publicUrl }: AsSent, catalog: Catalog, rendered: Rendered) {
  const message = sampleMessage(catalog, rendered)
  const [completed = message] = (await completeMessages.email?.([message], linkHostsOf([rendered.text]))) ?? []
  const { subject, body, html } = completed.content
  const hide = (text: string) => hideTokens(text, publicUrl)
  const fields = { ...(subject === undefined ? {} : { Subject: subject }), ...createHeaders(completed) }
  return {
    ...(subject === undefined ? {} : { subject: hide(subject) }),
    body: hide(body),
    ...(html === undefined ? {} : { html: hide(html) }),
    headers: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, hide(value)])),
  }
}

/** A message to nobody, with ids of the length that they have. */
function sampleMessage(catalog: Catalog, { text: { templateId, channel }, content }: Rendered): OutgoingMessage {
  const [eventType] = eventTypesOf(catalog, templateId)
  const notificationId = newIdOfUser('')
  const deliveryId = deliveryIdOf(notificationId, channel)
  return {
    id: deliveryId,
    deliveryId,
    notificationId,
    userId: '',
    channel,
    event: eventType?.event ?? templateId,
    critical: eventType?.priority === 'critical',
    target: { id: channel, address: '' },
    content,
  }
}

function eventTypesOf(catalog: Catalog, templateId: string) {
  return [...catalog.eventTypes.values()].filter((eventType) => eventType.templateId === templateId)
}

/** The text as the event types of the template send it, with short links where clicks are tracked: the longest one. */
function maxText(catalog: Catalog, { text, content }: Rendered): string {
  const { templateId, channel } = text
  const eventTypes = eventTypesOf(catalog, templateId)
  const linkHosts = new Set([...catalog.linkHosts(templateId, channel), ...linkHostsOf([text])])
  const delivery = { userId: '', channel, linkHosts, now: 0 }
  return (eventTypes.length > 0 ? eventTypes : [{ sensitive: false }])
    .map((eventType) => catalog.shortenLinks?.({ ...delivery, eventType, content }).content.body ?? content.body)
    .reduce((max, text) => (text.length > max.length ? text : max))
}

function formatSms(text: string) {
  const { encoding, units, unitsPerSegment, segments, outsideGsm } = divideSms(text)
  return {
    encoding,
    segments: segments.length,
    units,
    units_per_segment: unitsPerSegment,
    parts: segments.map((segment) => segment.text),
    outside_gsm: [...outsideGsm],
  }
}

function formatSize({ bytes, maxBytes }: PushSize) {
  return { bytes, max_bytes: maxBytes }
}
