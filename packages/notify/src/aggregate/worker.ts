import { type Clock, isUnavailable, type Log, startWorker, type Worker } from '@gatehouse/kit'
import { type AdmissionUnit, createAdmission } from '../admission/admission.ts'
import { admitOnFreshProfiles } from '../admission/plan-on-current.ts'
import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Hints } from '../context/hints.ts'
import { countDecided, type NotifyMetrics } from '../context/metrics.ts'
import type { Intake, Profile, Waiting } from '../store/store.ts'
import { flush } from './flush.ts'
import { replan } from './replan.ts'

export interface WakingWorkerOptions {
  readonly intake: Intake
  readonly waiting: Waiting
  readonly catalog: CatalogKeeper
  readonly buckets: readonly number[]
  readonly options: NotifyOptions
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  /** Told after each admission, so that the channels' workers need not wait. */
  readonly hints: Pick<Hints, 'admitted'>
}

const emptyProfile: Profile = { preferences: [], devices: [], suppressions: [] }

/** The worker that plans again what waited: deferred deliveries, fallbacks and replays, and pending sets to be flushed. */
export function startWakingWorker(settings: WakingWorkerOptions): Worker {
  const pass = async (): Promise<boolean> => {
    let found = false
    for (const bucket of settings.buckets) {
      if (await wakeDeferrals(settings, bucket)) found = true
      if (await flushWindows(settings, bucket)) found = true
    }
    return found
  }
  return startWorker({ name: 'wake', log: settings.log, pass, idleMs: settings.options.idleMs })
}

async function wakeDeferrals(settings: WakingWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const woken = await waiting.claimDeferred(bucket, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, bucket, woken, {
    userOf: ({ notification }) => notification.userId,
    plan: (each, profile, catalog, now) => replan(each, profile, catalog, options, now),
  })
  return woken.length > 0
}

async function flushWindows(settings: WakingWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const windows = await waiting.closeWindows(bucket, options.claimSize, options.leaseMs, clock.now())
  await admitAll(settings, bucket, windows, {
    userOf: ({ userId }) => userId,
    plan: (window, profile, catalog, now) => flush({ bucket, window, profile, catalog, now }, options),
  })
  return windows.length > 0
}

/** How one kind of what waited is planned again. */
interface Planning<Waited> {
  readonly userOf: (waited: Waited) => string
  readonly plan: (waited: Waited, profile: Profile, catalog: Catalog, now: number) => AdmissionUnit
}

/** Admits what waited together. What fails is halved until the culprit stands alone: it is left until its lease ends. */
async function admitAll<Waited extends { readonly id: string }>(
  settings: WakingWorkerOptions,
  bucket: number,
  waited: readonly Waited[],
  planning: Planning<Waited>,
): Promise<void> {
  try {
    if (waited.length > 0) await admitBatch(settings, bucket, waited, planning)
  } catch (error) {
    if (isUnavailable(error)) throw error
    const [first] = waited
    if (waited.length === 1) {
      settings.log.error({ err: error, id: first?.id }, 'what waited could not be planned again; its lease will end')
      return
    }
    const middle = Math.ceil(waited.length / 2)
    await admitAll(settings, bucket, waited.slice(0, middle), planning)
    await admitAll(settings, bucket, waited.slice(middle), planning)
  }
}

/** Plans on the users' profiles of now and admits it; what another has taken meanwhile is left to it. */
async function admitBatch<Waited>(
  { intake, catalog: keeper, options, clock, metrics, hints }: WakingWorkerOptions,
  bucket: number,
  waited: readonly Waited[],
  { userOf, plan }: Planning<Waited>,
): Promise<void> {
  const read = () => intake.readProfiles(bucket, [...new Set(waited.map(userOf))].sort())
  const now = clock.now()
  const admitted = await admitOnFreshProfiles(read, await read(), async ({ settingsVersion, users }) => {
    const catalog = await keeper.at(settingsVersion)
    const units = waited.map((each) => plan(each, users.get(userOf(each)) ?? emptyProfile, catalog, now))
    const rules = { caps: options.caps, windowMs: options.capWindowMs, profiles: users }
    return intake.admit(bucket, units, createAdmission(rules, now))
  })
  const decided = admitted.flatMap((each) => each ?? [])
  hints.admitted(decided)
  countDecided(metrics, decided)
}
