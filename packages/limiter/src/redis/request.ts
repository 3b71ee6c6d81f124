import { elapsedMs, windowIndex } from '../algorithms/window.ts'
import { encodedKey, type Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'

const algorithmNumber = { 'sliding-window': 1, 'fixed-window': 2, 'token-bucket': 3 } as const

/** A policy at a moment, as the scripts read it, and the ends of its keys. */
interface MomentPlan {
  readonly number: string
  readonly policy: Policy
  readonly now: number
  readonly suffixes: readonly (readonly string[])[]
}

/** Calls in a row that differ in nothing but their keys. */
interface Run {
  readonly plan: MomentPlan
  calls: number
  readonly rest: readonly string[]
}

/** Collects KEYS and ARGV for one script call that carries many calls of ours. Ids of identifiers are encoded here. */
export class ScriptRequest {
  readonly keys: string[] = []
  readonly #head: string[] = []
  readonly #runs: Run[] = []
  readonly #plans: MomentPlan[] = []
  readonly #tag: string

  /** @param tag the hash tag of all calls, in its braces; '' for none */
  constructor(tag: string) {
    this.#tag = tag
  }

  get args(): string[] {
    const runs = this.#runs.flatMap(({ plan, calls, rest }) => [plan.number, String(calls), ...rest])
    return [String(this.#plans.length), ...this.#head, ...runs]
  }

  /** Adds one call: the key of its note where it is `noted`, the keys of its counters, the number of its plan and `rest`. Like calls in a row are one run. */
  push(policy: Policy, identifier: Identifier, now: number, rest: readonly string[], noted: boolean): void {
    const plan = this.#planAt(policy, now)
    if (noted) this.keys.push(adjustmentKey(identifier, this.#tag))
    pushKeys(this.keys, plan, identifier, this.#tag)
    const run = this.#runs.at(-1)
    if (run !== undefined && run.plan === plan && sameTexts(run.rest, rest)) run.calls++
    else this.#runs.push({ plan, calls: 1, rest })
  }

  #planAt(policy: Policy, now: number): MomentPlan {
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

/** Where it is noted that an identifier's counters were given back or reset. */
export function adjustmentKey(identifier: Identifier, tag: string): string {
  return `${encodedKey('', identifier.kind, identifier.id, tag)}:adjusted`
}

/** The keys of an identifier's counters at a moment, in the scripts' order. */
export function keysAt(policy: Policy, identifier: Identifier, now: number, tag: string): string[] {
  const keys: string[] = []
  const suffixes = policy.rules.map((rule) => suffixesOf(rule, now))
  pushKeys(keys, { number: '', policy, now, suffixes }, identifier, tag)
  return keys
}

function pushKeys(keys: string[], plan: MomentPlan, identifier: Identifier, tag: string): void {
  const { rules } = plan.policy
  let scope: string | undefined
  let subject: Identifier | undefined
  let base = ''
  // Plain loops: this is the path of every check.
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

function sameTexts(some: readonly string[], others: readonly string[]): boolean {
  return some === others || (some.length === others.length && some.every((text, i) => text === others[i]))
}

function suffixesOf(rule: CountedRule, now: number): string[] {
  if (rule.algorithm === 'token-bucket') return [':bucket']
  const index = windowIndex(now, rule.windowMs)
  return rule.algorithm === 'fixed-window' ? [`:${index}`] : [`:${index - 1}`, `:${index}`]
}

function ruleArguments(rule: CountedRule, now: number): string[] {
  const bucket = rule.algorithm === 'token-bucket'
  return [
    algorithmNumber[rule.algorithm],
    rule.limit,
    bucket ? rule.refillPerMs : rule.windowMs,
    bucket ? now : elapsedMs(now, rule.windowMs),
    rule.expiryMs,
    rule.shadow ? 1 : 0,
  ].map(String)
}
