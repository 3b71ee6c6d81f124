import type { Clock } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type DeliveryDecision, decide, reasonOf } from '../admission/admission.ts'
import type { PlannedNotification } from '../admission/planned.ts'
import { type Catalog, type CatalogKeeper, unfilledText } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { newIdOfUser, notificationIdOf } from '../model/id.ts'
import { maskReason, maskTimeline } from '../model/masking.ts'
import type { NotifyRequest } from '../model/notification.ts'
import type { Plan } from '../plan/plan-input.ts'
import type { AccessControl } from '../request/caller.ts'
import { problemOf } from '../request/request-problem.ts'
import { emptyProfile, type Intake } from '../store/store.ts'

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
  return async (request: FastifyRequest) => {
    const body = request.body as NotifyRequest
    return (await explain(body, context, !context.access.masks(request, body.user_id))) as never
  }
}

async function explain(
  request: NotifyRequest,
  { intake, catalog: keeper, options, clock, plan }: ExplainContext,
  unmasked: boolean,
) {
  const profiles = await intake.readProfiles([request.user_id])
  const catalog = await keeper.at(profiles.settingsVersion)
  const problem = problemOf(request, catalog)
  const eventType = catalog.eventTypes.get(request.event)
  if (problem || !eventType) throw problem
  const profile = profiles.users.get(request.user_id) ?? emptyProfile
  const now = clock.now()
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

interface Explained {
  readonly channel: Channel
  readonly outcome: string
  readonly reason?: string
  readonly until?: string
  readonly subject: string | undefined
  readonly body: string | undefined
  readonly locale: string | undefined
}

/** With the text as it stands in the template, its variables unfilled. */
function maskExplained(explained: Explained, templateId: string, catalog: Catalog): Explained {
  const { channel, outcome, reason, locale } = explained
  const text = locale === undefined ? {} : unfilledText(catalog, templateId, channel, locale)
  const failed = outcome === 'failed' && reason !== undefined
  return { ...explained, ...text, ...(failed ? { reason: maskReason(reason) } : {}) }
}

function formatExplained(delivery: DeliveryDecision, planned: PlannedNotification): Explained {
  const { channel, outcome, plan } = delivery
  const { subject, body, locale } = plan.kind === 'send' ? plan.message : {}
  return { channel, outcome, ...whyOf(delivery, planned), subject, body, locale }
}

function whyOf(
  delivery: DeliveryDecision,
  { item, expiresAt }: PlannedNotification,
): { reason?: string; until?: string } {
  const { outcome, plan, capped, id } = delivery
  if (outcome === 'duplicate')
    return { reason: id === undefined ? 'its dedup_key is in use' : `its dedup_key is ${notificationIdOf(id)}'s` }
  if (capped) {
    const { until } = reasonOf(delivery, false)
    const reason = `the cap ${capped.cap} of ${capped.limit} is reached`
    return { reason, ...(typeof until === 'string' ? { until } : {}) }
  }
  if (plan.kind === 'defer') {
    const reason = plan.resumeAt === expiresAt ? 'quiet hours, in which it expires' : 'quiet hours'
    return { reason, until: new Date(plan.resumeAt).toISOString() }
  }
  if (plan.kind === 'aggregate' && item)
    return { reason: 'it is gathered with others of its kind', until: new Date(item.flushAt).toISOString() }
  if (plan.kind === 'fail') return { reason: plan.detail }
  return plan.kind === 'drop' ? { reason: plan.reason } : {}
}
