import type { AdmissionDecision } from '../admission/admission.ts'
import type { Agendas } from '../agenda/agendas.ts'
import type { Channel } from '../model/channel.ts'
import { bucketOfId } from '../model/id.ts'
import type { WorkKind } from '../model/work/work-kind.ts'

/**
 * Says in which buckets there is something to do, so that workers need not wait: in this process at once, and soon in that
 * which owns the bucket. Hints, never promises: what a lost one said is found by a survey. Where the buckets are left out,
 * it may be any; times are Unix milliseconds, and left out where it is now.
 */
export interface Hints {
  /** Deliveries of these may have been queued, deferred or put into a window. */
  onAdmitted(decided: readonly AdmissionDecision[]): void
  /** Deliveries of a channel can be claimed, or can be again. */
  onQueued(channel: Channel, buckets: readonly number[], dueAt?: number): void
  /** Something is to be planned again: a fallback, a replay. */
  onDeferred(buckets?: readonly number[], dueAt?: number): void
  /** Something is scheduled. */
  onDue(buckets?: readonly number[], dueAt?: number): void
  /** Events of the topic were parked; some may be released from then on. */
  onParked(buckets: readonly number[], dueAt?: number): void
  /** States have changed. */
  onChanged(buckets?: readonly number[]): void
}

/** Hints to the agendas of a process. */
export function createHints(agendas: Agendas): Hints {
  return {
    onAdmitted(decided) {
      for (const { kind, dueAt, buckets } of dueAfter(decided, agendas.count)) agendas.hint(kind, buckets, dueAt)
    },
    onQueued: (channel, buckets, dueAt) => agendas.hint(`deliver ${channel}`, buckets, dueAt),
    onDeferred: (buckets, dueAt) => agendas.hint('resume', buckets, dueAt),
    onDue: (buckets, dueAt) => agendas.hint('schedule', buckets, dueAt),
    onParked: (buckets, dueAt) => agendas.hint('release', buckets, dueAt),
    onChanged: (buckets) => agendas.hint('outbox', buckets),
  }
}

interface DueBuckets {
  readonly kind: WorkKind
  readonly dueAt: number | undefined
  readonly buckets: readonly number[]
}

/** What is due after an admission: each kind and time once, with its buckets. */
function dueAfter(decided: readonly AdmissionDecision[], count: number): DueBuckets[] {
  const due = new Map<string, { kind: WorkKind; dueAt: number | undefined; buckets: Set<number> }>()
  const add = (kind: WorkKind, bucket: number, dueAt?: number) => {
    const key = `${kind} ${dueAt}`
    const known = due.get(key) ?? { kind, dueAt, buckets: new Set() }
    known.buckets.add(bucket)
    due.set(key, known)
  }
  for (const { notification, deliveries } of decided) {
    const bucket = bucketOfId(notification.id, count)
    for (const { channel, outcome, plan } of deliveries) {
      if (outcome === 'queued') add(`deliver ${channel}`, bucket)
      else if (outcome === 'deferred' && plan.kind === 'defer') add('resume', bucket, plan.resumeAt)
      else if (outcome === 'aggregated' && notification.item) add('resume', bucket, notification.item.flushAt)
    }
  }
  return [...due.values()].map(({ kind, dueAt, buckets }) => ({ kind, dueAt, buckets: [...buckets] }))
}
