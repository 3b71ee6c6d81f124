import type { Clock } from '@gatehouse/kit'
import type { RetryPolicy } from '../../model/delivery/retry-policy.ts'
import type { Target } from '../../model/notification/notification.ts'
import type { ClaimedDelivery } from '../../store/store.ts'
import { type Call, noProvider, OpenAttempt, type Release } from '../attempt.ts'
import { resultOfDevice, resultOfSuppression, resultWithoutProvider } from '../calls/skipped-targets.ts'
import type { ProviderPool, Unavailable } from './provider-pool.ts'

/**
 * What happens to a delivery: an attempt with the calls to make, whose other targets have their results already; or a
 * release, because every provider it could go to is paused.
 */
export type Route =
  | { readonly kind: 'attempt'; readonly attempt: OpenAttempt; readonly calls: readonly Call[] }
  | { readonly kind: 'release'; readonly release: Release }

/** Chooses a provider for each target of a delivery. */
export interface Router {
  /** Chooses for one delivery; asks the shared breakers where a provider may have to be probed. */
  route(claimed: ClaimedDelivery): Promise<Route>
}

/** A target for which no provider is called. */
interface Uncalled {
  readonly target: Target
  readonly choice: Unavailable
}

/** Creates the router of a channel's worker. */
export function createRouter(pool: ProviderPool, policy: Pick<RetryPolicy, 'patienceMs'>, clock: Clock): Router {
  return {
    async route(claimed) {
      const { message, channel } = claimed
      const attempt = new OpenAttempt(claimed)
      const calls: Call[] = []
      const uncalled: Uncalled[] = []
      for (const target of message.targets) {
        const leftOut = resultOfDevice(claimed, target) ?? resultOfSuppression(claimed, target, clock.now())
        if (leftOut) {
          attempt.addResult({ target, provider: noProvider, result: leftOut })
          continue
        }
        const choice = pool.choose(target, message) ?? (await pool.probe(target, message))
        if (choice.kind === 'provider') calls.push({ ...choice, attempt, target })
        else uncalled.push({ target, choice })
      }
      const release = releaseOf(claimed, uncalled, policy, clock.now())
      if (release) return { kind: 'release', release }
      for (const { target, choice } of uncalled) {
        const result = resultWithoutProvider(choice, target.service ?? channel, clock.now())
        attempt.addResult({ target, provider: noProvider, result })
      }
      return { kind: 'attempt', attempt, calls }
    },
  }
}

/** A delivery of which every target waits is released until a provider is available, but no longer than its patience. */
function releaseOf(
  claimed: ClaimedDelivery,
  uncalled: readonly Uncalled[],
  { patienceMs }: Pick<RetryPolicy, 'patienceMs'>,
  now: number,
): Release | undefined {
  const { message, expiresAt } = claimed
  const waits = uncalled.flatMap(({ choice }) => (choice.kind === 'later' ? [choice.at] : []))
  if (waits.length === 0 || waits.length < message.targets.length) return undefined
  const at = Math.min(...waits)
  if (at > (message.waitsSince ?? now) + patienceMs) return undefined
  return { claimed, dueAt: Math.min(at, expiresAt ?? at), waitsSince: now }
}
