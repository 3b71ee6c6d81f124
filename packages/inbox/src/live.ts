import { type Api, ApiError, type News } from './api.ts'
import { share, type WindowMessage } from './share.ts'

/** What {@link follow} calls when the feed changes. */
export interface LiveHandlers {
  /** Reads the feed afresh; answers the number it is complete up to. */
  reload(): Promise<number>
  changed(news: News): void
  /** Whether the stream is open now. */
  connected(open: boolean): void
}

/** Signs of life come every 20 seconds. */
const silenceMs = 50_000
const maxPauseMs = 30_000

/**
 * Follows the stream until it is stopped: a stream that ends, breaks or falls silent is opened again after the last
 * event that was seen, so that nothing is missed. Of the windows of one inbox one holds the stream and tells the others;
 * when it closes, another goes on from where it is itself. Answers how to stop, and how to try again at once.
 */
export function follow(api: Api, handlers: LiveHandlers): { stop(): void; now(): void } {
  const follower = new Follower(api, handlers)
  void share(api.inbox, follower.signal, {
    receive: (message) => void follower.receive(message),
    lead: (broadcast) => follower.lead(broadcast),
  })
  follower.load().catch(() => {})
  return { now: () => follower.resume(), stop: () => follower.stop() }
}

/** Nobody is let in by asking faster: a refused window waits as long as after so many failures. */
const failuresOfRefused = 5

/** One window of an inbox: how far it has seen, and how it goes on. */
class Follower {
  readonly #api: Api
  readonly #handlers: LiveHandlers
  readonly #stopping = new AbortController()
  /** The last event that was seen; undefined before the feed was read, and after it was reset. */
  #last: number | undefined
  #loading: Promise<void> | undefined
  #failures = 0
  #endPause = () => {}

  constructor(api: Api, handlers: LiveHandlers) {
    this.#api = api
    this.#handlers = handlers
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  stop(): void {
    this.#stopping.abort()
    this.#endPause()
  }

  resume(): void {
    this.#endPause()
  }

  /** Reads the feed, once however many ask for it meanwhile. */
  load(): Promise<void> {
    this.#loading ??= this.#handlers
      .reload()
      .then((sequence) => {
        this.#last = sequence
      })
      .finally(() => {
        this.#loading = undefined
      })
    return this.#loading
  }

  /** Another window was told. What comes while the feed is read may be newer than what is read, and waits for it. */
  async receive(message: WindowMessage): Promise<void> {
    this.#handlers.connected(message.open)
    if (!message.news || message.id === undefined) return
    await this.#loading?.catch(() => {})
    if (this.signal.aborted) return
    if (message.event === 'reset' || this.#last === undefined) await this.load().catch(() => {})
    else if (message.id > this.#last) {
      this.#last = message.id
      this.#handlers.changed(message.news)
    }
  }

  /** Holds the stream for all windows, until it is stopped or refused: perhaps another window is let in. */
  async lead(broadcast: (message: WindowMessage) => void): Promise<void> {
    for (let refused = false; !this.signal.aborted && !refused; ) {
      try {
        if (this.#last === undefined) await this.load()
        await this.#readStream(this.#last ?? 0, broadcast)
      } catch (error) {
        refused = error instanceof ApiError && (error.status === 401 || error.status === 403)
        this.#failures = Math.max(this.#failures + 1, refused ? failuresOfRefused : 0)
      }
      if (this.signal.aborted) return
      this.#handlers.connected(false)
      broadcast({ open: false })
      if (this.#last !== undefined || this.#failures > 0)
        await this.#pause(Math.min(maxPauseMs, 250 * 2 ** this.#failures) * (0.5 + Math.random() / 2))
    }
  }

  async #readStream(after: number, broadcast: (message: WindowMessage) => void): Promise<void> {
    for await (const { event, id, data } of events(this.#api, after, this.signal)) {
      this.#failures = 0
      this.#handlers.connected(true)
      broadcast({ open: true, event, id, news: data })
      this.#last = event === 'reset' ? undefined : id
      if (this.#last === undefined) return
      this.#handlers.changed(data)
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

interface StreamEvent {
  readonly event: string
  readonly id: number
  readonly data: News
}

async function* events(api: Api, after: number, signal: AbortSignal): AsyncGenerator<StreamEvent> {
  const silent = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const alive = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silent.abort(), silenceMs)
  }
  alive()
  try {
    const { body } = await api.stream(after, AbortSignal.any([signal, silent.signal]))
    if (!body) return
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      alive()
      const blocks = (rest + value).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        const data = field('data')
        if (data !== undefined) yield { event: field('event') ?? '', id: Number(field('id')), data: JSON.parse(data) }
      }
    }
  } finally {
    clearTimeout(timer)
    silent.abort()
  }
}
