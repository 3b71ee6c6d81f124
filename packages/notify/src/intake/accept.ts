import { type Clock, createGatherer, type Gatherer, Problem } from '@gatehouse/kit'
import { type AdmissionUnit, answerOf, type Settled } from '../admission.ts'
import type { Catalog, CatalogKeeper } from '../catalog.ts'
import { bucketOfUser, newId } from '../ids.ts'
import { countDecided, type NotifyMetrics } from '../metrics.ts'
import type { Acceptance, NotifyRequest } from '../notification.ts'
import type { NotifyOptions } from '../options.ts'
import type { Plan } from '../plan-input.ts'
import { problemOf } from '../request-problem.ts'
import type { Intake, Profile } from '../store.ts'

/** An event on its way in, and where it came from. */
interface IncomingEvent {
  readonly request: NotifyRequest
  readonly source: string
  /** The scheduled row that it fires; taken away in the same transaction. */
  readonly settles?: Settled
}

/** Accepted, or refused with the finished answer; `undefined` where what it settles was taken by another. */
export type AcceptResult = { readonly accepted: Acceptance } | { readonly refused: Problem } | { readonly gone: true }

export interface AcceptOptions {
  readonly intake: Intake
  readonly catalog: CatalogKeeper
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly plan: Plan
  readonly metrics: NotifyMetrics
  /** Told after each commit, so that workers need not wait. */
  readonly onAccepted: () => void
}

/** Where both entrances meet: events are taken, planned and admitted together, and answered apart. */
export interface Accept {
  one(event: IncomingEvent): Promise<AcceptResult>
  idle(): Promise<void>
}

const emptyProfile: Profile = { preferences: [], devices: [], suppressions: [] }

export function createAccept(options: AcceptOptions): Accept {
  const { buckets } = options.intake
  const gatherers = new Map<number, Gatherer<IncomingEvent, AcceptResult>>()
  const gathererOf = (userId: string) => {
    const bucket = bucketOfUser(userId, buckets)
    const lane = bucket * lanes + laneOf(userId)
    const known =
      gatherers.get(lane) ??
      createGatherer((events) => acceptBatch(options, bucket, events), { most: 250, lanes: 1, mostWaiting: 10_000 })
    gatherers.set(lane, known)
    return known
  }
  return {
    one: (event) => gathererOf(event.request.user_id).do(event),
    async idle() {
      await Promise.all([...gatherers.values()].map((gatherer) => gatherer.idle()))
    },
  }
}

/** Batches of a bucket under way at once. A user is always in the same lane, so that lanes never wait for one another. */
const lanes = 2

function laneOf(userId: string): number {
  let sum = 0
  for (let index = 0; index < userId.length; index++) sum = (sum * 31 + userId.charCodeAt(index)) | 0
  return Math.abs(sum) % lanes
}

async function acceptBatch(
  { intake, catalog: keeper, options, clock, plan, metrics, onAccepted }: AcceptOptions,
  bucket: number,
  events: readonly IncomingEvent[],
): Promise<AcceptResult[]> {
  const userIds = [...new Set(events.map(({ request }) => request.user_id))].sort()
  const profiles = await intake.profiles(bucket, userIds)
  const catalog = await keeper.at(profiles.settingsVersion)
  const now = clock.now()
  const refused = await refusals(events, catalog, intake, now)
  const units = events.flatMap((event, index): AdmissionUnit[] => {
    const eventType = catalog.eventTypes.get(event.request.event)
    if (refused[index] || !eventType) return []
    const profile = profiles.users.get(event.request.user_id) ?? emptyProfile
    const id = newId(bucket)
    const planned = plan({ id, request: event.request, eventType, profile, catalog, now, source: event.source })
    return [{ notifications: [planned], ...(event.settles ? { settles: event.settles } : {}) }]
  })
  const rules = { caps: options.caps, windowMs: options.capWindowMs }
  const admitted = units.length > 0 ? await intake.admit(bucket, units, rules, now) : []
  if (units.length > 0) onAccepted()
  let next = 0
  return refused.map((problem): AcceptResult => {
    if (problem) return { refused: problem }
    const decided = admitted[next++]?.[0]
    if (!decided) return { gone: true }
    countDecided(metrics, decided)
    return { accepted: { id: decided.answerId, deliveries: answerOf(decided) } }
  })
}

/** For each event the finished answer when it can't be taken: it names what there is not, or its type is over its rate. */
async function refusals(
  events: readonly IncomingEvent[],
  catalog: Catalog,
  intake: Intake,
  now: number,
): Promise<Array<Problem | undefined>> {
  const counts = new Map<string, number>()
  for (const { request, settles } of events) {
    if (settles || problemOf(request, catalog) || !catalog.eventTypes.get(request.event)?.rate) continue
    counts.set(request.event, (counts.get(request.event) ?? 0) + 1)
  }
  const asked = [...counts].flatMap(([event, count]) => {
    const rate = catalog.eventTypes.get(event)?.rate
    return rate ? [{ event, count, rate }] : []
  })
  const granted = asked.length > 0 ? await intake.takeRates(asked, now) : new Map()
  const left = new Map([...granted].map(([event, grant]) => [event, grant.granted as number]))
  return events.map(({ request, settles }) => {
    const problem = problemOf(request, catalog)
    if (problem || settles || !left.has(request.event)) return problem
    const remaining = (left.get(request.event) ?? 0) - 1
    left.set(request.event, remaining)
    return remaining >= 0 ? undefined : overRate(request.event, granted.get(request.event)?.nextAt ?? now, now)
  })
}

function overRate(event: string, nextAt: number, now: number): Problem {
  const seconds = Math.max(1, Math.ceil((nextAt - now) / 1000))
  return new Problem(429, `The event type ${event} is over its rate; try again in ${seconds} s.`, {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    headers: { 'retry-after': String(seconds) },
    members: { 'violated-policies': [event] },
  })
}
