import type { Clock } from '@gatehouse/kit'
import type { BreakerScope, BreakerState } from '@gatehouse/limiter'

/** The counter store of policies of one scope, as its breaker sees it. */
export interface StoreState {
  readonly scope: BreakerScope
  readonly breaker: BreakerState
  /** Since when it does not answer, in Unix milliseconds; undefined while it does. */
  readonly since: number | undefined
}

/** Remembers since when the counter store is unavailable. */
export interface StoreWatch {
  /** Called when a breaker of the counter store changes. */
  onBreakerChange(state: BreakerState, scope: BreakerScope): void
  /** The state of both scopes. */
  states(): StoreState[]
}

/** Creates a watch over the breakers of the counter store, which are closed at first. */
export function createStoreWatch(clock: Clock): StoreWatch {
  const scopes = new Map<BreakerScope, StoreState>()
  const stateOf = (scope: BreakerScope): StoreState =>
    scopes.get(scope) ?? { scope, breaker: 'closed', since: undefined }
  return {
    onBreakerChange(breaker, scope) {
      // A probe that fails changes the state twice, and the store was unavailable all the time.
      const since = breaker === 'closed' ? undefined : (stateOf(scope).since ?? clock.now())
      scopes.set(scope, { scope, breaker, since })
    },
    states: () => [stateOf('standard'), stateOf('fail_closed')],
  }
}
