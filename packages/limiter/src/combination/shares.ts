import { waitMs } from '../algorithms/counters.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { combinePolicies, countedIdentifier, partsOf } from './combine.ts'

/** Some policies of a combination, which are taken in one step. */
export interface Share {
  readonly policy: Policy
  /** The places of its rules among those of the whole. */
  readonly places: readonly number[]
}

/** Divides a combination into those of its policies that are alike; in the order in which they come first. */
export function divideIntoShares(whole: Policy, alike: (part: Policy) => unknown): readonly Share[] {
  const groups = new Map<unknown, { policies: Policy[]; places: number[] }>()
  let place = 0
  for (const part of partsOf(whole)) {
    const key = alike(part)
    const group = groups.get(key) ?? { policies: [], places: [] }
    groups.set(key, group)
    group.policies.push(part)
    for (let i = 0; i < part.rules.length; i++) group.places.push(place++)
  }
  return [...groups.values()].map(({ policies, places }) => ({ policy: combinePolicies(policies), places }))
}

const bySubject = new WeakMap<Policy, readonly Share[]>()

/** A combination divided by whom its rules count: whoever makes the request, and everyone. */
export function subjectShares(whole: Policy): readonly Share[] {
  let found = bySubject.get(whole)
  if (found === undefined) {
    found = divideIntoShares(whole, ({ shared }) => shared)
    bySubject.set(whole, found)
  }
  return found
}

const byMode = new WeakMap<Policy, readonly Share[]>()

/** The policies of a combination that fail closed, together; none where there are none. */
export function closedShares(whole: Policy): readonly Share[] {
  if (whole.failureMode !== 'closed') return []
  let found = byMode.get(whole)
  if (found === undefined) {
    found = divideIntoShares(whole, ({ failureMode }) => failureMode === 'closed').filter(
      ({ policy }) => policy.failureMode === 'closed',
    )
    byMode.set(whole, found)
  }
  return found
}

/** Whether a policy has both rules for everyone and others. */
export function isMixed(policy: Policy): boolean {
  return policy.parts !== undefined && subjectShares(policy).length > 1
}

/** Has every share of a policy answered by itself; as one where it is not mixed. */
export function queryShares(
  policy: Policy,
  identifier: Identifier,
  ask: (policy: Policy, identifier: Identifier, share: Share | undefined) => CounterResult | Promise<CounterResult>,
  cost = 1,
): CounterResult | Promise<CounterResult> {
  if (!isMixed(policy)) return ask(policy, countedIdentifier(policy, identifier), undefined)
  const all = subjectShares(policy)
  const answers = all.map((share) => ask(share.policy, countedIdentifier(share.policy, identifier), share))
  if (answers.some((answer) => answer instanceof Promise))
    return Promise.all(answers).then((settled) => joinResults(policy, all, settled, cost))
  return joinResults(policy, all, answers as CounterResult[], cost)
}

/** Takes from a store that takes only what counts one identifier in one step. */
export function acquireByShares(
  store: CounterStore,
  policy: Policy,
  identifier: Identifier,
  request: Request,
): CounterResult | Promise<CounterResult> {
  const { cost, now, withinMs } = request
  const all = subjectShares(policy)
  const until = withinMs === undefined ? undefined : performance.now() + withinMs
  const who = (share: Share): Identifier => countedIdentifier(share.policy, identifier)
  const answers = acquireInTurn(all, {
    take: (share) =>
      store.acquire(share.policy, who(share), cost, now, until === undefined ? undefined : until - performance.now()),
    giveBack: (share, result) =>
      store.add(share.policy, who(share), releaseAmounts(share.policy, result, cost), now, result.now),
    peek: (share) => store.peek(share.policy, who(share), now, cost),
  })
  if (answers instanceof Promise) return answers.then((settled) => joinResults(policy, all, settled, cost))
  return joinResults(policy, all, answers, cost)
}

export interface Request {
  readonly cost: number
  readonly now: number
  readonly withinMs?: number | undefined
}

/** How shares are taken one after another. */
export interface Steps {
  take(share: Share): CounterResult | Promise<CounterResult>
  /** Takes back what a share took, since another one refused; answers how it stands then, where that is known. */
  giveBack(share: Share, result: CounterResult): CounterResult | undefined | Promise<CounterResult | undefined>
  peek(share: Share): CounterResult | Promise<CounterResult>
}

/**
 * Takes shares one after another, all or nothing: where one refuses, or cannot be asked, those before it are given back.
 * Never admits more than each of them does. In between, other requests find what is given back later taken; a process that
 * dies then leaves it taken until its windows end. At once when every step is.
 */
export function acquireInTurn(
  all: readonly Share[],
  steps: Steps,
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  return acquireFrom(all, steps, [])
}

function acquireFrom(
  all: readonly Share[],
  steps: Steps,
  done: readonly CounterResult[],
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  const share = all[done.length]
  if (share === undefined) return done
  const after = (result: CounterResult) =>
    result.allowed ? acquireFrom(all, steps, [...done, result]) : releaseAcquired(all, steps, [...done, result])
  const result = steps.take(share)
  if (!(result instanceof Promise)) return after(result)
  return result.then(after, async (error: unknown) => {
    await Promise.allSettled(done.map((one, i) => steps.giveBack(all[i] as Share, one)))
    throw error
  })
}

/** The last of `done` refused. Those before it are given back, those behind it are read, for how long to wait. */
function releaseAcquired(
  all: readonly Share[],
  steps: Steps,
  done: readonly CounterResult[],
): readonly CounterResult[] | Promise<readonly CounterResult[]> {
  const last = done.length - 1
  const stands = all.map((share, i): CounterResult | Promise<CounterResult> => {
    const result = done[i]
    if (result === undefined) return steps.peek(share)
    if (i === last) return result
    const back = steps.giveBack(share, result)
    // What cannot be given back stays taken until its window ends.
    return back instanceof Promise ? back.then((now) => now ?? result).catch(() => result) : (back ?? result)
  })
  return stands.some((one) => one instanceof Promise) ? Promise.all(stands) : (stands as CounterResult[])
}

/** What a store answers to all shares together. */
export function joinResults(
  whole: Policy,
  all: readonly Share[],
  answers: readonly CounterResult[],
  cost: number,
): CounterResult {
  const counters = new Array<number>(2 * whole.rules.length).fill(0)
  let violated = 0
  all.forEach(({ places }, nth) => {
    const answer = answers[nth]
    places.forEach((place, i) => {
      counters[2 * place] = answer?.counters[2 * i] ?? 0
      counters[2 * place + 1] = answer?.counters[2 * i + 1] ?? 0
      if (((answer?.violated ?? 0) & (1 << i)) !== 0) violated |= 1 << place
    })
  })
  const allowed = answers.every((answer) => answer.allowed)
  const now = Math.max(...answers.map((answer) => answer.now))
  const result = { allowed, violated, counters, now }
  if (answers.every((answer) => answer.waitMs === undefined)) return result
  return { ...result, waitMs: Math.max(...all.map(({ policy }, nth) => waitOf(policy, answers[nth], cost))) }
}

function waitOf({ rules }: Policy, answer: CounterResult | undefined, cost: number): number {
  if (answer === undefined) return 0
  if (answer.waitMs !== undefined) return answer.waitMs
  const { counters, now } = answer
  return Math.max(
    ...rules.map((rule, i) =>
      rule.shadow ? 0 : waitMs(rule, counters[2 * i] ?? 0, counters[2 * i + 1] ?? 0, cost, now),
    ),
  )
}

/** What was taken of each rule, to be taken back: nothing where a rule in shadow was violated. */
export function releaseAmounts({ rules }: Policy, { violated }: CounterResult, cost: number): number[] {
  return rules.map((_, i) => ((violated & (1 << i)) === 0 ? -cost : 0))
}

/** The part of an answer that is about one share. */
export function resultOfShare(
  { places }: Share,
  { violated, counters, now }: CounterResult,
  whole: Policy,
): CounterResult {
  let bits = 0
  places.forEach((place, i) => {
    if ((violated & (1 << place)) !== 0) bits |= 1 << i
  })
  const allowed = places.every((place) => whole.rules[place]?.shadow || (violated & (1 << place)) === 0)
  const own = places.flatMap((place) => [counters[2 * place] ?? 0, counters[2 * place + 1] ?? 0])
  return { allowed, violated: bits, counters: own, now }
}
