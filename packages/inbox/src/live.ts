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
 * event that was seen, so that nothing is missed. When the window that holds it closes, another goes on from where it is
 * itself. Answers how to stop, and how to try again at once.
 */
export function follow(api: Api, handlers: LiveHandlers): { stop(): void; now(): void } {
  const { signal } = api.stopping
  /** Not known before the feed was read. */
  let last: number | undefined
  let loading: Promise<void> | undefined
  let catching = false
  let open = true
  const attempts = new Attempts()
  const failed = (error: unknown) => attempts.failed(error)
  /** Reads the feed, once however many ask for it meanwhile. */
  const load = () => {
    loading ??= handlers
      .reload()
      .then((sequence) => {
        last = sequence
        attempts.failures = 0
      })
      .catch(failed)
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  /** An open stream, here or in another window, is of no use as long as the feed can't be read. */
  const show = (isOpen: boolean) => {
    open = isOpen
    if (!signal.aborted) handlers.connected(open && (last !== undefined || attempts.failures === 0))
  }
  /** Runs as long as there is no feed, whoever leads. */
  const catchUp = async () => {
    if (catching) return
    catching = true
    while (last === undefined && !signal.aborted) {
      await load()
      show(open)
      if (last === undefined && !signal.aborted) await attempts.rest()
    }
    catching = false
  }
  const reset = () => {
    last = undefined
    void catchUp()
  }
  /** Another window was told. What comes while the feed is read may be newer, and waits for it. */
  const receive = async (message: WindowMessage): Promise<void> => {
    show(message.open)
    if (!message.news || message.id === undefined) return
    await loading
    if (signal.aborted) return
    if (message.event === 'reset') reset()
    else if (last !== undefined && message.id > last) {
      last = message.id
      handlers.changed(message.news)
    }
  }
  const read = async (after: number, broadcast: (message: WindowMessage) => void) => {
    for await (const { event, id, data } of events(api, after, signal)) {
      if (signal.aborted) return
      attempts.failures = 0
      show(true)
      broadcast({ open: true, event, id, news: data })
      if (event === 'reset') return reset()
      last = id
      handlers.changed(data)
    }
  }
  const lead = async (broadcast: (message: WindowMessage) => void) => {
    for (attempts.refused = false; !signal.aborted && !attempts.refused; ) {
      if (last === undefined) await load()
      if (last !== undefined) await read(last, broadcast).catch(failed)
      if (signal.aborted) return
      show(false)
      broadcast({ open: false })
      if (last !== undefined || attempts.failures > 0) await attempts.rest()
    }
  }
  void share(api.inbox, signal, { receive: (message) => void receive(message), lead })
  void catchUp()
  return {
    now: () => attempts.now(),
    stop() {
      api.stopping.abort()
      attempts.now()
    },
  }
}

/** Those that failed since one succeeded, and the wait before the next. */
class Attempts {
  failures = 0
  refused = false
  #resting: Promise<void> | undefined
  now = (): void => {}

  failed(error: unknown): void {
    // Nobody is let in by asking faster, but perhaps another window is.
    this.refused = error instanceof ApiError && (error.status === 401 || error.status === 403)
    this.failures = Math.max(this.failures + 1, this.refused ? 5 : 0)
  }

  /** Waits, once however many ask for it meanwhile. */
  rest(): Promise<void> {
    this.#resting ??= new Promise<void>((resolve) => {
      this.now = resolve
      setTimeout(resolve, Math.min(maxPauseMs, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2))
    }).finally(() => {
      this.#resting = undefined
    })
    return this.#resting
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
