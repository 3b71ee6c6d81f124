import type { ClaimedDelivery } from '../../store/store.ts'
import type { Release } from '../attempt.ts'

/** From so many crashes on a delivery is attempted alone, so that its neighbours are not blamed for it. */
const suspectCrashes = 3
/** With so many crashes a delivery is not attempted any more. */
const maxCrashes = 5
/** How long other suspects wait while one is attempted, in milliseconds. */
const isolationPauseMs = 100

/** Claimed deliveries, sorted by whether they may be attempted. */
interface Admitted {
  readonly admitted: readonly ClaimedDelivery[]
  /** Suspects that wait until another one is done. */
  readonly waiting: readonly Release[]
  /** Those whose workers died too often. */
  readonly crashed: readonly ClaimedDelivery[]
}

/**
 * Isolates deliveries whose workers died while they held them. Most of them only waited beside the one at fault: so they
 * are attempted one at a time, and only that one goes on to crash.
 */
export interface Quarantine {
  /** Selects what may be attempted `now` (Unix milliseconds); their lease ends at `leaseEndsAt` by `performance.now()`. */
  admit(claimed: readonly ClaimedDelivery[], leaseEndsAt: number, now: number): Admitted
  /** Admits the next suspect, where the delivery was the one being attempted. */
  release(claimed: ClaimedDelivery): void
}

/** Creates the quarantine of a channel's worker. */
export function createQuarantine(): Quarantine {
  let current: { readonly deliveryId: string; readonly endsAt: number } | undefined
  return {
    admit(claimed, leaseEndsAt, now) {
      const { crashed = [], suspect = [], healthy = [] } = Object.groupBy(claimed, healthOf)
      const isFree = current === undefined || performance.now() > current.endsAt
      const [first] = suspect
      if (isFree && first) current = { deliveryId: first.deliveryId, endsAt: leaseEndsAt }
      const isolated = isFree ? suspect.slice(0, 1) : []
      const waiting = suspect
        .slice(isolated.length)
        .map((each): Release => ({ claimed: each, dueAt: now + isolationPauseMs }))
      return { admitted: [...isolated, ...healthy], waiting, crashed }
    },
    release({ deliveryId }) {
      if (current?.deliveryId === deliveryId) current = undefined
    },
  }
}

function healthOf({ crashes }: ClaimedDelivery): 'healthy' | 'suspect' | 'crashed' {
  if (crashes >= maxCrashes) return 'crashed'
  return crashes >= suspectCrashes ? 'suspect' : 'healthy'
}
