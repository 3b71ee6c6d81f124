import type { Channel } from '../channel.ts'
import type { SuppressionReason } from '../delivery/suppression.ts'

/** What a reason is about, by its code. Codes without parameters have none to show. */
interface ReasonParams {
  readonly channel_off: undefined
  readonly preference: undefined
  readonly event_type_removed: undefined
  readonly event_type_reserved: undefined
  readonly data_erased: undefined
  readonly no_device: undefined
  readonly no_email_address: undefined
  readonly no_phone_number: undefined
  readonly no_feed: undefined
  readonly address_suppressed: { readonly suppression: SuppressionReason }
  readonly template_missing: { readonly template_id: string; readonly channel: Channel }
  readonly template_failed: { readonly template_id: string; readonly channel: Channel }
  readonly dedup_key_used: { readonly notification_id?: string }
  readonly cap_reached: { readonly cap: string; readonly limit: number }
  readonly quiet_hours: { readonly until: string }
  readonly expires_in_quiet_hours: { readonly until: string }
  readonly aggregated: { readonly until: string }
  readonly expired: { readonly expires_at: string }
  readonly permanent: undefined
  readonly attempts_exhausted: undefined
  readonly unregistered: undefined
  readonly worker_died: undefined
  readonly waited_too_long: undefined
}

/** Why a channel of a notification is not sent to, or not now; the last five are causes of dead letters. */
export type ReasonCode = keyof ReasonParams

/**
 * The sentence of each code: the one table of reasons. What a template or a provider says is quoted in place of the
 * sentence.
 */
const sentences: { readonly [Code in ReasonCode]: (params: NonNullable<ReasonParams[Code]>) => string } = {
  channel_off: () => 'the channel is off',
  preference: () => 'preference',
  event_type_removed: () => 'the event type was removed',
  event_type_reserved: () => 'a mail of a reserved event type is not planned again',
  data_erased: () => 'the data was erased',
  no_device: () => 'the user has no device',
  no_email_address: () => 'the user has no email address',
  no_phone_number: () => 'the user has no telephone number',
  no_feed: () => 'the user has no feed',
  address_suppressed: ({ suppression }) => `its address is left out: ${suppression}`,
  template_missing: ({ template_id, channel }) => `the template ${template_id} has no text for ${channel}`,
  template_failed: ({ template_id, channel }) => `the ${channel} text of the template ${template_id} failed`,
  dedup_key_used: ({ notification_id: id }) =>
    id === undefined ? 'its dedup_key is in use' : `its dedup_key is ${id}'s`,
  cap_reached: ({ cap, limit }) => `the cap ${cap} of ${limit} is reached`,
  quiet_hours: () => 'quiet hours',
  expires_in_quiet_hours: () => 'quiet hours, in which it expires',
  aggregated: () => 'it is gathered with others of its kind',
  expired: () => 'it was too late to send it',
  permanent: () => 'a provider rejected it for good',
  attempts_exhausted: () => 'every attempt failed',
  unregistered: () => 'no device of the user is registered any more',
  worker_died: () => 'too many workers died while they held it',
  waited_too_long: () => 'no provider accepted it in time',
}

/** Every code. */
export const reasonCodes = Object.keys(sentences) as readonly ReasonCode[]

/** A decision's reason: its code, what it is about, and the sentence for people. */
export interface Reason<Code extends ReasonCode = ReasonCode> {
  readonly reason_code: Code
  readonly params?: NonNullable<ReasonParams[Code]>
  readonly reason: string
}

type Params<Code extends ReasonCode> = ReasonParams[Code] extends undefined ? [] : [params: ReasonParams[Code]]

/** Returns the reason of a code, with its sentence. */
export function createReason<Code extends ReasonCode>(code: Code, ...[params]: Params<Code>): Reason<Code> {
  const known = (params ?? {}) as NonNullable<ReasonParams[Code]>
  return { reason_code: code, ...(params === undefined ? {} : { params: known }), reason: sentences[code](known) }
}

/** Codes whose reason quotes something else: what a template lacks or does, or what a provider answered. */
const quotingCodes: ReadonlySet<unknown> = new Set<ReasonCode>([
  'template_missing',
  'template_failed',
  'permanent',
  'attempts_exhausted',
])

/** Whether the sentence of a reason with this code is ours to the last word. */
export function isOwnSentence(code: unknown): boolean {
  return typeof code === 'string' && Object.hasOwn(sentences, code) && !quotingCodes.has(code)
}
