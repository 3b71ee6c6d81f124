import type { FailedAuthentication } from './authentication-fault.ts'

const windowMs = 60_000
/** Events that this process writes about refused clients in one window. */
const maxEvents = 60

/**
 * Keeps the audit trail readable, and its table small, while somebody floods: of each client and check one event a
 * minute, of all together 60, in each process. Those left out are counted in the next event.
 */
export class AuditBudget {
  #window = 0
  readonly #recorded = new Set<string>()
  #omitted = 0

  /** How many refusals were left out since the last event; undefined when this one is left out too. */
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
