import { bisect, type Clock, isUnavailable, type Log, startWorker, type Worker } from '@gatehouse/kit'
import { admitOnFreshProfiles } from '../admission/plan-on-current.ts'
import type { AdmissionUnit } from '../admission/planned.ts'
import type { Agenda } from '../agenda/agenda.ts'
import { type BucketsDone, pauseUntilDue, workOnDue } from '../agenda/pass.ts'
import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import { type AdmitLeasedOptions, admitLeased, readProfiles } from '../context/admit-leased.ts'
import { countDecided, type NotifyMetrics } from '../context/metrics.ts'
import { emptyProfile, type Profile, type Waiting } from '../store/store.ts'
import { planFlush } from './flush.ts'
import { planAgain } from './replan.ts'

/** What the worker of deferred deliveries and pending sets needs. */
export interface ResumeWorkerOptions extends AdmitLeasedOptions {
  readonly waiting: Waiting
  readonly catalog: CatalogKeeper
  readonly agenda: Agenda
  /** Whether each bucket is worked by itself. */
  readonly apart: boolean
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
}

/** The worker that plans again what waited: deferred deliveries, fallbacks and replays, and pending sets to be flushed. */
export function startResumeWorker(settings: ResumeWorkerOptions): Worker {
  const { agenda, apart, clock, log, options } = settings
  const work = async (buckets: readonly number[]): Promise<BucketsDone> => {
    const resumed = await resumeDeferred(settings, buckets)
    const flushed = await flushWindows(settings, buckets)
    // A claim that reached its limit has left out buckets, and one that found something may find more.
    if (resumed.length === options.claimSize || flushed.length === options.claimSize)
      return { done: [], more: [...new Set([...resumed, ...flushed])] }
    const found = new Set([...resumed, ...flushed])
    return { done: buckets.filter((bucket) => !found.has(bucket)), more: [...found] }
  }
  const pass = () => workOnDue({ name: 'resume', agenda, now: clock.now(), log, apart, work })
  const idleMs = () => pauseUntilDue(agenda, clock.now(), options.idleMs)
  return startWorker({ name: 'resume', log, pass, idleMs })
}

/** Answers the bucket of each deferred delivery that was planned again. */
async function resumeDeferred(settings: ResumeWorkerOptions, buckets: readonly number[]): Promise<readonly number[]> {
  const { waiting, options, clock } = settings
  const due = await waiting.claimDeferred(buckets, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, due, {
    userOf: ({ notification }) => notification.userId,
    plan: (deferred, profile, catalog, now) => planAgain({ deferred, profile, catalog, now }, options),
  })
  return due.map(({ bucket }) => bucket)
}

/** Answers the bucket of each window that was flushed. */
async function flushWindows(settings: ResumeWorkerOptions, buckets: readonly number[]): Promise<readonly number[]> {
  const { waiting, options, clock } = settings
  const windows = await waiting.closeWindows(buckets, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, windows, {
    userOf: ({ userId }) => userId,
    plan: (window, profile, catalog, now) =>
      planFlush({ bucket: window.bucket, window, profile, catalog, now }, options),
  })
  return windows.map(({ bucket }) => bucket)
}

/** How one kind of what waited is planned again. */
interface Planning<Waited> {
  readonly userOf: (waited: Waited) => string
  readonly plan: (waited: Waited, profile: Profile, catalog: Catalog, now: number) => AdmissionUnit
}

/** Admits what waited together. What can't be planned stands alone at last, and is left until its lease ends. */
async function admitAll<Waited extends { readonly id: string }>(
  settings: ResumeWorkerOptions,
  waited: readonly Waited[],
  planning: Planning<Waited>,
): Promise<void> {
  if (waited.length === 0) return
  await bisect(waited, (part) => admitBatch(settings, part, planning), {
    isFaultOfItem: (error) => !isUnavailable(error),
    onFailure(error, [first]) {
      if (isUnavailable(error)) throw error
      settings.log.error({ err: error, id: first?.id }, 'what waited could not be planned again; its lease will end')
    },
  })
}

/** Plans on the users' profiles of now and admits it; what another has taken meanwhile is left to it. */
async function admitBatch<Waited>(
  settings: ResumeWorkerOptions,
  waited: readonly Waited[],
  { userOf, plan }: Planning<Waited>,
): Promise<void> {
  const { intake, catalog: keeper, clock, metrics } = settings
  const read = () => readProfiles(intake, [...new Set(waited.map(userOf))].sort())
  const now = clock.now()
  const admitted = await admitOnFreshProfiles(read, await read(), async (profiles) => {
    const catalog = await keeper.at(profiles.settingsVersion)
    const profileOf = (each: Waited) => profiles.users.get(userOf(each)) ?? emptyProfile
    const units = waited.map((each) => plan(each, profileOf(each), catalog, now))
    return admitLeased(settings, units, profiles, now)
  })
  countDecided(
    metrics,
    admitted.flatMap((each) => each ?? []),
  )
}
