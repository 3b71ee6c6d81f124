import { type Clock, type Log, startWorker, type Worker } from '@gatehouse/kit'
import type { AdmissionUnit } from '../admission.ts'
import type { Catalog, CatalogKeeper } from '../catalog.ts'
import { countDecided, type NotifyMetrics } from '../metrics.ts'
import type { NotifyOptions } from '../options.ts'
import type { Intake, Profile, Waiting } from '../store.ts'
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
  readonly onAdmitted: () => void
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
    if (found) settings.onAdmitted()
    return found
  }
  return startWorker({ name: 'wake', log: settings.log, pass, idleMs: settings.options.idleMs })
}

async function wakeDeferrals(settings: WakingWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const woken = await waiting.claimDeferrals(bucket, options.claimSize, options.leaseMs, clock.now())
  if (woken.length === 0) return false
  const users = woken.map(({ notification }) => notification.userId)
  await admitAll(settings, bucket, users, (profileOf, catalog, now) =>
    woken.map((each) => replan(each, profileOf(each.notification.userId), catalog, options, now)),
  )
  return true
}

async function flushWindows(settings: WakingWorkerOptions, bucket: number): Promise<boolean> {
  const { waiting, options, clock } = settings
  const windows = await waiting.closeWindows(bucket, options.claimSize, options.leaseMs, clock.now())
  if (windows.length === 0) return false
  const users = windows.map(({ userId }) => userId)
  await admitAll(settings, bucket, users, (profileOf, catalog, now) =>
    windows.map((window) => flush({ bucket, window, profile: profileOf(window.userId), catalog, now }, options)),
  )
  return true
}

/** Plans on the users' profiles of now and admits it; what another has taken meanwhile is left to it. */
async function admitAll(
  { intake, catalog: keeper, options, clock, metrics }: WakingWorkerOptions,
  bucket: number,
  users: readonly string[],
  plan: (profileOf: (userId: string) => Profile, catalog: Catalog, now: number) => AdmissionUnit[],
): Promise<void> {
  const profiles = await intake.profiles(bucket, [...new Set(users)].sort())
  const catalog = await keeper.at(profiles.settingsVersion)
  const now = clock.now()
  const units = plan((userId) => profiles.users.get(userId) ?? emptyProfile, catalog, now)
  const admitted = await intake.admit(bucket, units, { caps: options.caps, windowMs: options.capWindowMs }, now)
  for (const decided of admitted.flatMap((each) => each ?? [])) countDecided(metrics, decided)
}
