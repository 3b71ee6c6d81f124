import type { NotificationFilter } from '../../model/notification-filter.ts'
import type { ProviderMessage } from '../../store/store.ts'

/** Conditions of a search with their values, as `$n` from a first number on. */
export interface Conditions {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Columns of a notification that conditions compare. */
export const comparedColumns = 'n.bucket, n.id, n.user_id, n.event, n.priority, n.dedup_key, n.decisions'

/** The deliveries of a notification: their ids follow its own and differ in the digit of the channel. */
const ofNotification = `d.bucket = n.bucket AND d.id > n.id AND d.id < overlay(n.id::text PLACING 'f' FROM 32 FOR 1)::uuid`

/**
 * What a notification `n` has to have to be worth reading: everything that its row and its deliveries say, and of outcomes
 * what does not rule them out, since the last one counts.
 */
export function conditionsOn(filter: NotificationFilter, firstParameter: number): Conditions {
  const { userId, event, priority, dedupKey, channel, state, provider, outcome } = filter
  const values: unknown[] = []
  const place = (value: unknown) => `$${firstParameter - 1 + values.push(value)}::text`
  const parts: string[] = []
  const equal = (column: string, value: unknown) => value !== undefined && parts.push(`${column} = ${place(value)}`)
  equal('n.user_id', userId)
  equal('n.event', event)
  equal('n.priority', priority)
  equal('n.dedup_key', dedupKey)
  if (state !== undefined || provider !== undefined) {
    const own = [
      ...(channel === undefined ? [] : [`d.channel = ${place(channel)}`]),
      ...(state === undefined ? [] : [`d.state = ${place(state)}`]),
      ...(provider === undefined ? [] : [`d.provider = ${place(provider)}`]),
    ]
    parts.push(`EXISTS (SELECT FROM notify.delivery d WHERE ${ofNotification} AND ${own.join(' AND ')})`)
  } else if (channel !== undefined) {
    const [named, own] = [place(`%"channel":"${channel}"%`), place(channel)]
    parts.push(`(n.decisions::text LIKE ${named}
      OR EXISTS (SELECT FROM notify.delivery d WHERE ${ofNotification} AND d.channel = ${own}))`)
  }
  // Of a delivery without an entry nothing is known but that it is in the queue.
  if (outcome !== undefined && outcome !== 'queued') {
    const [decided, later] = [place(`%"what":"${outcome}"%`), place(outcome)]
    parts.push(`(n.decisions::text LIKE ${decided}
      OR EXISTS (SELECT FROM notify.timeline_entry e
                  WHERE e.bucket = n.bucket AND e.notification_id = n.id AND e.entry_type = ${later}))`)
  }
  return { text: parts.join(' AND ') || 'true', values }
}

/** What a delivery `n` has to have to be the message that a provider knows by its own id. */
export function conditionsOnMessage(message: ProviderMessage, firstParameter: number): Conditions {
  const { provider, providerMessageId } = message
  const id = `n.provider_message_id = $${firstParameter}::text`
  if (provider === undefined) return { text: id, values: [providerMessageId] }
  return { text: `${id} AND n.provider = $${firstParameter + 1}::text`, values: [providerMessageId, provider] }
}
