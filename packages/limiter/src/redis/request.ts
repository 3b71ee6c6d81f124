import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import { encodedKey, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'

const algorithmNumber = { 'sliding-window': 1, 'fixed-window': 2, 'token-bucket': 3 } as const

/** What a script has to know of one call. */
export interface ScriptCall {
  readonly policy: Policy
  /** Its id encoded. */
  readonly identifier: Identifier
  readonly now: number
  /** Arguments of the script. */
  readonly rest: readonly string[]
}

/** A policy at a time, as the scripts read it, and the ends of its keys. */
interface TimedPlan {
  readonly number: string
  readonly policy: Policy
  readonly now: number
  readonly suffixes: readonly (readonly string[])[]
}

/** Consecutive calls that differ only in their keys. */
interface Run {
  readonly plan: TimedPlan
  calls: number
  readonly rest: readonly string[]
}

/** Collects KEYS and ARGV of one script call that carries many calls. */
export class ScriptRequest {
  readonly keys: string[] = []
  readonly #head: string[] = []
  readonly #runs: Run[] = []
  readonly #plans: TimedPlan[] = []
  readonly #tag: string
  readonly #readsAdjustment: boolean

  /**
   * @param tag the hash tag of all calls, in braces; '' for none
   * @param readsAdjustment whether the script reads the adjustment of each identifier
   */
  constructor(tag: string, readsAdjustment: boolean) {
    this.#tag = tag
    this.#readsAdjustment = readsAdjustment
  }

  get args(): string[] {
    const runs = this.#runs.flatMap(({ plan, calls, rest }) => [plan.number, String(calls), ...rest])
    return [String(this.#plans.length), ...this.#head, ...runs]
  }

  /** Adds one call: its keys, the number of its plan and its arguments. Equal consecutive calls are one run. */
  push({ policy, identifier, now, rest }: ScriptCall): void {
    const plan = this.#planAt(policy, now)
    if (this.#readsAdjustment) this.keys.push(adjustmentKey(identifier, this.#tag))
    pushKeys(this.keys, plan, identifier, this.#tag)
    const run = this.#runs.at(-1)
    if (run !== undefined && run.plan === plan && areEqual(run.rest, rest)) run.calls++
    else this.#runs.push({ plan, calls: 1, rest })
  }

  #planAt(policy: Policy, now: number): TimedPlan {
    for (let i = this.#plans.length - 1; i >= 0; i--) {
      const plan = this.#plans[i]
      if (plan !== undefined && plan.policy === policy && plan.now === now) return plan
    }
    const number = String(this.#plans.length + 1)
    const plan = { number, policy, now, suffixes: policy.rules.map((rule) => suffixesOf(rule, now)) }
    this.#plans.push(plan)
    this.#head.push(String(policy.rules.length))
    for (const rule of policy.rules) this.#head.push(...ruleArguments(rule, now))
    return plan
  }
}

/** The key under which an adjustment of an identifier's counters is recorded. */
export function adjustmentKey(identifier: Identifier, tag: string): string {
  return `${encodedKey('', identifier.kind, identifier.id, tag)}:adjusted`
}

/** The keys of an identifier's counters at a time, in the order of the scripts. */
export function keysAt(policy: Policy, identifier: Identifier, now: number, tag: string): string[] {
  const keys: string[] = []
  const suffixes = policy.rules.map((rule) => suffixesOf(rule, now))
  pushKeys(keys, { number: '', policy, now, suffixes }, identifier, tag)
  return keys
}

function pushKeys(keys: string[], plan: TimedPlan, identifier: Identifier, tag: string): void {
  const { rules } = plan.policy
  let scope: string | undefined
  let subject: Identifier | undefined
  let base = ''
  // Plain loops: every check comes through here.
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i]
    if (rule !== undefined && (rule.scope !== scope || rule.subject !== subject)) {
      scope = rule.scope
      subject = rule.subject
      const { kind, id } = subject ?? identifier
      base = encodedKey(scope, kind, id, tag)
    }
    const suffixes = plan.suffixes[i] ?? []
    for (let j = 0; j < suffixes.length; j++) keys.push(base + suffixes[j])
  }
}

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some === others || (some.length === others.length && some.every((text, i) => text === others[i]))
}

function suffixesOf(rule: CountedRule, now: number): string[] {
  if (rule.algorithm === 'token-bucket') return [':bucket']
  const index = windowIndex(now, rule.windowMs)
  return rule.algorithm === 'fixed-window' ? [`:${index}`] : [`:${index - 1}`, `:${index}`]
}

/** The arguments of a rule, as plans.lua reads them. */
function ruleArguments(rule: CountedRule, now: number): string[] {
  const isBucket = rule.algorithm === 'token-bucket'
  return [
    algorithmNumber[rule.algorithm],
    rule.limit,
    isBucket ? rule.refillPerMs : rule.windowMs,
    isBucket ? now : elapsedMs(now, rule.windowMs),
    rule.expiryMs,
    rule.shadow ? 1 : 0,
  ].map(String)
}
