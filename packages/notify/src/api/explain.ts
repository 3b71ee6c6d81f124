import { type Clock, instantOf } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type DeliveryDecision, decide } from '../admission/admission.ts'
import type { PlannedNotification } from '../admission/planned.ts'
import { type Catalog, type CatalogKeeper, unfilledText } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { newIdOfUser, notificationIdOf } from '../model/id.ts'
import { maskReason, maskTimeline } from '../model/masking.ts'
import type { NotifyRequest } from '../model/notification.ts'
import { createReason, isOwnSentence, type Reason } from '../model/reason.ts'
import type { Plan } from '../plan/plan-input.ts'
import type { AccessControl } from '../request/caller.ts'
import { problemOf } from '../request/request-problem.ts'
import { emptyProfile, type Intake } from '../store/store.ts'
import type { ExplainBody } from './schemas/notifications.ts'

/** What the explanation of a notification needs. */
export interface ExplainContext {
  readonly access: AccessControl
  readonly intake: Intake
  readonly catalog: CatalogKeeper
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly plan: Plan
}

/** POST /v1/explain: what a user would receive for an event, and why. Nothing is stored or sent. */
export function explainNotification(context: ExplainContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof ExplainBody> }>) => {
    const { at, ...body } = request.body
    const now = at === undefined ? context.clock.now() : instantOf(at, '/at')
    const unmasked = !context.access.masks(request, body.user_id)
    return (await explain(body as NotifyRequest, context, { now, unmasked })) as never
  }
}

async function explain(
  request: NotifyRequest,
  { intake, catalog: keeper, options, plan }: ExplainContext,
  { now, unmasked }: { readonly now: number; readonly unmasked: boolean },
) {
  const profiles = await intake.readProfiles([request.user_id])
  const catalog = await keeper.at(profiles.settingsVersion)
  const problem = problemOf(request, catalog)
  const eventType = catalog.eventTypes.get(request.event)
  if (problem || !eventType) throw problem
  const profile = profiles.users.get(request.user_id) ?? emptyProfile
  const id = newIdOfUser(request.user_id)
  const planned = plan({ id, request, eventType, profile, catalog, now, source: 'explain' })
  const state = await intake.readAdmissionState(planned)
  const used = state.counters.get(request.user_id) ?? {}
  const decided = decide([planned], state, { caps: options.caps, windowMs: options.capWindowMs }, now)
  const shown = (channel: Explained) => (unmasked ? channel : maskExplained(channel, eventType.templateId, catalog))
  return {
    channels: decided
      .flatMap(({ deliveries }) => deliveries)
      .map((delivery) => shown(formatExplained(delivery, planned))),
    ...(planned.expiresAt === undefined ? {} : { expires_at: new Date(planned.expiresAt).toISOString() }),
    decisions: (unmasked ? planned.decisions : maskTimeline(planned.decisions)).map((entry) => ({
      ...entry,
      at: new Date(entry.at).toISOString(),
    })),
    cap: { ...options.caps, used },
  }
}

interface Explained extends Partial<Omit<Reason, 'params'>> {
  readonly channel: Channel
  readonly outcome: string
  readonly params?: object
  readonly until?: string
  readonly subject: string | undefined
  readonly body: string | undefined
  readonly locale: string | undefined
}

/** With the text as it stands in the template, its variables unfilled. */
function maskExplained(explained: Explained, templateId: string, catalog: Catalog): Explained {
  const { channel, reason, reason_code: code, locale } = explained
  const text = locale === undefined ? {} : unfilledText(catalog, templateId, channel, locale)
  const isQuoting = reason !== undefined && !isOwnSentence(code)
  return { ...explained, ...text, ...(isQuoting ? { reason: maskReason(reason) } : {}) }
}

function formatExplained(delivery: DeliveryDecision, planned: PlannedNotification): Explained {
  const { channel, outcome, plan } = delivery
  const { subject, body, locale } = plan.kind === 'send' ? plan.message : {}
  return { channel, outcome, ...whyOf(delivery, planned), subject, body, locale }
}

function whyOf(
  delivery: DeliveryDecision,
  { item, expiresAt }: PlannedNotification,
): Partial<Reason> & { readonly until?: string } {
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
  if (plan.kind === 'aggregate' && item) {
    const until = format(item.flushAt)
    return { ...createReason('aggregated', { until }), until }
  }
  if (plan.kind === 'expire') return createReason('expired', { expires_at: format(plan.expiresAt) })
  return plan.kind === 'fail' || plan.kind === 'drop' ? plan.reason : {}
}

const format = (instant: number) => new Date(instant).toISOString()
