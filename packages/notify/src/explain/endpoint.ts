import type { Clock, Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { type Counters, decide } from '../admission.ts'
import type { Guards } from '../caller.ts'
import type { CatalogKeeper } from '../catalog.ts'
import { bucketOfUser, newId } from '../ids.ts'
import type { NotifyRequest } from '../notification.ts'
import { NotifyBody } from '../notify-body.ts'
import type { NotifyOptions } from '../options.ts'
import type { Plan } from '../plan-input.ts'
import { problemOf } from '../request-problem.ts'
import type { Intake } from '../store.ts'

export interface ExplainRoutes {
  readonly guards: Guards
  readonly intake: Intake
  readonly catalog: CatalogKeeper
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly plan: Plan
}

const Explanation = Type.Object({
  channels: Type.Array(
    Type.Object({
      channel: Type.String(),
      outcome: Type.String(),
      reason: Type.Optional(Type.String()),
      until: Type.Optional(Type.String({ format: 'date-time' })),
      subject: Type.Optional(Type.String()),
      body: Type.Optional(Type.String()),
      locale: Type.Optional(Type.String()),
    }),
  ),
  decisions: Type.Array(Type.Object({}, { additionalProperties: true })),
  cap: Type.Object({}, { additionalProperties: true }),
})

/** POST /v1/explain: what would this user get for this event, and why. Nothing is stored, nothing is sent. */
export function explainEndpoint(http: Http, routes: ExplainRoutes): void {
  const { guards } = routes
  http.post(
    '/v1/explain',
    {
      onRequest: guards.admin,
      schema: {
        tags: ['notifications'],
        summary: 'What a user would get for an event, and why; nothing is sent',
        security: [{ bearer: [guards.scopes.admin] }],
        body: NotifyBody,
        response: { 200: Explanation },
      },
    },
    async (request) => (await explain(request.body as NotifyRequest, routes)) as never,
  )
}

async function explain(request: NotifyRequest, { intake, catalog: keeper, options, clock, plan }: ExplainRoutes) {
  const bucket = bucketOfUser(request.user_id, intake.buckets)
  const profiles = await intake.profiles(bucket, [request.user_id])
  const catalog = await keeper.at(profiles.settingsVersion)
  const problem = problemOf(request, catalog)
  const eventType = catalog.eventTypes.get(request.event)
  if (problem || !eventType) throw problem
  const profile = profiles.users.get(request.user_id) ?? { preferences: [], devices: [], suppressions: [] }
  const now = clock.now()
  const id = newId(bucket)
  const planned = plan({ id, request, eventType, profile, catalog, now, source: 'explain' })
  const counters = await intake.counters(bucket, request.user_id)
  const state = { counters: new Map<string, Counters>([[request.user_id, counters]]), logged: new Map() }
  const decided = decide([planned], state, { caps: options.caps, windowMs: options.capWindowMs }, now)
  return {
    channels: decided.flatMap(({ deliveries }) => deliveries).map(written),
    decisions: planned.decisions.map((entry) => ({ ...entry, at: new Date(entry.at).toISOString() })),
    cap: { ...options.caps, used: counters },
  }
}

function written({ channel, outcome, plan }: ReturnType<typeof decide>[number]['deliveries'][number]) {
  return {
    channel,
    outcome,
    ...(plan.kind === 'fail' ? { reason: plan.detail } : {}),
    ...(plan.kind === 'defer' ? { reason: 'quiet hours', until: new Date(plan.wakeAt).toISOString() } : {}),
    ...(plan.kind === 'send' ? { body: plan.message.body, locale: plan.message.locale } : {}),
    ...(plan.kind === 'send' && plan.message.subject !== undefined ? { subject: plan.message.subject } : {}),
  }
}
