import { type AdmissionDecision, reasonOf } from '../../admission/admission.ts'
import { composeDedupKey } from '../../model/dedup-key.ts'
import { deliveryIdOf } from '../../model/id.ts'
import { outcomes as allOutcomes, type NotificationRecord, type TimelineEntry } from '../../model/notification.ts'

/** An entry as it is stored: one without a time leaves out what the notification's own row tells. */
export type StoredEntry = Omit<TimelineEntry, 'at'> & { readonly at?: number }

type Detail = Readonly<Record<string, unknown>>

/** What was decided of a notification when it was accepted, for its row: half the width of what {@link readDecisions} tells. */
export function storedDecisions({ notification, deliveries }: AdmissionDecision): StoredEntry[] {
  const { id, acceptedAt, decisions, sensitive } = notification
  const outcomes = deliveries.map((delivery): StoredEntry => {
    const { id: deliveryId, channel, outcome } = delivery
    const detail = {
      ...(deliveryId === deliveryIdOf(id, channel) ? {} : { delivery_id: deliveryId ?? null }),
      ...(outcome === 'duplicate' ? {} : reasonOf(delivery, sensitive)),
    }
    return { what: outcome, channel, ...withDetail(detail) }
  })
  return [...decisions.map((entry) => (entry.at === acceptedAt ? withoutRow(entry) : entry)), ...outcomes]
}

function withoutRow({ at: _at, ...entry }: TimelineEntry): StoredEntry {
  if (entry.what !== 'accepted') return entry
  const { event: _event, priority: _priority, ...detail } = entry.detail ?? {}
  return { what: entry.what, ...withDetail(detail) }
}

function withDetail(detail: Detail): { readonly detail?: Detail } {
  return Object.keys(detail).length === 0 ? {} : { detail }
}

type DecidedRow = Pick<NotificationRecord, 'id' | 'userId' | 'event' | 'priority' | 'acceptedAt' | 'dedupKey'>

/** The entries that say what became of a channel. */
export const outcomes: ReadonlySet<string> = new Set(allOutcomes)

/** The decisions of a row as its timeline tells them. */
export function readDecisions(row: DecidedRow, stored: readonly StoredEntry[]): TimelineEntry[] {
  return stored.map((entry) => {
    if (entry.at !== undefined) return { ...entry, at: entry.at }
    const { delivery_id: id, ...detail }: Detail = { ...ownDetail(row, entry), ...entry.detail }
    return {
      at: row.acceptedAt,
      ...entry,
      ...withDetail({ ...(typeof id === 'string' ? { delivery_id: id } : {}), ...detail }),
    }
  })
}

/** What a row says of an entry of its own. */
function ownDetail({ id, userId, event, priority, dedupKey }: DecidedRow, { what, channel }: StoredEntry): Detail {
  if (what === 'accepted') return { event, priority }
  if (!channel || !outcomes.has(what)) return {}
  return {
    delivery_id: deliveryIdOf(id, channel),
    ...(dedupKey === undefined ? {} : { dedup_key: composeDedupKey(event, dedupKey, userId, channel) }),
  }
}
