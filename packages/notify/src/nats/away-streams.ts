import type { Log } from '@gatehouse/kit'
import { type Layout, waitingSubjectOf, waitingSubjects } from './layout.ts'
import type { Resources } from './resources.ts'

/** Options of {@link AwayStreams}. */
export interface AwayStreamsOptions {
  readonly resources: Resources
  readonly layout: Layout
  readonly log: Log
}

/**
 * The streams of partitions that take no messages, as the mover of `NOTIFICATIONS` knows. What is for such a stream is set
 * aside, and so is all that follows for it while any of that waits: the events of a user stay in order, and those for
 * other streams go on. Another mover moves what waits. Once it has, the first begins to read again, and asks the server
 * what waits: at that time nothing is under way any more that it would set aside.
 */
export class AwayStreams {
  readonly #options: AwayStreamsOptions
  /** Calls of `read` so far. */
  #readings = 0
  #away = new Set<string>()
  #back = new Set<string>()

  constructor(options: AwayStreamsOptions) {
    this.#options = options
  }

  /** Reads for which streams messages wait. Called once no other reads `NOTIFICATIONS` any more. */
  async read(): Promise<void> {
    const { resources, layout } = this.#options
    const reading = ++this.#readings
    const counts = await resources.countMessages(layout.waiting.name, waitingSubjects)
    // The caller is a reader that was left before it had an answer, and another has asked since.
    if (reading !== this.#readings) return
    const waiting = layout.partitionStreams.filter(({ name }) => (counts[waitingSubjectOf(name)] ?? 0) > 0)
    this.#away = new Set(waiting.map(({ name }) => name))
    this.#back = new Set()
  }

  /** Whether messages for a stream are set aside. */
  has(stream: string): boolean {
    return this.#away.has(stream)
  }

  /** Whether what was set aside for a stream has been moved, so that the reading is to begin again. */
  isBack(stream: string): boolean {
    return this.#back.has(stream)
  }

  /** From now on messages for the stream are set aside. */
  add(stream: string, cause: unknown): void {
    const { resources, log } = this.#options
    if (this.#away.has(stream)) return
    this.#away.add(stream)
    log.error({ err: cause, stream }, 'a stream of partitions takes no messages; those for it are set aside')
    resources.checkSoon()
  }

  /** All that was set aside for the stream has been moved, it seems. */
  endWaiting(stream: string): void {
    if (this.#away.has(stream)) this.#back.add(stream)
  }
}
