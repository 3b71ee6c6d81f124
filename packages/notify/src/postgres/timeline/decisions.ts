import { type AdmissionDecision, detailOf } from '../../admission/admission.ts'
import type { Channel } from '../../model/channel.ts'
import { isOutcome } from '../../model/delivery/outcome.ts'
import { deliveryIdOf } from '../../model/id.ts'
import { composeDedupKey } from '../../model/notification/dedup-key.ts'
import type { NotificationRecord } from '../../model/notification/notification.ts'
import type { TemplateVersion, TimelineEntry } from '../../model/notification/timeline.ts'

type Detail = Readonly<Record<string, unknown>>

/** An entry as it is stored: one without a time leaves out what the notification's own row tells. */
export interface StoredEntry {
  readonly at?: number
  readonly what: string
  readonly channel?: Channel
  readonly detail?: Detail
}

/** What was decided of a notification when it was accepted, for its row: half the width of what {@link readDecisions} tells. */
export function storedDecisions({ notification, deliveries }: AdmissionDecision): StoredEntry[] {
  const { id, acceptedAt, decisions, sensitive } = notification
  const outcomes = deliveries.map((delivery): StoredEntry => {
    const { id: deliveryId, channel, outcome } = delivery
    const detail = {
      ...(deliveryId === deliveryIdOf(id, channel) ? {} : { delivery_id: deliveryId ?? null }),
      ...(outcome === 'duplicate' ? {} : withoutEvent(notification.event, detailOf(delivery, sensitive))),
    }
    return { what: outcome, channel, ...withDetail(detail) }
  })
  return [...decisions.map((entry) => (entry.at === acceptedAt ? withoutRow(entry) : entry)), ...outcomes]
}

/** The template of an event type has its name, unless another one was chosen. */
function withoutEvent(event: string, detail: Detail): Detail {
  const { id, ...template } = (detail.template ?? {}) as Partial<TemplateVersion>
  return id === event ? { ...detail, template } : detail
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

/** The decisions of a row as its timeline tells them. */
export function readDecisions(row: DecidedRow, stored: readonly StoredEntry[]): TimelineEntry[] {
  return stored.map((entry) => {
    if (entry.at !== undefined) return { ...entry, at: entry.at } as TimelineEntry
    const { delivery_id: id, ...detail }: Detail = { ...ownDetail(row, entry), ...entry.detail }
    const template = detail.template ? { template: { id: row.event, ...detail.template } } : {}
    return {
      at: row.acceptedAt,
      ...entry,
      ...withDetail({ ...(typeof id === 'string' ? { delivery_id: id } : {}), ...detail, ...template }),
    } as TimelineEntry
  })
}

/** What a row says of an entry of its own. */
function ownDetail({ id, userId, event, priority, dedupKey }: DecidedRow, { what, channel }: StoredEntry): Detail {
  if (what === 'accepted') return { event, priority }
  if (!channel || !isOutcome(what)) return {}
  return {
    delivery_id: deliveryIdOf(id, channel),
    ...(dedupKey === undefined ? {} : { dedup_key: composeDedupKey(event, dedupKey, userId, channel) }),
  }
}
