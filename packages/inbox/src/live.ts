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
  const { signal } = api.stopping
  let last: number | undefined
  let loading: Promise<void> | undefined
  let endPause = () => {}
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  /** Reads the feed, once however many ask for it meanwhile. */
  const load = () => {
    loading ??= handlers
      .reload()
      .then((sequence) => {
        last = sequence
      })
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  /** Another window was told. What comes while the feed is read may be newer, and waits for it. */
  const receive = async (message: WindowMessage): Promise<void> => {
    handlers.connected(message.open)
    if (!message.news || message.id === undefined) return
    await loading?.catch(() => {})
    if (signal.aborted) return
    if (message.event === 'reset' || last === undefined) await load().catch(() => {})
    else if (message.id > last) {
      last = message.id
      handlers.changed(message.news)
    }
  }
  let failures = 0
  const lead = async (broadcast: (message: WindowMessage) => void) => {
    for (let refused = false; !signal.aborted && !refused; ) {
      try {
        if (last === undefined) await load()
        for await (const { event, id, data } of events(api, last ?? 0, signal)) {
          if (signal.aborted) return
          failures = 0
          handlers.connected(true)
          broadcast({ open: true, event, id, news: data })
          last = event === 'reset' ? undefined : id
          if (last === undefined) break
          handlers.changed(data)
        }
      } catch (error) {
        failures++
        // Nobody is let in by asking faster, but perhaps another window is.
        refused = error instanceof ApiError && (error.status === 401 || error.status === 403)
        if (refused) failures = Math.max(failures, 5)
      }
      if (signal.aborted) return
      handlers.connected(false)
      broadcast({ open: false })
      if (last !== undefined || failures > 0)
        await pause(Math.min(maxPauseMs, 250 * 2 ** failures) * (0.5 + Math.random() / 2))
    }
  }
  void share(api.inbox, signal, { receive: (message) => void receive(message), lead })
  load().catch(() => {})
  return {
    now: () => endPause(),
    stop() {
      api.stopping.abort()
      endPause()
    },
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
