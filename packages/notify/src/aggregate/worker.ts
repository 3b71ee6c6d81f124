import { bisect, type Clock, isUnavailable, type Log, startWorker, type Worker } from '@gatehouse/kit'
import { createAdmission } from '../admission/admission.ts'
import { admitOnFreshProfiles } from '../admission/plan-on-current.ts'
import type { AdmissionUnit } from '../admission/planned.ts'
import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import { countDecided, type NotifyMetrics } from '../context/metrics.ts'
import { emptyProfile, type Intake, type Profile, type Waiting } from '../store/store.ts'
import { planFlush } from './flush.ts'
import { planAgain } from './replan.ts'

/** What the worker of deferred deliveries and pending sets needs. */
export interface ResumeWorkerOptions {
  readonly intake: Intake
  readonly waiting: Waiting
  readonly catalog: CatalogKeeper
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  /** Told after each admission, so that the channels' workers need not wait. */
  readonly hints: Pick<Hints, 'onAdmitted'>
}

/** The worker that plans again what waited: deferred deliveries, fallbacks and replays, and pending sets to be flushed. */
export function startResumeWorker(settings: ResumeWorkerOptions): Worker {
  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of settings.buckets) {
      if (await resumeDeferred(settings, bucket)) found = true
      if (await flushWindows(settings, bucket)) found = true
    }
    return found
  }
  return startWorker({ name: 'resume', log: settings.log, pass, idleMs: settings.options.idleMs })
}

async function resumeDeferred(settings: ResumeWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const due = await waiting.claimDeferred(bucket, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, due, {
    userOf: ({ notification }) => notification.userId,
    plan: (deferred, profile, catalog, now) => planAgain({ deferred, profile, catalog, now }, options),
  })
  return due.length > 0
}

async function flushWindows(settings: ResumeWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const windows = await waiting.closeWindows(bucket, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, windows, {
    userOf: ({ userId }) => userId,
    plan: (window, profile, catalog, now) => planFlush({ bucket, window, profile, catalog, now }, options),
  })
  return windows.length > 0
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
  { intake, catalog: keeper, options, clock, metrics, hints }: ResumeWorkerOptions,
  waited: readonly Waited[],
  { userOf, plan }: Planning<Waited>,
): Promise<void> {
  const read = () => intake.readProfiles([...new Set(waited.map(userOf))].sort())
  const now = clock.now()
  const admitted = await admitOnFreshProfiles(read, await read(), async ({ settingsVersion, users }) => {
    const catalog = await keeper.at(settingsVersion)
    const units = waited.map((each) => plan(each, users.get(userOf(each)) ?? emptyProfile, catalog, now))
    const rules = { caps: options.caps, windowMs: options.capWindowMs, profiles: users }
    return intake.admit(units, createAdmission(rules, now))
  })
  const decided = admitted.flatMap((each) => each ?? [])
  hints.onAdmitted(decided)
  countDecided(metrics, decided)
}
