/**
 * Rate limiting with several windows at once, in memory, over Redis or PostgreSQL.
 *
 * @packageDocumentation
 */
export { decisionHeaders, type HeaderOptions, type IetfFields } from './adapters/headers.ts'
export { type QuotaExceededProblem, quotaExceededProblem } from './adapters/problem.ts'
export type { Counters } from './algorithms/counters.ts'
export { type Clock, coarseClock } from './clock.ts'
export { combinePolicies } from './combination/combine.ts'
export type { Decision, RuleDecision, Source } from './decision.ts'
export {
  declaredPolicy,
  declaredTier,
  type LimitsDeclaration,
  type PolicyDeclaration,
  type TierDeclaration,
} from './declaration.ts'
export type { Explanation, RuleExplanation } from './explain.ts'
export { Breaker, type BreakerOptions, type BreakerState } from './failover/breaker.ts'
export type { FailoverOptions } from './failover/failover-limiter.ts'
export { type HotKeyStore, type HotKeysOptions, hotKeyStore } from './hot-keys/store.ts'
export type { HybridOptions, HybridStore } from './hybrid/options.ts'
export { hybridStore } from './hybrid/store.ts'
export type { Identifier, KeyTag } from './key.ts'
export { type CheckOptions, createLimiter, type Limiter, type LimiterOptions } from './limiter.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/store.ts'
export type { BreakerScope, Labels, Observer } from './observer.ts'
export {
  definePolicy,
  type FailureMode,
  type Policies,
  type Policy,
  type PolicyOptions,
  type TierLimits,
  type TierOptions,
  tierPolicy,
} from './policy.ts'
export { type PolicyBook, policyBook } from './policy-book.ts'
export { DeclarationError, type DeclarationPlace } from './policy-error.ts'
export type { Algorithm, BucketRule, CountedRule, Rule, WindowRule } from './rule.ts'
export { shardedStore } from './sharding/store.ts'
export {
  type AcquireRequest,
  type AddRequest,
  type Completion,
  type CounterResult,
  type CounterStore,
  NotCountedError,
} from './store.ts'
