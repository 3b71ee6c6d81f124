import type { Batch } from './batch.ts'
import type { Call } from './calls.ts'

/** A call that has no response by then no longer delays the next ones. */
const maxHoldMs = 50

/** The calls that share a hash tag. */
interface Group {
  /** Waiting calls, by the number of their batch. */
  readonly waiting: Call[][]
  /** The promise of the last calls; undefined once it has settled or was given up. */
  sent: Promise<unknown> | undefined
  timer: NodeJS.Timeout | undefined
}

/**
 * Sends calls to a Redis Cluster, those of each hash tag by themselves. While calls of a tag are unanswered, further ones
 * wait and then travel together: a busy cluster gets larger batches, not more of them, at the price of one round trip at
 * most. A server that does not respond delays its groups by 50 ms, and no others.
 */
export class Groups {
  readonly #batches: readonly Batch[]
  readonly #groups = new Map<string, Group>()
  readonly #schedule: () => void
  /** Groups whose calls were answered in this turn of the event loop. */
  #released = new Set<Group>()

  /**
   * @param batches in the order in which their calls are to reach the server
   * @param schedule calls `flush` at the end of the turn
   */
  constructor(batches: readonly Batch[], schedule: () => void) {
    this.#batches = batches
    this.#schedule = schedule
  }

  /** Sends the calls that have arrived, except those of groups with unanswered calls. */
  flush(): void {
    const touched = this.#released
    this.#released = new Set()
    this.#batches.forEach((batch, i) => {
      for (const call of batch.collect()) {
        const group = this.#groupOf(call.tag)
        group.waiting[i]?.push(call)
        touched.add(group)
      }
    })
    for (const group of touched) this.#sendWaiting(group)
  }

  #sendWaiting(group: Group): void {
    if (group.sent !== undefined) {
      group.timer ??= setTimeout(() => this.#release(group), maxHoldMs)
      return
    }
    const sending = this.#batches.flatMap((batch, i) => {
      const calls = group.waiting[i] ?? []
      if (calls.length === 0) return []
      group.waiting[i] = []
      return [batch.send(calls)]
    })
    if (sending.length === 0) return
    const sent = Promise.all(sending)
    group.sent = sent
    void sent.then(() => {
      if (group.sent === sent) this.#release(group)
    })
  }

  #release(group: Group): void {
    clearTimeout(group.timer)
    group.timer = undefined
    group.sent = undefined
    // Not at once: checks that follow from these results in the same turn travel along.
    this.#released.add(group)
    this.#schedule()
  }

  #groupOf(tag: string): Group {
    let group = this.#groups.get(tag)
    if (group === undefined) {
      group = { waiting: this.#batches.map(() => []), sent: undefined, timer: undefined }
      this.#groups.set(tag, group)
    }
    return group
  }
}
