import type { BreakerRules } from '../config/options.ts'

/** The circuit breakers of providers, shared by all processes. */
export interface ProviderHealth {
  /** For each provider that is open, until when it is left alone: its time, or that of a probe under way (Unix milliseconds). */
  open(): Promise<ReadonlyMap<string, number>>
  /** Counts calls. True when they opened the breaker. */
  report(provider: string, calls: number, failures: number, rules: BreakerRules, now: number): Promise<boolean>
  /** True for exactly one caller once an open breaker's time is over: its call is the probe. */
  probe(provider: string, now: number, untilMs: number): Promise<boolean>
}
