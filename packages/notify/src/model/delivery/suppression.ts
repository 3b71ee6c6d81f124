import type { Channel } from '../channel.ts'
import type { DeliveryReport } from './delivery-state.ts'

/** Why nothing is sent to an address. */
export const suppressionReasons = ['bounced', 'complained', 'unsubscribed', 'manual'] as const

/** Why an address is suppressed. */
export type SuppressionReason = (typeof suppressionReasons)[number]

/** Stands for every event type in a scope, and for any address of the user's in an address. */
export const all = '*'

/** What is not sent where, and why. */
export interface Suppression {
  readonly channel: Channel
  /** The address, or `*` for any of the user's on the channel. */
  readonly address: string
  /** An event type, or `*` for all. */
  readonly scope: string
  readonly reason: SuppressionReason
  /** Unix milliseconds; left out where it lasts until it is lifted. */
  readonly expiresAt?: number
}

/** A message that is about to be sent. */
interface OutgoingMessage {
  readonly channel: Channel
  readonly address: string
  readonly event: string
  readonly critical: boolean
  readonly now: number
}

/** A choice of the recipient, which leaves critical messages alone, such as a sign-in code. A dead address leaves none. */
const wishes: ReadonlySet<SuppressionReason> = new Set(['complained', 'unsubscribed'])

/** Whether a suppression keeps a message from going out. */
export function suppresses(entry: Suppression, { channel, address, event, critical, now }: OutgoingMessage): boolean {
  return (
    entry.channel === channel &&
    (entry.address === all || sameAddress(channel, entry.address, address)) &&
    (entry.scope === all || entry.scope === event) &&
    (entry.expiresAt === undefined || entry.expiresAt > now) &&
    !(critical && wishes.has(entry.reason))
  )
}

/** Mail addresses differ by more than their case, other addresses by every letter. */
function sameAddress(channel: Channel, one: string, other: string): boolean {
  return channel === 'email' ? one.toLowerCase() === other.toLowerCase() : one === other
}

/** For how many days a bounce or a complaint keeps an address from being used; left out: until it is lifted. */
export type SuppressionDays = Partial<Readonly<Record<'bounced' | 'complained', number>>>

/** What a suppression is made of, when it is a report or a provider's answer that makes it. */
export interface Suppressing {
  readonly reason: SuppressionReason
  readonly expiresAt?: number
}

/** What a report makes of its address: a hard bounce, a complaint and an unsubscription suppress it; a soft bounce doesn't. */
export function suppressingOf(
  report: DeliveryReport,
  soft: boolean,
  days: SuppressionDays,
  now: number,
): Suppressing | undefined {
  if (report === 'bounced') return soft ? undefined : suppressing(report, days, now)
  if (report === 'complained' || report === 'unsubscribed') return suppressing(report, days, now)
  return undefined
}

/** A suppression that begins now, with the end that its reason has. */
export function suppressing(reason: SuppressionReason, days: SuppressionDays, now: number): Suppressing {
  const lasts = reason === 'bounced' || reason === 'complained' ? days[reason] : undefined
  return { reason, ...(lasts === undefined ? {} : { expiresAt: now + lasts * 86_400_000 }) }
}
