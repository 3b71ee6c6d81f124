import type { Batch, Call } from './batch.ts'

/** What was sent and not answered by then no longer holds back what came after it. */
const holdMs = 50

/** The calls that share a hash tag. */
interface Group {
  /** Waiting calls, by the number of their batch. */
  readonly waiting: Call[][]
  /** The promise of what was sent last; undefined once that is settled or given up. */
  sent: Promise<unknown> | undefined
  timer: NodeJS.Timeout | undefined
}

/**
 * Sends calls to a Redis Cluster, those of each hash tag by themselves. While calls of a tag are unanswered, further ones
 * wait and then travel together: a busy cluster gets larger batches instead of more of them, for at most one more way to
 * the server and back. A server that does not answer holds its groups back for 50 ms, and no others.
 */
export class Groups {
  readonly #batches: readonly Batch[]
  readonly #groups = new Map<string, Group>()
  readonly #schedule: () => void
  /** Groups whose calls were answered in this turn of the event loop. */
  #released = new Set<Group>()

  /**
   * @param batches in the order in which their calls are to reach the server
   * @param schedule has `flush` called at the end of the turn
   */
  constructor(batches: readonly Batch[], schedule: () => void) {
    this.#batches = batches
    this.#schedule = schedule
  }

  /** Sends what has arrived, as far as nothing before it is unanswered. */
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
    for (const group of touched) this.#pump(group)
  }

  #pump(group: Group): void {
    if (group.sent !== undefined) {
      group.timer ??= setTimeout(() => this.#release(group), holdMs)
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
    // Not at once: checks that follow from these answers in the same turn travel along.
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
