/** Something that changed: an event of a topic; `poll` asks to read again, where there is no live connection. */
export interface LiveEvent {
  readonly topic: string
  readonly event: string
  readonly data: unknown
}

/** What a tab hears from the connection. */
export interface LiveHandlers {
  /** The connection is alive. */
  readonly onBeat: () => void
  /** @param id what the next connection resumes after */
  readonly onEvent: (id: string, event: LiveEvent) => void
  /** The connection broke; it is tried again. */
  readonly onLost: () => void
}

/** What the channel is made of, so that it runs without a browser too. Durations are in milliseconds. */
export interface LiveParts {
  /** The lock that one tab of a browser holds; without it every tab has a connection of its own. */
  readonly locks: Pick<LockManager, 'request'> | undefined
  /** Between the tabs; without locks there is none. */
  readonly tabs: BroadcastChannel | undefined
  /** Follows topics until the signal is aborted. Rejects where waiting does not help. */
  readonly connect: (
    topics: readonly string[],
    lastEventId: string,
    handlers: LiveHandlers,
    signal: AbortSignal,
  ) => Promise<void>
  /** Without a sign of life for so long, topics are polled. */
  readonly silenceMs: number
  readonly pollMs: number
  /** A tab that says nothing for so long is gone. */
  readonly forgetMs: number
}

type Message =
  | { readonly kind: 'who' }
  | { readonly kind: 'topics'; readonly tab: string; readonly topics: readonly string[] }
  | { readonly kind: 'beat' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'event'; readonly event: LiveEvent }

type Listener = (event: LiveEvent) => void

const lockName = 'gatehouse-console-live'

/**
 * The live channel of a tab. Of the tabs of a browser the one with the lock has the connection, for the topics of all;
 * it tells the others what it hears. A tab rests while nobody looks at it.
 */
export class LiveChannel {
  readonly #parts: LiveParts
  readonly #tab = crypto.randomUUID()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #watchers = new Set<() => void>()
  /** The topics of the other tabs, for the tab that leads. */
  readonly #others = new Map<string, { readonly topics: readonly string[]; readonly at: number }>()
  #awake: AbortController | undefined
  #connection: AbortController | undefined
  #connected = ''
  #leads = false
  #lastEventId = ''
  #lastSignAt = Number.NEGATIVE_INFINITY
  #live = false

  constructor(parts: LiveParts) {
    this.#parts = parts
    parts.tabs?.addEventListener('message', ({ data }) => this.#onMessage(data as Message))
  }

  /** Whether changes are heard of at once. */
  get isLive(): boolean {
    return this.#live
  }

  /** Calls `watcher` when {@link isLive} changes. Returns how to stop that. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Follows a topic. Returns how to stop that. */
  subscribe(topic: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set()
    this.#listeners.set(topic, listeners.add(listener))
    this.#topicsChanged()
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic)
      this.#topicsChanged()
    }
  }

  /** Somebody looks at the tab. */
  resume(): void {
    if (this.#awake !== undefined) return
    const awake = new AbortController()
    this.#awake = awake
    const timer = setInterval(() => this.#tick(), this.#parts.pollMs)
    awake.signal.addEventListener('abort', () => clearInterval(timer))
    void this.#compete(awake.signal)
    this.#announce()
  }

  /** Nobody looks at the tab: another one may lead, and nothing is polled. */
  pause(): void {
    this.#awake?.abort()
    this.#awake = undefined
    this.#leads = false
    this.#others.clear()
    this.#disconnect()
    this.#setLive(false)
    this.#announce()
  }

  async #compete(signal: AbortSignal): Promise<void> {
    const { locks } = this.#parts
    if (locks === undefined) return this.#lead(signal)
    await locks.request(lockName, { signal }, () => this.#lead(signal)).catch(() => {})
  }

  /** Leads until the tab rests. */
  async #lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    this.#leads = true
    this.#post({ kind: 'who' })
    this.#reconnect()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  #disconnect(): void {
    this.#connection?.abort()
    this.#connection = undefined
    this.#connected = ''
  }

  /** Connects for the topics of all tabs, where they are others than those of the connection. */
  #reconnect(): void {
    if (!this.#leads) return
    const topics = this.#wanted()
    if (topics.join() === this.#connected) return
    this.#disconnect()
    if (topics.length === 0) return
    const connection = new AbortController()
    this.#connection = connection
    this.#connected = topics.join()
    const handlers: LiveHandlers = {
      onBeat: () => this.#beat(),
      onEvent: (id, event) => this.#receive(id, event),
      onLost: () => this.#lose(),
    }
    const { connect } = this.#parts
    connect(topics, this.#lastEventId, handlers, connection.signal)
      .catch(() => {})
      .finally(() => {
        if (this.#connection !== connection) return
        // At the next tick it is tried again.
        this.#disconnect()
        this.#lose()
      })
  }

  #wanted(): readonly string[] {
    const others = [...this.#others.values()].flatMap(({ topics }) => topics)
    return [...new Set([...this.#listeners.keys(), ...others])].sort()
  }

  #beat(): void {
    this.#noteSign()
    this.#post({ kind: 'beat' })
  }

  /** Topics are polled until there is another sign of life. */
  #lose(): void {
    this.#noteLoss()
    this.#post({ kind: 'lost' })
  }

  #noteLoss(): void {
    this.#lastSignAt = Number.NEGATIVE_INFINITY
    this.#setLive(false)
  }

  #receive(id: string, event: LiveEvent): void {
    this.#lastEventId = id
    this.#noteSign()
    this.#post({ kind: 'event', event })
    this.#deliver(event)
  }

  #deliver(event: LiveEvent): void {
    for (const listener of this.#listeners.get(event.topic) ?? []) listener(event)
  }

  #noteSign(): void {
    if (this.#awake === undefined) return
    this.#lastSignAt = performance.now()
    this.#setLive(true)
  }

  #setLive(live: boolean): void {
    if (this.#live === live) return
    this.#live = live
    for (const watcher of this.#watchers) watcher()
  }

  /** Polls where there is no sign of life, and tells the leader that this tab is there. */
  #tick(): void {
    const { silenceMs, forgetMs } = this.#parts
    const now = performance.now()
    for (const [tab, { at }] of this.#others) if (now - at > forgetMs) this.#others.delete(tab)
    this.#announce()
    this.#reconnect()
    if (now - this.#lastSignAt <= silenceMs) return
    this.#setLive(false)
    for (const topic of this.#listeners.keys()) this.#deliver({ topic, event: 'poll', data: {} })
  }

  #topicsChanged(): void {
    this.#announce()
    this.#reconnect()
  }

  #announce(): void {
    const topics = this.#awake === undefined ? [] : [...this.#listeners.keys()]
    this.#post({ kind: 'topics', tab: this.#tab, topics })
  }

  #post(message: Message): void {
    this.#parts.tabs?.postMessage(message)
  }

  #onMessage(message: Message): void {
    if (message.kind === 'beat') this.#noteSign()
    else if (message.kind === 'lost') this.#noteLoss()
    else if (message.kind === 'who') this.#announce()
    else if (message.kind === 'event') {
      this.#noteSign()
      if (this.#awake !== undefined) this.#deliver(message.event)
    } else if (this.#leads) {
      if (message.topics.length === 0) this.#others.delete(message.tab)
      else this.#others.set(message.tab, { topics: message.topics, at: performance.now() })
      this.#reconnect()
    }
  }
}
