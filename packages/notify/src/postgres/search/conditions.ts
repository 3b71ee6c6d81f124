import type { Channel } from '../../model/channel.ts'
import type { NotificationFilter } from '../../model/notification/notification-filter.ts'
import type { ProviderMessage } from '../../store/store.ts'

/** Conditions of a search with their values, as `$n` from a first number on. */
export interface Conditions {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Columns of a notification that conditions compare. */
export const comparedColumns = 'n.bucket, n.id, n.user_id, n.event, n.priority, n.dedup_key, n.decisions'

/** Columns of a delivery that conditions compare. */
export const comparedOfDelivery = 'n.bucket, n.id, n.channel, n.state, n.provider'

/** The deliveries of a notification: their ids follow its own and differ in the digit of the channel. */
const ofNotification = `d.bucket = n.bucket AND d.id > n.id AND d.id < overlay(n.id::text PLACING 'f' FROM 32 FOR 1)::uuid`

/** Conditions that are written one after the other. */
class ConditionList {
  readonly parts: string[] = []
  readonly values: unknown[] = []
  readonly #first: number

  constructor(firstParameter: number) {
    this.#first = firstParameter
  }

  place(value: unknown): string {
    return `$${this.#first - 1 + this.values.push(value)}::text`
  }

  equal(column: string, value: unknown): void {
    if (value !== undefined) this.parts.push(`${column} = ${this.place(value)}`)
  }

  get text(): string {
    return this.parts.join(' AND ') || 'true'
  }
}

/** Whether a delivery has to have something that its own row says. */
export const comparesDeliveries = ({ state, provider }: NotificationFilter) =>
  state !== undefined || provider !== undefined

/**
 * What a notification `n` has to have to be worth reading: everything that its row and its deliveries say, and of outcomes
 * what does not rule them out, since the last one counts.
 */
export function conditionsOn(filter: NotificationFilter, firstParameter: number): Conditions {
  const list = new ConditionList(firstParameter)
  compareNotification(list, 'n', filter)
  if (comparesDeliveries(filter)) {
    const own = new ConditionList(firstParameter + list.values.length)
    compareDelivery(own, 'd', filter)
    list.values.push(...own.values)
    list.parts.push(`EXISTS (SELECT FROM notify.delivery d WHERE ${ofNotification} AND ${own.text})`)
  } else addChannel(list, filter)
  addOutcome(list, 'n', filter)
  return { text: list.text, values: list.values }
}

/**
 * The same of a delivery `n` and its notification, which is read only where the delivery's own row passes. A subquery for
 * each row, which no planner turns into a join that reads the whole table.
 */
export function conditionsOnDelivery(filter: NotificationFilter, firstParameter: number): Conditions {
  const own = new ConditionList(firstParameter)
  compareDelivery(own, 'n', filter)
  const list = new ConditionList(firstParameter + own.values.length)
  compareNotification(list, 'o', filter)
  addOutcome(list, 'o', filter)
  if (list.parts.length > 0)
    own.parts.push(`(SELECT ${list.text} FROM notify.notification o
      WHERE o.bucket = n.bucket AND o.id = overlay(n.id::text PLACING '0' FROM 32 FOR 1)::uuid)`)
  return { text: own.text, values: [...own.values, ...list.values] }
}

function compareNotification(list: ConditionList, row: string, filter: NotificationFilter): void {
  list.equal(`${row}.user_id`, filter.userId)
  list.equal(`${row}.event`, filter.event)
  list.equal(`${row}.priority`, filter.priority)
  list.equal(`${row}.dedup_key`, filter.dedupKey)
}

function compareDelivery(list: ConditionList, row: string, filter: NotificationFilter): void {
  list.equal(`${row}.channel`, filter.channel)
  list.equal(`${row}.state`, filter.state)
  list.equal(`${row}.provider`, filter.provider)
}

/** The decisions name each channel but that of a fallback: an email after a push. */
function addChannel(list: ConditionList, { channel }: NotificationFilter): void {
  if (channel === undefined) return
  const named = (name: Channel) => `n.decisions::text LIKE ${list.place(`%"channel":"${name}"%`)}`
  const decided = named(channel)
  if (channel !== 'email') list.parts.push(decided)
  else
    list.parts.push(`(${decided} OR (${named('push')}
      AND EXISTS (SELECT FROM notify.delivery d WHERE ${ofNotification} AND d.channel = ${list.place(channel)})))`)
}

/** Of a delivery without an entry nothing is known but that it is in the queue. */
function addOutcome(list: ConditionList, row: string, { outcome }: NotificationFilter): void {
  if (outcome === undefined || outcome === 'queued') return
  const [decided, later] = [list.place(`%"what":"${outcome}"%`), list.place(outcome)]
  list.parts.push(`(${row}.decisions::text LIKE ${decided}
    OR EXISTS (SELECT FROM notify.timeline_entry e
                WHERE e.bucket = ${row}.bucket AND e.notification_id = ${row}.id AND e.entry_type = ${later}))`)
}

/** What a delivery `n` has to have to be the message that a provider knows by its own id. */
export function conditionsOnMessage(message: ProviderMessage, firstParameter: number): Conditions {
  const { provider, providerMessageId } = message
  const id = `n.provider_message_id = $${firstParameter}::text`
  if (provider === undefined) return { text: id, values: [providerMessageId] }
  return { text: `${id} AND n.provider = $${firstParameter + 1}::text`, values: [providerMessageId, provider] }
}
