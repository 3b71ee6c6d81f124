import { type Clock, instantOf } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type DeliveryDecision, decide } from '../../admission/admission.ts'
import type { PlannedNotification } from '../../admission/planned.ts'
import { type Catalog, type CatalogKeeper, withoutTokens } from '../../catalog/catalog.ts'
import type { NotifyOptions } from '../../config/options.ts'
import { newIdOfUser } from '../../model/id.ts'
import { maskTimeline } from '../../model/masking.ts'
import type { NotifyRequest } from '../../model/notification/notification.ts'
import { type Gathered, gatherWith, planLater } from '../../plan/later.ts'
import type { Plan } from '../../plan/plan-input.ts'
import type { AccessControl } from '../../request/caller.ts'
import { problemOf } from '../../request/request-problem.ts'
import { emptyProfile, type Intake, type Standings } from '../../store/store.ts'
import type { ExplainBody } from '../schemas/notifications.ts'
import { type Explained, formatExplained, formatGathered, maskExplained } from './explained.ts'

/** What the explanation of a notification needs. */
export interface ExplainContext {
  readonly access: AccessControl
  readonly intake: Intake
  readonly standings: Standings
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
  { intake, standings, catalog: keeper, options, plan }: ExplainContext,
  { now, unmasked }: { readonly now: number; readonly unmasked: boolean },
) {
  const profiles = await intake.readProfiles([request.user_id])
  const catalog = withHiddenLinks(await keeper.at(profiles.settingsVersion))
  const problem = problemOf(request, catalog)
  const eventType = catalog.eventTypes.get(request.event)
  if (problem || !eventType) throw problem
  const profile = profiles.users.get(request.user_id) ?? emptyProfile
  const id = newIdOfUser(request.user_id)
  const planned = plan({ id, request, eventType, profile, catalog, now, source: 'explain' })
  const state = await intake.readAdmissionState(planned)
  const used = state.counters.get(request.user_id) ?? {}
  const decided = decide([planned], state, { caps: options.caps, windowMs: options.capWindowMs }, now)
  const window = planned.item && (await standings.readWindow(request.user_id, request.event))
  const gathered = gatherWith(window, planned, eventType)
  const later = { userId: request.user_id, eventType, profile, catalog, expiresAt: planned.expiresAt }
  const afterWait = (delivery: DeliveryDecision) => {
    const wait = waitOf(delivery, planned, gathered)
    return wait && planLater(delivery.channel, wait.at, { ...later, data: wait.data }, options)
  }
  const shown = (channel: Explained) => (unmasked ? channel : maskExplained(channel, eventType.templateId, catalog))
  return {
    channels: decided
      .flatMap(({ deliveries }) => deliveries)
      .map((delivery) => shown(formatExplained(delivery, { planned, gathered, later: afterWait(delivery) }))),
    ...(gathered === undefined ? {} : { gathered: formatGathered(gathered) }),
    ...(planned.expiresAt === undefined ? {} : { expires_at: new Date(planned.expiresAt).toISOString() }),
    decisions: (unmasked ? planned.decisions : maskTimeline(planned.decisions)).map((entry) => ({
      ...entry,
      at: new Date(entry.at).toISOString(),
    })),
    cap: { ...options.caps, used },
  }
}

/** What is planned on it is shown, and not sent. */
function withHiddenLinks(catalog: Catalog): Catalog {
  const { mailVariables } = catalog
  return mailVariables ? { ...catalog, mailVariables: withoutTokens(mailVariables) } : catalog
}

/** Until when a channel waits, and what its text is rendered from then. */
function waitOf({ outcome, plan }: DeliveryDecision, { data }: PlannedNotification, gathered: Gathered | undefined) {
  if (outcome === 'deferred' && plan.kind === 'defer') return { at: plan.resumeAt, data }
  return outcome === 'aggregated' && gathered ? { at: gathered.flushAt, data: gathered.data } : undefined
}
