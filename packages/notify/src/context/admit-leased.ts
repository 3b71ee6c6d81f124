import { type AdmissionDecision, createAdmission, type DeliveryDecision, type Leases } from '../admission/admission.ts'
import type { AdmissionUnit, PlannedNotification } from '../admission/planned.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import { all } from '../model/delivery/suppression.ts'
import { bucketOfId } from '../model/id.ts'
import type { ClaimedDelivery, Intake, Profile, Profiles } from '../store/store.ts'
import type { HandoverTarget, HandoverTargets } from './handover.ts'
import type { Hints } from './hints.ts'

/** Profiles, and since when they may be outdated. */
export interface ReadProfiles extends Profiles {
  /** From before they were read, by `performance.now()`. */
  readonly readAt: number
}

/** Reads profiles for {@link admitLeased}. */
export async function readProfiles(intake: Intake, userIds: readonly string[]): Promise<ReadProfiles> {
  const readAt = performance.now()
  return { ...(await intake.readProfiles(userIds)), readAt }
}

/** What {@link admitLeased} needs. */
export interface AdmitLeasedOptions {
  readonly intake: Intake
  readonly options: NotifyOptions
  /** Told of what is to be claimed, so that workers need not wait. */
  readonly hints: Pick<Hints, 'onAdmitted'>
  /** The workers of this process, to which is handed what they would send at once. */
  readonly handover: HandoverTargets
}

/** Admits units that were planned on profiles, and hands what can be sent at once to the workers of this process. */
export async function admitLeased(
  { intake, options, hints, handover: targets }: AdmitLeasedOptions,
  units: readonly AdmissionUnit[],
  { users, readAt }: ReadProfiles,
  now: number,
): ReturnType<Intake['admit']> {
  if (units.length === 0) return []
  const { leaseMs } = options
  const leases = new Handover({ targets, buckets: intake.buckets, leaseMs, users, profilesReadAt: readAt })
  const rules = { caps: options.caps, windowMs: options.capWindowMs, profiles: users, leases }
  try {
    const admitted = await intake.admit(units, createAdmission(rules, now))
    hints.onAdmitted(leases.complete(admitted.flatMap((each) => each ?? [])))
    return admitted
  } finally {
    leases.cancelAll()
  }
}

interface HandoverOptions {
  readonly targets: HandoverTargets
  readonly buckets: number
  readonly leaseMs: number
  /** The profiles that the batch was planned on. */
  readonly users: Profiles['users']
  /** From before those were read, by `performance.now()`. */
  readonly profilesReadAt: number
}

interface Reservation {
  readonly target: HandoverTarget
  readonly channel: Channel
  /** By `performance.now()`. */
  readonly claimedAt: number
}

/**
 * Hands what a batch admits to the workers of this process, where they would send it at once.
 *
 * It is as if each delivery had been claimed. That its user is not erased meanwhile is part of the write: admission checks
 * the user's row in the transaction that leases the delivery, as an erasure locks it, so `claimedAt` is from just before
 * the write. Quiet hours and suppressions are those of the profile, which a claim would read with the delivery: so the lease
 * that the worker may use begins when the profile was read, and none is older at its call than those of a claim. So are the
 * devices of a push: its `claimedAt` is from before the profile was read, so that they are looked up again unless the call
 * follows at once.
 * A process that dies after the write leaves a lease that ends, as it does after a claim.
 */
class Handover implements Leases {
  readonly #options: HandoverOptions
  readonly #reserved = new Map<string, Reservation>()

  constructor(options: HandoverOptions) {
    this.#options = options
  }

  get leaseMs(): number {
    return this.#options.leaseMs
  }

  reserve(decided: readonly AdmissionDecision[]): ReadonlySet<string> {
    const now = performance.now()
    const leased = new Set<string>()
    for (const { deliveries } of decided)
      for (const { id, channel, outcome } of deliveries) {
        const target = this.#options.targets.get(channel)
        if (outcome !== 'queued' || id === undefined || !target?.reserve()) continue
        const claimedAt = channel === 'push' ? this.#options.profilesReadAt : now
        this.#reserved.set(id, { target, channel, claimedAt })
        leased.add(id)
      }
    return leased
  }

  cancel(deliveryIds: Iterable<string>): void {
    for (const id of deliveryIds) {
      this.#reserved.get(id)?.target.cancel(1)
      this.#reserved.delete(id)
    }
  }

  /** Hands over what was admitted with a lease; what else was reserved is given up. Returns what must be claimed. */
  complete(admitted: readonly AdmissionDecision[]): AdmissionDecision[] {
    const claimed = admitted.flatMap(({ notification, deliveries }) =>
      deliveries.flatMap((delivery) => this.#claimedOf(notification, delivery) ?? []),
    )
    for (const [target, mine] of Map.groupBy(claimed, ({ reservation }) => reservation.target))
      target.add({
        deliveries: mine.map(({ delivery }) => delivery),
        claimedAt: Math.min(...mine.map(({ reservation }) => reservation.claimedAt)),
        leaseEndsAt: this.#options.profilesReadAt + this.leaseMs,
      })
    const handed = new Set(claimed.map(({ delivery }) => delivery.deliveryId))
    for (const id of handed) this.#reserved.delete(id)
    this.cancelAll()
    if (handed.size === 0) return [...admitted]
    return admitted.map((each) => ({
      ...each,
      deliveries: each.deliveries.filter(({ id }) => id === undefined || !handed.has(id)),
    }))
  }

  /** Gives up all that is reserved. */
  cancelAll(): void {
    this.cancel([...this.#reserved.keys()])
  }

  /** Undefined for a duplicate, which has the id of what it repeats: that may be of the same batch. */
  #claimedOf(notification: PlannedNotification, { id, channel, outcome, plan }: DeliveryDecision) {
    const reservation = id === undefined ? undefined : this.#reserved.get(id)
    if (!reservation || id === undefined || outcome !== 'queued' || plan.kind !== 'send') return undefined
    const { userId, event, priority, sensitive, expiresAt } = notification
    const profile = this.#options.users.get(userId)
    const delivery: ClaimedDelivery = {
      bucket: bucketOfId(id, this.#options.buckets),
      channel,
      deliveryId: id,
      userId,
      event,
      critical: priority === 'critical',
      attempt: 1,
      failures: 0,
      crashes: 0,
      sensitive,
      message: plan.message,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(priority === 'critical' ? {} : quietHoursOf(profile, event)),
      suppressions: profile?.suppressions.filter((each) => each.channel === channel) ?? [],
    }
    return { delivery, reservation }
  }
}

/** As the claim reads them: those of the event type, else those of all. */
function quietHoursOf(profile: Profile | undefined, event: string): Pick<ClaimedDelivery, 'quietHours'> {
  const hoursOf = (eventType: string) =>
    profile?.preferences.find((each) => each.eventType === eventType && each.quietHours)?.quietHours
  const hours = hoursOf(event) ?? hoursOf(all)
  if (!hours) return {}
  const zone = profile?.recipient?.zoneinfo
  return { quietHours: { ...hours, ...(zone === undefined ? {} : { zone }) } }
}
