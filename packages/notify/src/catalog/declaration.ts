import { maxPlaceLength } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import { channels } from '../model/channel.ts'
import { trackings } from '../model/delivery/tracking.ts'
import type { EventType } from '../model/notification/event-type.ts'
import { priorities } from '../model/notification/priority.ts'
import type { Recipient } from '../store/store.ts'

const Channels = Type.Array(Type.Enum([...channels]), { uniqueItems: true })

/** What messages tell about their reader, by channel. */
const TrackingByChannel = Type.Object(
  Object.fromEntries(
    channels.map((channel) => [channel, Type.Optional(Type.Enum([...trackings], { description: `Of ${channel}.` }))]),
  ),
  { additionalProperties: false, description: 'By channel; those that are left out are as by default' },
)

/** The greatest number that the database counts events of a type to. */
const maxRateLimit = 2_147_483_647

/** The settings of an event type, as the configuration file and PUT /v1/event-types/{event} write them. */
export const EventTypeSettings = Type.Object(
  {
    priority: Type.Optional(
      Type.Enum([...priorities], {
        description:
          'critical (security, payments) bypasses caps and quiet hours and overtakes the others; low gives way. Default normal',
      }),
    ),
    channels: Type.Array(Type.Enum([...channels]), {
      uniqueItems: true,
      description: 'Channels of users without a preference',
      examples: [['push', 'email']],
    }),
    template_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: "Its template. Default: the event type's own name" }),
    ),
    aggregation: Type.Optional(
      Type.Object(
        {
          threshold: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 1000,
              description: 'Items above which one combined notification is sent. Default 3',
            }),
          ),
          actor: Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'Path of the actor in data, dots between members',
            examples: ['actor.name'],
          }),
        },
        { additionalProperties: false, description: 'Gathers a burst of these into one notification' },
      ),
    ),
    rate_limit: Type.Optional(
      Type.Object(
        {
          limit: Type.Integer({
            minimum: 1,
            maximum: maxRateLimit,
            description: 'Most events of this type in the span',
          }),
          per_seconds: Type.Integer({ minimum: 1, maximum: 86_400, description: 'The span in seconds' }),
        },
        { additionalProperties: false, description: 'Holds off floods of this event type' },
      ),
    ),
    ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description:
          'How long after its event a message may still be sent, in seconds; later it expires. For codes and links that end. Default: however late',
        examples: [300],
      }),
    ),
    title: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The name people see where they choose what reaches them. Default: derived from the name',
        examples: ['Your order is on its way'],
      }),
    ),
    tracking: Type.Optional(
      Type.Union([Type.Enum([...trackings]), TrackingByChannel], {
        description:
          'What its messages record about their reader: opens (of mails), clicks, both (on) or nothing (off), on every channel or by channel. Default: as notify.tracking',
      }),
    ),
    failover_on_timeout: Type.Optional(
      Type.Boolean({
        description:
          'Whether a message whose provider did not answer in time, and may have sent it, goes to the next provider: it may arrive twice. Default true, but for critical SMS',
      }),
    ),
    sensitive: Type.Optional(
      Type.Boolean({
        description: 'Body and data are erased after sending and never shown in a timeline. Default false',
      }),
    ),
  },
  { title: 'EventTypeSettings', additionalProperties: false },
)

/** What an event type may be called: it goes into paths and header fields, and `*` stands for all of them in preferences. */
export const EventTypeName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^(?!\\*$)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
  description: 'Name of the event type: one line of text, but not *',
  examples: ['order.shipped'],
})

/** An entry of `event_types:` in the configuration file. */
export const EventTypeDeclaration = Type.Object(
  {
    event: EventTypeName,
    ...EventTypeSettings.properties,
  },
  { title: 'EventType', additionalProperties: false, description: 'An event type that producers may submit' },
)

/** An event type as it is declared in the configuration file and by the API. */
export type EventTypeDeclaration = Static<typeof EventTypeDeclaration>

/** Reads the settings of an event type, defaults filled in. */
export function eventTypeOf(event: string, settings: Static<typeof EventTypeSettings>, threshold: number): EventType {
  const { aggregation, rate_limit: rate } = settings
  return {
    event,
    priority: settings.priority ?? 'normal',
    channels: settings.channels,
    templateId: settings.template_id ?? event,
    ...(aggregation
      ? { aggregation: { threshold: aggregation.threshold ?? threshold, actor: aggregation.actor } }
      : {}),
    ...(rate ? { rate: { limit: rate.limit, perSeconds: rate.per_seconds } } : {}),
    ...(settings.ttl_seconds === undefined ? {} : { ttlSeconds: settings.ttl_seconds }),
    ...(settings.title === undefined ? {} : { title: settings.title }),
    ...(settings.tracking === undefined ? {} : { tracking: settings.tracking }),
    ...(settings.failover_on_timeout === undefined ? {} : { failoverOnTimeout: settings.failover_on_timeout }),
    sensitive: settings.sensitive ?? false,
  }
}

/** Writes an event type as its endpoint answers it. */
export function eventTypeRecord(eventType: EventType): EventTypeDeclaration {
  const { event, priority, channels: chosen, templateId, aggregation, rate, title, tracking, sensitive } = eventType
  const { failoverOnTimeout, ttlSeconds } = eventType
  return {
    event,
    priority,
    channels: [...chosen],
    template_id: templateId,
    ...(aggregation ? { aggregation: { ...aggregation } } : {}),
    ...(rate ? { rate_limit: { limit: rate.limit, per_seconds: rate.perSeconds } } : {}),
    ...(ttlSeconds === undefined ? {} : { ttl_seconds: ttlSeconds }),
    ...(title === undefined ? {} : { title }),
    ...(tracking === undefined ? {} : { tracking }),
    ...(failoverOnTimeout === undefined ? {} : { failover_on_timeout: failoverOnTimeout }),
    sensitive,
  }
}

const optionalText = (maxLength: number, description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, examples: [example] }))

/** A telephone number in E.164. */
export const phoneNumberPattern = '^\\+[1-9]\\d{4,14}$'

/** How a recipient can be reached, as PUT /v1/recipients/{user_id} takes it. */
export const RecipientSettings = Type.Object(
  {
    email: Type.Optional(
      Type.String({
        format: 'email',
        maxLength: 254,
        description: 'Email address',
        examples: ['alice@example.com'],
      }),
    ),
    phone_number: Type.Optional(
      Type.String({
        pattern: phoneNumberPattern,
        description: 'Telephone number, E.164',
        examples: ['+14155550100'],
      }),
    ),
    locale: optionalText(maxPlaceLength, 'Language of texts, BCP 47', 'en'),
    zoneinfo: optionalText(maxPlaceLength, 'Time zone, IANA name', 'Europe/Berlin'),
  },
  { title: 'RecipientSettings', additionalProperties: false },
)

/** An entry of `recipients:` in the configuration file. */
export const RecipientDeclaration = Type.Object(
  {
    user_id: Type.String({ minLength: 1, maxLength: 256, description: 'The user', examples: ['alice'] }),
    ...RecipientSettings.properties,
    devices: Type.Optional(
      Type.Array(
        Type.Object(
          {
            device_id: Type.String({ minLength: 1, maxLength: 256 }),
            token: Type.String({ minLength: 1, maxLength: 4096, description: "The push provider's token" }),
            service: Type.Optional(
              Type.String({
                minLength: 1,
                maxLength: 50,
                description: 'The push service, such as fcm, apns or web. Default fcm',
              }),
            ),
          },
          { additionalProperties: false },
        ),
        { description: 'Devices that push reaches' },
      ),
    ),
  },
  { additionalProperties: false, description: 'Whom the notification service can reach' },
)

/** A recipient as the configuration file declares it. */
export type RecipientDeclaration = Static<typeof RecipientDeclaration>

/** Reads a recipient. */
export function recipientOf(userId: string, settings: Static<typeof RecipientSettings>): Recipient {
  const { email, phone_number: phoneNumber, locale, zoneinfo } = settings
  return {
    userId,
    ...(email === undefined ? {} : { email }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
    ...(locale === undefined ? {} : { locale }),
    ...(zoneinfo === undefined ? {} : { zoneinfo }),
  }
}

/** Writes a recipient as its endpoint answers it. */
export function recipientRecord(recipient: Recipient): Static<typeof RecipientRecord> {
  const { userId, email, phoneNumber, locale, zoneinfo } = recipient
  return {
    user_id: userId,
    ...(email === undefined ? {} : { email }),
    ...(phoneNumber === undefined ? {} : { phone_number: phoneNumber }),
    ...(locale === undefined ? {} : { locale }),
    ...(zoneinfo === undefined ? {} : { zoneinfo }),
  }
}

/** A recipient as the API writes it. */
export const RecipientRecord = Type.Object(
  { user_id: Type.String(), ...RecipientSettings.properties },
  { title: 'Recipient' },
)

/** The channels of a preference or a request. */
export const ChannelList = Channels
