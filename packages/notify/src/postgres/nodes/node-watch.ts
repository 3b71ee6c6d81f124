import type { Log } from '@gatehouse/kit'

/** What a {@link NodeWatch} needs. */
export interface NodeWatchOptions {
  /**
   * Resolves once a node has answered, and rejects when it does not in time. `onSent` is called when the question is on
   * its way: a failure before that, such as a connection that the coordinator refuses, says nothing of the node.
   */
  readonly probe: (node: string, onSent: () => void) => Promise<unknown>
  /** The maximum number of pieces of work under way on a node. Further ones wait. */
  readonly maxAtOnce: number
  readonly log: Log
  /** Work that takes longer has its node probed, in milliseconds. Default 1 s. */
  readonly slowMs?: number
  /** A node that does not answer for so long once asked counts as silent, in milliseconds. Default 2 s. */
  readonly patienceMs?: number
  /** For how long work waits for its turn, in milliseconds. Default 5 s. */
  readonly maxWaitMs?: number
}

/** A node of the database accepts connections and does not answer, or has too much to do. What it was to do may have happened. */
export class NodeUnavailable extends Error {
  /** SQLSTATE of a connection that failed. */
  readonly code = '08006'
}

const defaultSlowMs = 1_000
const defaultPatienceMs = 2_000
const defaultMaxWaitMs = 5_000
/** From one probe of a silent node to the next. */
const probeEveryMs = 1_000

/**
 * Keeps a node that does not answer from holding up what is on the others. Where work on a node is slow, the node is
 * probed; where that is not answered either, all work under way on it is ended, and further work is refused at once until
 * a probe is answered. Work that is slow on a node that answers goes on. No more than a share of the connections is in use
 * for one node, so that there are some left before it is known to be silent.
 */
export class NodeWatch {
  readonly #options: NodeWatchOptions
  readonly #nodes = new Map<string, WatchedNode>()

  constructor(options: NodeWatchOptions) {
    this.#options = options
  }

  /**
   * Runs work on a node. The work is to end when its signal aborts, and need not: it is awaited no longer.
   * @throws NodeUnavailable when the node is silent, or too much is under way on it
   */
  run<Result>(node: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const known = this.#nodes.get(node) ?? new WatchedNode(node, this.#options)
    this.#nodes.set(node, known)
    return known.run(work)
  }

  /** Forgets the nodes that are no longer there. */
  keep(nodes: ReadonlySet<string>): void {
    for (const node of this.#nodes.keys()) if (!nodes.has(node)) this.#nodes.delete(node)
  }
}

interface Turn {
  readonly start: () => void
  readonly refuse: (error: Error) => void
}

class WatchedNode {
  readonly #node: string
  readonly #options: NodeWatchOptions
  readonly #underWay = new Set<AbortController>()
  readonly #turns = new Set<Turn>()
  #isSilent = false
  #isProbing = false
  /** When it was last probed, by `performance.now()`. */
  #probedAt = Number.NEGATIVE_INFINITY

  constructor(node: string, options: NodeWatchOptions) {
    this.#node = node
    this.#options = options
  }

  async run<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#isSilent) {
      this.#probe()
      throw this.#silence()
    }
    if (this.#underWay.size >= this.#options.maxAtOnce) await this.#waitForTurn()
    const ending = new AbortController()
    this.#underWay.add(ending)
    const slow = setInterval(() => this.#probe(), this.#options.slowMs ?? defaultSlowMs)
    try {
      return await endedBy(ending.signal, work(ending.signal))
    } finally {
      clearInterval(slow)
      this.#underWay.delete(ending)
      if (this.#underWay.size < this.#options.maxAtOnce) this.#startNext()
    }
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
      const tooMuch = () => turn.refuse(new NodeUnavailable(`too much is under way on the database node ${this.#node}`))
      const timer = setTimeout(tooMuch, maxWaitMs)
      this.#turns.add(turn)
    })
  }

  #startNext(): void {
    const [turn] = this.#turns
    turn?.start()
  }

  /** Asks the node for an answer, unless it has just been asked. */
  #probe(): void {
    if (this.#isProbing || performance.now() - this.#probedAt < probeEveryMs) return
    this.#isProbing = true
    const { probe, patienceMs = defaultPatienceMs } = this.#options
    let patience: NodeJS.Timeout | undefined
    const onSent = () => {
      patience ??= setTimeout(() => this.#fallSilent(), patienceMs)
    }
    probe(this.#node, onSent)
      .then(
        () => this.#answer(),
        (error) => (patience === undefined ? this.#learnNothing(error) : this.#fallSilent()),
      )
      .finally(() => {
        clearTimeout(patience)
        this.#isProbing = false
        this.#probedAt = performance.now()
      })
  }

  #answer(): void {
    if (!this.#isSilent) return
    this.#isSilent = false
    this.#options.log.info({ node: this.#node }, 'a node of the database answers again')
  }

  #learnNothing(error: unknown): void {
    this.#options.log.warn({ node: this.#node, err: error }, 'a node of the database could not be probed')
  }

  #fallSilent(): void {
    if (this.#isSilent) return
    this.#isSilent = true
    const underWay = this.#underWay.size
    this.#options.log.error({ node: this.#node, underWay }, 'a node of the database does not answer; its buckets wait')
    for (const ending of this.#underWay) ending.abort(this.#silence())
    for (const turn of this.#turns) turn.refuse(this.#silence())
  }

  #silence(): NodeUnavailable {
    return new NodeUnavailable(`the database node ${this.#node} does not answer`)
  }
}

/** What the work resolves with, unless the signal aborts before: then its reason. */
function endedBy<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}
