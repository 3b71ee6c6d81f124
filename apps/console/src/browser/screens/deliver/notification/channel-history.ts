import type { Delivery, TimelineEntry } from '../../../api/records.ts'
import { partByChannel } from '../timeline.ts'

/** What a step of a history is: what was decided, what providers were asked, what they reported. */
export type StepKind = 'decision' | 'attempts' | 'reports'

/** Entries of one kind in a row. */
export interface HistoryStep {
  readonly kind: StepKind
  readonly entries: readonly TimelineEntry[]
  /** From the end of the step before to its own end, in milliseconds. */
  readonly durationMs: number
}

/** What happened on one channel; `undefined` for what concerns the whole notification. */
export interface ChannelHistory {
  readonly channel: string | undefined
  readonly delivery: Delivery | undefined
  readonly steps: readonly HistoryStep[]
  readonly durationMs: number
}

const attempts = new Set(['sent', 'attempt_failed', 'postponed', 'finished', 'dead_letter', 'replayed'])
const reports = new Set(['acknowledged', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed'])

/** The kind of step that an entry is of. */
export function kindOf({ what }: Pick<TimelineEntry, 'what'>): StepKind {
  if (attempts.has(what)) return 'attempts'
  return reports.has(what) ? 'reports' : 'decision'
}

/** The histories of a notification: entries of one kind that follow each other are one step, with its duration. */
export function historiesOf(
  deliveries: readonly Delivery[],
  timeline: readonly TimelineEntry[],
): readonly ChannelHistory[] {
  return partByChannel(deliveries, timeline).map(({ channel, delivery, entries }) => {
    const steps = stepsOf(entries)
    return { channel, delivery, steps, durationMs: steps.reduce((sum, { durationMs }) => sum + durationMs, 0) }
  })
}

function stepsOf(entries: readonly TimelineEntry[]): readonly HistoryStep[] {
  const runs: TimelineEntry[][] = []
  for (const entry of entries) {
    const run = runs.at(-1)
    if (run?.[0] !== undefined && kindOf(run[0]) === kindOf(entry)) run.push(entry)
    else runs.push([entry])
  }
  return runs.map((run, n) => {
    const before = runs[n - 1]?.at(-1) ?? run[0]
    return { kind: run[0] ? kindOf(run[0]) : 'decision', entries: run, durationMs: between(before, run.at(-1)) }
  })
}

function between(from: TimelineEntry | undefined, to: TimelineEntry | undefined): number {
  return from && to ? Math.max(0, Date.parse(to.at) - Date.parse(from.at)) : 0
}

/** Whether something of a notification may still be sent: it can be cancelled. */
export function isWaiting(deliveries: readonly Delivery[]): boolean {
  const waits = new Set(['queued', 'deferred', 'aggregated'])
  return deliveries.some(
    ({ outcome, state, ended }) => waits.has(outcome) && ended === undefined && (state ?? 'queued') === 'queued',
  )
}

/** Another notification that one is connected with: by its own id, or by that of a delivery of it. */
export type Relation =
  | { readonly kind: 'resendOf' | 'resentAs' | 'combinedInto'; readonly id: string }
  | { readonly kind: 'duplicateOf'; readonly deliveryId: string }

/** The notifications that one is connected with. */
export function relationsOf(deliveries: readonly Delivery[], timeline: readonly TimelineEntry[]): readonly Relation[] {
  const duplicates = deliveries.flatMap(({ outcome, id }): Relation[] =>
    outcome === 'duplicate' && id !== undefined ? [{ kind: 'duplicateOf', deliveryId: id }] : [],
  )
  const named = timeline.flatMap(({ what, detail = {} }): Relation[] => {
    const { into, resend_of: resendOf } = detail as Readonly<Record<string, unknown>>
    if (what === 'accepted' && typeof resendOf === 'string') return [{ kind: 'resendOf', id: resendOf }]
    if (typeof into !== 'string') return []
    return what === 'resent' ? [{ kind: 'resentAs', id: into }] : [{ kind: 'combinedInto', id: into }]
  })
  return [...named, ...duplicates]
}

/** Whether the email of a notification is the fallback of its push: it was queued when that had failed for good. */
export function isFallback({ channel, steps }: ChannelHistory, histories: readonly ChannelHistory[]): boolean {
  if (channel !== 'email') return false
  const push = histories.find((history) => history.channel === 'push')
  const died = push?.steps.flatMap(({ entries }) => entries).find(({ what }) => what === 'dead_letter')
  const queued = steps[0]?.entries.find(({ what }) => what === 'queued')
  return died !== undefined && queued !== undefined && Date.parse(queued.at) >= Date.parse(died.at)
}
