import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { type Channel, channels } from '../channel.ts'
import { isOutcome, type Outcome } from '../delivery/outcome.ts'
import { priorities } from './priority.ts'
import { reasonCodes } from './reason.ts'

const text = Type.String()
const instant = Type.String({ format: 'date-time' })
const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)
const members = <Members extends TProperties>(properties: Members) => Type.Object(properties)

/** Members of a detail that say why: the code, what it is about, and a sentence. */
export const reasonMembers = {
  reason_code: Type.Enum([...reasonCodes], { description: 'Why, as one of a closed set of codes.' }),
  params: optional(Type.Object({}, { additionalProperties: true, description: 'What the reason is about.' })),
  reason: Type.String({ description: 'Why, for people.' }),
}

/** Which text of a template a message was rendered from. */
export const TemplateVersion = Type.Object({ id: text, version: Type.Integer(), locale: text })
/** Which text of a template a message was rendered from. */
export type TemplateVersion = Readonly<Static<typeof TemplateVersion>>

const delivery = { delivery_id: optional(text), dedup_key: optional(text) }
const results = Type.Array(
  Type.Object(
    { target: text, provider: text, result: text, reason: optional(text) },
    { additionalProperties: true, description: 'What the provider of each target answered.' },
  ),
)
const attempt = {
  attempt: Type.Integer({ description: 'Counts the attempts of this delivery.' }),
  state: optional(text),
  results: optional(results),
  reason: optional(text),
}
const report = members({
  provider: text,
  state: optional(Type.String({ description: 'The state that the delivery came to, if the report changed it.' })),
  reason: optional(text),
  soft: optional(Type.Boolean({ description: 'A bounce after which the address is still good.' })),
  machine: optional(Type.Boolean({ description: 'No person opened or clicked.' })),
  link: optional(text),
})

/** The details of the timeline's entries: the one table of what is told, and of what each tells. */
export const timelineDetails = {
  accepted: members({
    source: text,
    resend_of: optional(Type.String({ description: 'The notification that it sends again.' })),
    event: text,
    priority: Type.Enum([...priorities]),
    count: optional(Type.Integer({ description: 'How many events were combined.' })),
  }),
  channels: members({
    channels: Type.Array(Type.Enum([...channels])),
    because: Type.Enum(['request', 'preference', 'preference for *', 'event type']),
  }),
  excluded: members(reasonMembers),
  quiet_hours: members({ until: instant, attempt: optional(Type.Integer()) }),
  missing_variables: members({ variables: Type.Array(text) }),
  queued: members({ ...delivery, template: optional(TemplateVersion) }),
  duplicate: members({ ...delivery, source: optional(text) }),
  capped: members({ ...delivery, ...reasonMembers, until: optional(instant) }),
  deferred: members(delivery),
  aggregated: members(delivery),
  no_recipient: members({ ...delivery, ...reasonMembers }),
  undeliverable: members({ ...delivery, ...reasonMembers }),
  failed: members({ ...delivery, ...reasonMembers, reason: optional(text) }),
  expired: members({ ...delivery, attempt: optional(Type.Integer()), expires_at: instant }),
  cancelled: members({ delivery_id: optional(text) }),
  resent: members({
    into: Type.String({ description: 'The notification that its event was sent as again.' }),
    channels: Type.Array(Type.Enum([...channels])),
  }),
  combined: members({ into: Type.String({ description: 'The notification that it was combined into.' }) }),
  sent: members(attempt),
  attempt_failed: members(attempt),
  postponed: members(attempt),
  finished: members({ ...attempt, expires_at: optional(instant) }),
  dead_letter: members({ ...attempt, reason_code: reasonMembers.reason_code }),
  replayed: members({ at: instant }),
  replay_stopped: members({ delivery_id: optional(text) }),
  acknowledged: report,
  delivered: report,
  opened: report,
  clicked: report,
  bounced: report,
  complained: report,
  unsubscribed: report,
} as const

/** What an entry of a timeline tells. */
export type TimelineEntryType = keyof typeof timelineDetails

/** Everything that a timeline tells. */
export const timelineEntryTypes = Object.keys(timelineDetails) as readonly TimelineEntryType[]

type ReadonlyDeep<Value> = Value extends readonly (infer Item)[]
  ? readonly ReadonlyDeep<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: ReadonlyDeep<Value[Name]> }
    : Value

/** An entry of one type: something that was decided or happened, told in a notification's timeline. */
export interface TimelineEntryOf<What extends TimelineEntryType> {
  /** Unix milliseconds. */
  readonly at: number
  readonly what: What
  readonly channel?: Channel
  readonly detail?: ReadonlyDeep<Static<(typeof timelineDetails)[What]>>
}

/** An entry of a timeline, discriminated by `what`. */
export type TimelineEntry = { [What in TimelineEntryType]: TimelineEntryOf<What> }[TimelineEntryType]

/** An entry that says what became of one channel of an accepted event. */
export type OutcomeEntry = Extract<TimelineEntry, { readonly what: Outcome }>

/** Whether an entry says what became of a channel. */
export function isOutcomeEntry(entry: TimelineEntry): entry is OutcomeEntry {
  return isOutcome(entry.what)
}
