import type { FailedAuthentication } from './authentication-fault.ts'

const windowMs = 60_000
/** Audit events of this process in one window. */
const maxEvents = 60

/**
 * Bounds the audit events of failed client authentications during an attack: one event per client and check a minute,
 * 60 in all, in each process. The omitted ones are counted in the next event.
 */
export class AuditBudget {
  #window = 0
  readonly #recorded = new Set<string>()
  #omitted = 0

  /** How many failures were omitted since the last event; undefined when this one is omitted too. */
  admit({ clientId = '', fault }: FailedAuthentication, now: number): number | undefined {
    const window = Math.floor(now / windowMs)
    if (window !== this.#window) {
      this.#window = window
      this.#recorded.clear()
    }
    const key = `${fault.check} ${clientId}`
    if (this.#recorded.has(key) || this.#recorded.size >= maxEvents) {
      this.#omitted++
      return undefined
    }
    this.#recorded.add(key)
    const omitted = this.#omitted
    this.#omitted = 0
    return omitted
  }
}
