import { type Batcher, type BatchOptions, type Clock, createBatcher, Problem } from '@gatehouse/kit'
import { answerOf } from '../admission/admission.ts'
import { admitOnFreshProfiles } from '../admission/plan-on-current.ts'
import type { AdmissionUnit, Settled } from '../admission/planned.ts'
import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import { profileFor, type ReservedMail } from '../catalog/reserved.ts'
import { type AdmitLeasedOptions, admitLeased, type ReadProfiles, readProfiles } from '../context/admit-leased.ts'
import type { Hints } from '../context/hints.ts'
import { countDecided, type NotifyMetrics } from '../context/metrics.ts'
import { bucketOfUser, newIdOfUser } from '../model/id.ts'
import type { Acceptance, NotifyRequest } from '../model/notification/notification.ts'
import type { Plan } from '../plan/plan-input.ts'
import { problemOf } from '../request/request-problem.ts'
import { emptyProfile, type Intake, type Parkable, type RateGrant, type RateRequest } from '../store/store.ts'

/** An event on its way in, and where it came from. */
interface IncomingEvent {
  readonly request: NotifyRequest
  readonly source: string
  /** The notification that it sends again. */
  readonly resendOf?: string
  /** When it was first received, where that was earlier than now; Unix milliseconds. */
  readonly occurredAt?: number
  /** Set for a mail of a reserved event type, of the service that it belongs to. */
  readonly mail?: ReservedMail
  /** The scheduled row that it fires; taken away in the same transaction. */
  readonly settles?: Settled
  /** Set where nobody waits for the answer: over its type's rate it is parked, not refused. */
  readonly turn?: Pick<Parkable, 'key' | 'place'>
}

/**
 * Accepted; or refused with the finished answer; or parked until its type's rate allows it; or `gone`, where what it
 * settles was taken by another, or the data that it sends again was erased.
 */
export type AcceptResult =
  | { readonly accepted: Acceptance }
  | { readonly refused: Problem }
  | { readonly parked: true }
  | { readonly gone: true }

/** What accepting events needs. */
export interface AcceptOptions extends AdmitLeasedOptions {
  readonly catalog: CatalogKeeper
  readonly clock: Clock
  readonly plan: Plan
  readonly metrics: NotifyMetrics
  readonly hints: Pick<Hints, 'onAdmitted' | 'onParked'>
}

/** Where both entrances meet: events are taken, planned and admitted together, and answered apart. */
export interface Accept {
  one(event: IncomingEvent): Promise<AcceptResult>
  idle(): Promise<void>
}

/**
 * Creates the batches in which events are accepted. A user's events are never in two batches at once, so that batches
 * never wait for one another.
 */
export function createAccept(options: AcceptOptions): Accept {
  const { buckets, distributed } = options.intake
  const batchers = new Map<number, Batcher<IncomingEvent, AcceptResult>>()
  const queueOf = (userId: string) => (distributed ? bucketOfUser(userId, buckets) : 0)
  const batching = distributed ? distributedBatches : sharedBatches
  const batcherOf = (userId: string) => {
    const queue = queueOf(userId)
    const known = batchers.get(queue) ?? createBatcher((events) => acceptBatch(options, events), batching)
    batchers.set(queue, known)
    return known
  }
  return {
    one: (event) => batcherOf(event.request.user_id).add(event),
    async idle() {
      await Promise.all([...batchers.values()].map((batcher) => batcher.idle()))
    },
  }
}

/**
 * Of all buckets together. With much to do one batch is planned while the database writes the other. What a batch costs
 * however small it is, is that of some ten events: so with little to do there is one at a time, and while there is load
 * it waits for more, an event up to 6 ms longer for its answer.
 */
const sharedBatches: BatchOptions<IncomingEvent> = {
  maxBatch: 250,
  concurrency: 2,
  parallelFrom: 32,
  keyOf: ({ request }) => request.user_id,
  maxWaiting: 20_000,
  gatherMs: 6,
  quietMs: 2,
  gatherUntil: 32,
}

/**
 * Of each distributed bucket. A batch costs a distributed engine some 10 ms of processor time however small it is, which
 * 80 events share; so while there is load a batch waits for as many, and an event up to 50 ms longer for its answer.
 */
const distributedBatches: BatchOptions<IncomingEvent> = {
  maxBatch: 250,
  concurrency: 1,
  maxWaiting: 2_000,
  gatherMs: 50,
  gatherUntil: 80,
}

async function acceptBatch(options: AcceptOptions, events: readonly IncomingEvent[]): Promise<AcceptResult[]> {
  const { intake, catalog: keeper, clock, metrics, hints } = options
  const userIds = [...new Set(events.map(({ request }) => request.user_id))].sort()
  const read = () => readProfiles(intake, userIds)
  const profiles = await read()
  const catalog = await keeper.at(profiles.settingsVersion)
  const now = clock.now()
  const stopped = await checkRates(events, { catalog, intake, now })
  const parked = events.filter((_, index) => stopped[index] && 'parked' in stopped[index])
  for (const [event, { length }] of Map.groupBy(parked, ({ request }) => request.event))
    metrics.parked.inc({ event }, length)
  // A survey of all buckets finds them within a second, where there is one.
  if (parked.length > 0 && intake.distributed) hints.onParked(bucketsOf(parked, intake.buckets), now)
  const remaining = events.filter((_, index) => !stopped[index])
  const admitted = await admitOnFreshProfiles(read, profiles, (on) =>
    admitPlanned(options, { going: remaining, profiles: on, catalog, now }),
  )
  countDecided(
    metrics,
    admitted.flatMap((each) => each ?? []),
  )
  let next = 0
  return stopped.map((stop): AcceptResult => {
    if (stop) return stop
    const decided = admitted[next++]?.[0]
    if (!decided) return { gone: true }
    return { accepted: { id: decided.answerId, deliveries: answerOf(decided) } }
  })
}

function bucketsOf(events: readonly IncomingEvent[], count: number): number[] {
  return [...new Set(events.map(({ request }) => bucketOfUser(request.user_id, count)))]
}

interface AdmissionBatch {
  readonly going: readonly IncomingEvent[]
  readonly profiles: ReadProfiles
  readonly catalog: Catalog
  readonly now: number
}

async function admitPlanned(
  options: AcceptOptions,
  { going, profiles, catalog, now }: AdmissionBatch,
): ReturnType<Intake['admit']> {
  const units = going.flatMap((event): AdmissionUnit[] => {
    const eventType = catalog.eventTypes.get(event.request.event)
    if (!eventType) return []
    const stored = profiles.users.get(event.request.user_id) ?? emptyProfile
    const profile = event.mail ? profileFor(event.mail, stored) : stored
    const id = newIdOfUser(event.request.user_id)
    const { request, source, resendOf, occurredAt = now } = event
    const again = resendOf === undefined ? {} : { resendOf }
    const planned = options.plan({ id, request, eventType, profile, catalog, now, occurredAt, source, ...again })
    return [{ notifications: [planned], ...again, ...(event.settles ? { settles: event.settles } : {}) }]
  })
  return admitLeased(options, units, profiles, now)
}

interface RateContext {
  readonly catalog: Catalog
  readonly intake: Intake
  readonly now: number
}

/** The result of each event that goes no further now: it is invalid, or its type exceeds its rate. */
async function checkRates(
  events: readonly IncomingEvent[],
  { catalog, intake, now }: RateContext,
): Promise<Array<AcceptResult | undefined>> {
  const problems = events.map(({ request, mail }) => (mail ? undefined : problemOf(request, catalog)))
  const rated = events.filter(({ settles }, index) => !settles && !problems[index])
  const requests = [...Map.groupBy(rated, ({ request }) => request.event)].flatMap(([event, mine]): RateRequest[] => {
    const rate = catalog.eventTypes.get(event)?.rate
    const parkable = mine.flatMap(({ request, turn, occurredAt = now }) =>
      turn ? [{ ...turn, request, occurredAt }] : [],
    )
    return rate ? [{ event, count: mine.length - parkable.length, parkable, rate }] : []
  })
  const granted = requests.length > 0 ? await intake.acquireRates(requests, now) : new Map<string, RateGrant>()
  const left = new Map([...granted].map(([event, grant]) => [event, { ...grant }]))
  return events.map(({ request, settles, turn }, index) => {
    if (problems[index]) return { refused: problems[index] }
    const grant = settles ? undefined : left.get(request.event)
    if (!grant) return undefined
    if (turn) return grant.passed-- > 0 ? undefined : { parked: true }
    return grant.granted-- > 0 ? undefined : { refused: rateProblem(request.event, grant.nextAt, now) }
  })
}

function rateProblem(event: string, nextAt: number, now: number): Problem {
  const seconds = Math.max(1, Math.ceil((nextAt - now) / 1000))
  return new Problem(429, `The event type ${event} is over its rate; try again in ${seconds} s.`, {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    headers: { 'retry-after': String(seconds) },
    members: { 'violated-policies': [event] },
  })
}
