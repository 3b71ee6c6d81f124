import type { DeliveryDecision } from '../../admission/admission.ts'
import type { DeliveryPlan, PlannedNotification } from '../../admission/planned.ts'
import { type Catalog, unfilledText } from '../../catalog/catalog.ts'
import type { Channel } from '../../model/channel.ts'
import { notificationIdOf } from '../../model/id.ts'
import { maskReason } from '../../model/masking.ts'
import { createReason, isOwnSentence, type Reason } from '../../model/notification/reason.ts'
import type { Gathered, LaterPlan } from '../../plan/later.ts'

/** What would become of a channel, now or at the end of its wait. */
interface Foreseen extends Partial<Omit<Reason, 'params'>> {
  readonly outcome: string
  readonly params?: object
  readonly until?: string
  readonly subject: string | undefined
  readonly body: string | undefined
  readonly locale: string | undefined
}

/** What would become of a channel, as the API writes it. */
export interface Explained extends Foreseen {
  readonly channel: Channel
  readonly later?: Foreseen & { readonly at: string }
}

/** With the texts as they stand in the template, their variables unfilled. */
export function maskExplained(explained: Explained, templateId: string, catalog: Catalog): Explained {
  const { channel, later } = explained
  const mask = <Each extends Foreseen>(each: Each): Each => {
    const { reason, reason_code: code, locale } = each
    const text = locale === undefined ? {} : unfilledText(catalog, templateId, channel, locale)
    const isQuoting = reason !== undefined && !isOwnSentence(code)
    return { ...each, ...text, ...(isQuoting ? { reason: maskReason(reason) } : {}) }
  }
  return { ...mask(explained), ...(later === undefined ? {} : { later: mask(later) }) }
}

interface ExplainedInput {
  readonly planned: PlannedNotification
  readonly gathered: Gathered | undefined
  /** Of a channel that waits. */
  readonly later: LaterPlan | undefined
}

/** Formats what was decided for a channel. */
export function formatExplained(delivery: DeliveryDecision, { planned, gathered, later }: ExplainedInput): Explained {
  const { channel, outcome, plan } = delivery
  return {
    channel,
    outcome,
    ...whyOf(delivery, planned, gathered),
    ...textOf(plan),
    // What was gathered is somebody else's event as well: of a sensitive one nothing is shown.
    ...(later === undefined || planned.sensitive ? {} : { later: formatLater(later) }),
  }
}

function formatLater({ at, plan }: LaterPlan) {
  return { at: format(at), outcome: outcomeOf(plan), ...whyOfPlan(plan), ...textOf(plan) }
}

/** What admission makes of a plan where neither a cap nor a duplicate comes in between. */
function outcomeOf(plan: DeliveryPlan): string {
  if (plan.kind === 'drop') return plan.outcome
  return {
    send: 'queued',
    defer: 'deferred',
    aggregate: 'aggregated',
    exclude: 'excluded',
    fail: 'failed',
    expire: 'expired',
  }[plan.kind]
}

/** Formats what an event would be gathered with. */
export function formatGathered({ isOpen, flushAt, items, actors, threshold, sentAs }: Gathered) {
  return { is_open: isOpen, flush_at: format(flushAt), items, actors, threshold, sent_as: sentAs }
}

function textOf(plan: DeliveryPlan): Pick<Foreseen, 'subject' | 'body' | 'locale'> {
  const { subject, body, locale } = plan.kind === 'send' ? plan.message : {}
  return { subject, body, locale }
}

type Why = Partial<Reason> & { readonly until?: string }

function whyOf(delivery: DeliveryDecision, { expiresAt }: PlannedNotification, gathered: Gathered | undefined): Why {
  const { outcome, plan, capped, id } = delivery
  if (outcome === 'duplicate')
    return createReason('dedup_key_used', id === undefined ? {} : { notification_id: notificationIdOf(id) })
  if (capped) {
    const { cap, limit, until } = capped
    return { ...createReason('cap_reached', { cap, limit }), ...(until === undefined ? {} : { until: format(until) }) }
  }
  if (plan.kind === 'defer') {
    const until = format(plan.resumeAt)
    const code = plan.resumeAt === expiresAt ? 'expires_in_quiet_hours' : 'quiet_hours'
    return { ...createReason(code, { until }), until }
  }
  if (plan.kind === 'aggregate' && gathered) {
    const until = format(gathered.flushAt)
    return { ...createReason('aggregated', { until }), until }
  }
  return whyOfPlan(plan)
}

function whyOfPlan(plan: DeliveryPlan): Why {
  if (plan.kind === 'expire') return createReason('expired', { expires_at: format(plan.expiresAt) })
  return plan.kind === 'fail' || plan.kind === 'drop' ? plan.reason : {}
}

const format = (instant: number) => new Date(instant).toISOString()
