import { admits } from '../algorithms/counters.ts'
import { combinePolicies, countedBy } from '../combination/combine.ts'
import { eachShare, isMixed, partOf, subjectShares, takeByShares, takenBack } from '../combination/shares.ts'
import { type Decision, decide, type Source, uncounted } from '../decision.ts'
import type { Identifier } from '../key.ts'
import type { MemoryStoreOptions } from '../memory/store.ts'
import type { Observer, Patience } from '../observer.ts'
import type { Policy } from '../policy.ts'
import type { CounterStore, Taken } from '../store.ts'
import { Breaker, type BreakerOptions } from './breaker.ts'
import { Deadline, type Outcomes, type Turn } from './deadline.ts'
import { Mirror } from './replica.ts'

export interface GuardOptions {
  /** How long a check waits for the store. Default 5. */
  readonly deadlineMs?: number
  /** How long a check of a policy that fails closed waits. Default 250. */
  readonly closedDeadlineMs?: number
  readonly breaker?: Omit<BreakerOptions, 'onChange'>
  /** The local fallback's bounds. */
  readonly fallback?: MemoryStoreOptions
  readonly observer?: Observer
}

interface Way {
  readonly deadline: Deadline
  readonly breaker: Breaker
}

/** A check that waits for the store. */
interface Asked {
  readonly policy: Policy
  readonly identifier: Identifier
  readonly cost: number
  readonly now: number
}

/**
 * Stands before a store that may be slow or gone. Slow: this process counts by itself. Repeatedly slow, or failing: the
 * policy's failure mode decides until a probe comes back. Nothing is queued to be repeated later; counts that were lost
 * are raised again to what this process remembers.
 */
export class Guard {
  readonly store: CounterStore
  readonly #mirror: Mirror
  readonly #ways: Readonly<Record<Patience, Way>>
  readonly #closedDeadlineMs: number
  readonly #observer: Observer
  readonly #outcomes: Outcomes<Asked, Taken, Decision> = {
    answered: (asked, taken, turn) => this.#answered(asked, taken, turn),
    failed: (asked, error, turn) => {
      this.#observer.storeFailed?.(error)
      this.#failed(asked, turn)
      return this.#unavailable(asked.policy, asked.identifier, asked.cost, asked.now)
    },
    late: (asked, turn) => {
      this.#observer.storeTimedOut?.()
      this.#failed(asked, turn)
      const { policy, identifier, cost, now } = asked
      return policy.failureMode === 'closed'
        ? this.#unavailable(policy, identifier, cost, now)
        : this.#local(policy, identifier, cost, now)
    },
  }

  constructor(store: CounterStore, options: GuardOptions) {
    const { deadlineMs = 5, closedDeadlineMs = 250, breaker = {}, fallback = {}, observer = {} } = options
    const way = (patience: Patience, ms: number): Way => ({
      deadline: new Deadline(ms),
      breaker: new Breaker({ ...breaker, onChange: (state) => observer.breakerChanged?.(state, patience) }),
    })
    this.store = store
    this.#mirror = new Mirror(fallback, store.combines ?? false)
    this.#ways = { quick: way('quick', deadlineMs), patient: way('patient', closedDeadlineMs) }
    this.#closedDeadlineMs = closedDeadlineMs
    this.#observer = observer
  }

  /** Takes at the store, or answers in its stead. */
  take(policy: Policy, requester: Identifier, cost: number, now: number): Decision | Promise<Decision> {
    const identifier = countedBy(policy, requester)
    const { deadline, breaker } = this.#wayOf(policy)
    if (breaker.state !== 'closed' && !breaker.admits(now)) return this.#unavailable(policy, identifier, cost, now)
    // What is answered by a local count was served, and may be counted late; what is rejected may not.
    const withinMs = policy.failureMode === 'closed' ? this.#closedDeadlineMs : undefined
    const inTurn = policy.parts !== undefined && !this.store.combines && isMixed(policy)
    if (this.store.takeFor !== undefined && !inTurn) {
      const entry = deadline.enter({ policy, identifier, cost, now }, this.#outcomes)
      try {
        this.store.takeFor(entry, policy, identifier, cost, now, withinMs)
      } catch (fault) {
        entry.drop()
        throw fault
      }
      return entry.promise
    }
    const taken = inTurn
      ? takeByShares(this.store, policy, identifier, { cost, now, withinMs })
      : this.store.take(policy, identifier, cost, now, withinMs)
    if (!(taken instanceof Promise)) return decide(policy, taken, cost, 'store')
    return deadline.race(taken, { policy, identifier, cost, now }, this.#outcomes)
  }

  /** How a request of `cost` would fare, without taking; by what this process remembers when the store is silent. */
  peek(policy: Policy, identifier: Identifier, now: number, cost = 1): Decision | Promise<Decision> {
    const stands = (value: Taken, source: Source): Decision => decide(policy, atCost(policy, value, cost), cost, source)
    const taken = eachShare(policy, identifier, (part, who) => this.store.peek(part, who, now, cost), cost)
    if (!(taken instanceof Promise)) return stands(taken, 'store')
    const { memory } = this.#mirror
    const here = () => eachShare(policy, identifier, (part, who) => memory.peek(part, who, this.#time(now))) as Taken
    const read = (): Decision => stands(here(), 'local')
    const outcomes = {
      answered: (_: null, value: Taken) => stands(value, 'store'),
      failed: read,
      late: read,
    }
    return this.#wayOf(policy).deadline.race(taken, null, outcomes)
  }

  /** Gives back; rejects when the store does, since an operator has to know. */
  async grant(policy: Policy, identifier: Identifier, amount: number, now: number): Promise<Decision> {
    const taken = eachShare(policy, identifier, async (part, who) => {
      const answer = await this.#patiently(this.store.give(part, who, amount, now))
      this.#mirror.copy(part, who, answer)
      return answer
    })
    return decide(policy, await taken, 1, 'store')
  }

  /** Takes back what an admitted check took, since it was refused elsewhere. What cannot be given back stays taken. */
  async giveBack(policy: Policy, identifier: Identifier, cost: number, decision: Decision): Promise<void> {
    const { source, rules, now } = decision
    if (source !== 'store' && source !== 'local') return
    const violated = rules.reduce((bits, rule, i) => (rule.allowed ? bits : bits | (1 << i)), 0)
    const store = source === 'store' ? this.store : this.#mirror.memory
    const taken: Taken = { allowed: true, violated, counters: [], now }
    const back = eachShare(policy, identifier, async (part, who, share) => {
      const amounts = takenBack(part, share === undefined ? taken : partOf(share, taken, policy), cost)
      const answer = await store.add(part, who, amounts, now, now)
      if (source === 'store') this.#mirror.copy(part, who, answer)
      return answer
    })
    await this.#patiently(back).catch(() => {})
  }

  /** Forgets; rejects when the store does. */
  async reset(policy: Policy, identifier: Identifier, now: number): Promise<void> {
    for (const { policy: part } of subjectShares(policy)) {
      const who = countedBy(part, identifier)
      this.#mirror.memory.reset(part, who, now)
      await this.#patiently(this.store.reset(part, who, now))
    }
  }

  breakerState(policy: Policy): Breaker['state'] {
    return this.#wayOf(policy).breaker.state
  }

  #answered(asked: Asked, taken: Taken, turn: Turn): Decision | Promise<Decision> {
    const { policy, identifier, cost } = asked
    if (!turn.answered) {
      turn.answered = true
      this.#wayOf(policy).breaker.succeeded()
      this.#observer.storeAnswered?.(performance.now() - turn.sentAt)
    }
    this.#mirror.follow(this.store.generation)
    if (this.#mirror.follows(policy, identifier, taken, cost)) return decide(policy, taken, cost, 'store')
    return this.#heal(asked, taken)
  }

  /** Gives the store back what it has lost and answers from what is remembered here; unless it was given back there. */
  #heal({ policy, identifier, cost }: Asked, taken: Taken): Promise<Decision> {
    const own = this.#takeHere(policy, identifier, cost, taken.now)
    const remembered = (): Decision => decide(policy, own, cost, 'local')
    const raised = eachShare(policy, identifier, (part, who, share) =>
      this.store.raise(part, who, (share === undefined ? own : partOf(share, own, policy)).counters, own.now),
    )
    const raising = Promise.resolve(raised)
    return this.#wayOf(policy).deadline.race(raising, null, {
      answered: (_, raised) => {
        if (this.#mirror.isGiven(policy, own, raised)) {
          eachShare(policy, identifier, (part, who, share) => {
            const answer = share === undefined ? raised : partOf(share, raised, policy)
            this.#mirror.copy(part, who, answer)
            return answer
          })
          return decide(policy, taken, cost, 'store')
        }
        this.#observer.healed?.()
        return remembered()
      },
      failed: (_, error) => {
        this.#observer.storeFailed?.(error)
        return remembered()
      },
      late: remembered,
    })
  }

  #failed({ policy, now }: Asked, turn: Turn): void {
    this.#mirror.suspectLoss()
    this.#wayOf(policy).breaker.failed(now, turn)
  }

  #unavailable(policy: Policy, identifier: Identifier, cost: number, now: number): Decision {
    if (policy.failureMode === 'local') return this.#local(countedHere(policy), identifier, cost, now)
    if (policy.failureMode === 'open') return uncounted(policy, true, now, 0)
    const waitMs = this.#wayOf(policy).breaker.waitMs(now)
    return uncounted(policy, false, now, Math.max(1, Math.ceil(waitMs / 1000)))
  }

  #local(policy: Policy, identifier: Identifier, cost: number, now: number): Decision {
    return decide(policy, this.#takeHere(policy, identifier, cost, this.#time(now)), cost, 'local')
  }

  #takeHere(policy: Policy, identifier: Identifier, cost: number, now: number): Taken {
    const { memory } = this.#mirror
    if (!isMixed(policy)) return memory.take(policy, countedBy(policy, identifier), cost, now)
    return takeByShares(memory, policy, identifier, { cost, now }) as Taken
  }

  #wayOf(policy: Policy): Way {
    return policy.failureMode === 'closed' ? this.#ways.patient : this.#ways.quick
  }

  #time(now: number): number {
    return this.store.time?.(now) ?? now
  }

  #patiently<T>(answer: T | Promise<T>): Promise<T> {
    return this.#ways.patient.deadline.race(Promise.resolve(answer), null, {
      answered: (_, value) => value,
      failed(_, error) {
        throw error
      },
      late() {
        throw new Error('the counter store did not answer in time')
      },
    })
  }
}

/** A store tells how a request of cost 1 would fare; how a dearer one would, its counters tell, or `waitMs`. */
function atCost({ rules }: Policy, taken: Taken, cost: number): Taken {
  if (cost === 1) return taken
  const { counters, now, waitMs = 0 } = taken
  let violated = 0
  rules.forEach((rule, i) => {
    if (!admits(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, cost, now)) violated |= 1 << i
  })
  const allowed = waitMs === 0 && rules.every(({ shadow }, i) => shadow || (violated & (1 << i)) === 0)
  return { ...taken, allowed, violated }
}

/** Those of a combination that are counted in this process while the store is away: `open` ones admit without. */
function countedHere(policy: Policy): Policy {
  const { parts } = policy
  if (parts === undefined || parts.every(({ failureMode }) => failureMode === 'local')) return policy
  return combinePolicies(parts.filter(({ failureMode }) => failureMode === 'local'))
}
