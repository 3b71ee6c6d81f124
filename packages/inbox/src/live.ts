import { type Api, ApiError, type Counts, type Item } from './api.ts'

export interface News {
  readonly items?: readonly Item[]
  readonly counts: Counts
}

export interface LiveHandlers {
  /** Reads the feed afresh; answers the number it is complete up to. */
  reload(): Promise<number>
  changed(news: News): void
  /** Whether the stream is open now. */
  connected(open: boolean): void
}

/** Signs of life come every 20 seconds. */
const silenceMs = 50_000
const longestPauseMs = 30_000

/**
 * Follows the stream until it is stopped: a stream that ends, breaks or falls silent is opened again after the last
 * event that was seen, so that nothing is missed. Answers how to stop, and how to try again at once.
 */
export function follow(api: Api, handlers: LiveHandlers): { stop(): void; now(): void } {
  const stopping = new AbortController()
  let endPause = () => {}
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const run = async () => {
    let last: number | undefined
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        last ??= await handlers.reload()
        for await (const { event, id, data } of events(api, last, stopping.signal)) {
          failures = 0
          handlers.connected(true)
          if (event === 'reset') {
            last = undefined
            break
          }
          last = id
          handlers.changed(data)
        }
      } catch (error) {
        failures++
        // Nobody is let in by asking faster.
        if (error instanceof ApiError && (error.status === 401 || error.status === 403))
          failures = Math.max(failures, 5)
      }
      handlers.connected(false)
      if (last !== undefined && !stopping.signal.aborted)
        await pause(Math.min(longestPauseMs, 250 * 2 ** failures) * (0.5 + Math.random() / 2))
    }
  }
  void run()
  return {
    now: () => endPause(),
    stop() {
      stopping.abort()
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
