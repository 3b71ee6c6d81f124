export { type Clock, coarseClock } from './clock.ts'
export type { Decision, RuleDecision, Source } from './decision.ts'
export { decisionHeaders, type HeaderOptions, type IetfFields } from './headers.ts'
export type { Identifier, KeyTag } from './key.ts'
export { type CheckOptions, createLimiter, type Limiter, type LimiterOptions } from './limiter.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/store.ts'
export {
  definePolicy,
  type FailureMode,
  type Policy,
  type PolicyOptions,
  type TierLimits,
  type TierOptions,
  tierPolicy,
} from './policy.ts'
export { type QuotaExceededProblem, quotaExceededProblem } from './problem.ts'
export type { Algorithm, BucketRule, CountedRule, Rule, WindowRule } from './rule.ts'
export type { CounterStore, Taken } from './store.ts'
