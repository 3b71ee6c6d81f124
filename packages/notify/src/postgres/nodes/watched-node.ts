import { DatabasePartUnavailable, isUnavailable, type Log } from '@gatehouse/kit'

/**
 * What a probe found out. A node that `refuses` connections is down, or has none left: that stops nobody, for work on it
 * fails at once, or goes on where it is connected.
 */
export type Probed = 'answers' | 'refuses' | 'silent'

/** What a {@link WatchedNode} needs. */
export interface WatchedNodeOptions {
  /**
   * Has a node answer. `onSent` is called when the question is on its way; a node that does not answer it in time is
   * silent. Rejects where nothing was found out, such as when the coordinator has no connection left.
   */
  readonly probe: (node: string, onSent: () => void) => Promise<Probed>
  /** The maximum number of pieces of work under way on a node. Further ones wait. */
  readonly maxAtOnce: number
  readonly log: Log
  /** Whether anybody wants to know when the node is back: it is then probed until it is. */
  readonly isAwaited: () => boolean
  /** Called when the node answers after it was silent, refused connections or could not be probed. */
  readonly onReturn: (node: string) => void
  /** Work that takes longer has its node probed, in milliseconds. Default 1 s. */
  readonly slowMs?: number
  /** A node that does not answer for so long once asked counts as silent, in milliseconds. Default 2 s. */
  readonly patienceMs?: number
  /** For how long work waits for its turn, in milliseconds. Default 5 s. */
  readonly maxWaitMs?: number
  /** From one probe of a node to the next, in milliseconds. Default 1 s. */
  readonly probeEveryMs?: number
}

/**
 * A node of the database does not answer, refuses connections, or has too much to do. What it was to do may have happened.
 */
export class NodeUnavailable extends DatabasePartUnavailable {}

const defaultSlowMs = 1_000
const defaultPatienceMs = 2_000
const defaultMaxWaitMs = 5_000
const defaultProbeEveryMs = 1_000

/** Work that waits until less is under way on its node. */
interface Turn {
  readonly start: () => void
  readonly refuse: (error: Error) => void
}

/** A node, the work under way on it, and what is known of it. */
export class WatchedNode {
  readonly #node: string
  readonly #options: WatchedNodeOptions
  readonly #underWay = new Set<AbortController>()
  readonly #turns = new Set<Turn>()
  #isSilent = false
  /** Whether it refused the last probe. */
  #isRefusing = false
  /** Whether the last probe was not answered, for whatever reason. */
  #isAway = false
  #isProbing = false
  #isDisposed = false
  /** When it was last probed, by `performance.now()`. */
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(node: string, options: WatchedNodeOptions) {
    this.#node = node
    this.#options = options
  }

  /** Runs work on the node, in turn. @throws NodeUnavailable when it is silent, or too much is under way on it */
  async run<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#isSilent) {
      this.#probeSoon()
      throw this.#silence()
    }
    if (this.#underWay.size >= this.#options.maxAtOnce) await this.#waitForTurn()
    const ending = new AbortController()
    this.#underWay.add(ending)
    const slow = setInterval(() => this.#probeSoon(), this.#options.slowMs ?? defaultSlowMs)
    try {
      return await endedBy(ending.signal, work(ending.signal))
    } catch (error) {
      if (!isUnavailable(error) || error instanceof NodeUnavailable) throw error
      this.#probeSoon()
      throw this.#isRefusing ? this.#refusal(error) : error
    } finally {
      clearInterval(slow)
      this.#underWay.delete(ending)
      if (this.#underWay.size < this.#options.maxAtOnce) this.#startNext()
    }
  }

  /** Probes it no more. */
  dispose(): void {
    this.#isDisposed = true
  }

  #waitForTurn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        this.#turns.delete(turn)
      }
      const turn: Turn = {
        start() {
          leave()
          resolve()
        },
        refuse(error) {
          leave()
          reject(error)
        },
      }
      const { maxWaitMs = defaultMaxWaitMs } = this.#options
      const tooMuch = () =>
        turn.refuse(
          new NodeUnavailable(
            `too much is under way on the database node ${this.#node}`,
            'Too much is under way on a node of the database that this request needs',
          ),
        )
      const timer = setTimeout(tooMuch, maxWaitMs)
      this.#turns.add(turn)
    })
  }

  #startNext(): void {
    const [turn] = this.#turns
    turn?.start()
  }

  /** Asks the node for an answer, unless it has just been asked. */
  #probeSoon(): void {
    const { probeEveryMs = defaultProbeEveryMs } = this.#options
    if (performance.now() - this.#probedAt >= probeEveryMs) this.#probe()
  }

  #probe(): void {
    if (this.#isProbing || this.#isDisposed) return
    this.#isProbing = true
    const { probe, patienceMs = defaultPatienceMs } = this.#options
    let patience: NodeJS.Timeout | undefined
    const onSent = () => {
      patience ??= setTimeout(() => this.#learn('silent'), patienceMs)
    }
    probe(this.#node, onSent)
      .then(
        (probed) => this.#learn(probed),
        (error) => this.#learnNothing(error),
      )
      .finally(() => {
        clearTimeout(patience)
        this.#isProbing = false
        this.#probedAt = performance.now()
        this.#probeUntilBack()
      })
  }

  #probeUntilBack(): void {
    const { isAwaited, probeEveryMs = defaultProbeEveryMs } = this.#options
    if (this.#isAway && isAwaited()) setTimeout(() => this.#probe(), probeEveryMs).unref()
  }

  #learn(probed: Probed): void {
    if (probed === 'answers') this.#answer()
    else if (probed === 'silent') this.#fallSilent()
    else if (!this.#isRefusing) {
      this.#isRefusing = true
      this.#isAway = true
      this.#options.log.warn({ node: this.#node }, 'a node of the database refuses connections')
    }
  }

  #answer(): void {
    const { log, onReturn } = this.#options
    if (!this.#isAway) return
    this.#isAway = false
    this.#isSilent = false
    this.#isRefusing = false
    log.info({ node: this.#node }, 'a node of the database answers again')
    onReturn(this.#node)
  }

  #learnNothing(error: unknown): void {
    if (this.#isAway) return
    this.#isAway = true
    this.#options.log.warn({ node: this.#node, err: error }, 'a node of the database could not be probed')
  }

  #fallSilent(): void {
    if (this.#isSilent) return
    this.#isSilent = true
    this.#isAway = true
    const underWay = this.#underWay.size
    this.#options.log.error({ node: this.#node, underWay }, 'a node of the database does not answer; its buckets wait')
    for (const ending of this.#underWay) ending.abort(this.#silence())
    for (const turn of this.#turns) turn.refuse(this.#silence())
  }

  #refusal(cause: unknown): NodeUnavailable {
    return new NodeUnavailable(
      `the database node ${this.#node} refuses connections`,
      'A node of the database that this request needs refuses connections',
      { cause },
    )
  }

  #silence(): NodeUnavailable {
    return new NodeUnavailable(
      `the database node ${this.#node} does not answer`,
      'A node of the database that this request needs does not answer',
    )
  }
}

/** What the work resolves with, unless the signal aborts before: then its reason. */
function endedBy<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}
