import { get } from 'node:http'
import { readEvents } from './server-sent-events.ts'

export interface StreamEvent {
  readonly event: string
  readonly id: number
  // biome-ignore lint/suspicious/noExplicitAny: data is whatever JSON came; assertions say what it must be
  readonly data: any
}

export interface Reader {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly events: readonly StreamEvent[]
  /** How many comments came: signs of life. */
  beats(): number
  /** Resolves once `wanted` is true of what has come, rejects when the stream ends before. */
  until(wanted: (events: readonly StreamEvent[]) => boolean): Promise<void>
  readonly ended: Promise<void>
  cut(): void
}

/** Reads a stream as a client would, beginning after `lastEventId`. */
export function readStream(url: string, token: string, lastEventId?: number | string): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    }
    const request = get(url, { headers, agent: false }, (response) => {
      const events: StreamEvent[] = []
      let beats = 0
      const waiting = new Set<() => void>()
      const ended = new Promise<void>((end) => response.once('close', end))
      readEvents(response, (event) => {
        if (event === undefined) beats++
        else events.push(event)
        for (const look of waiting) look()
      })
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        events,
        beats: () => beats,
        ended,
        until: (wanted) =>
          new Promise((done, fail) => {
            const look = () => {
              if (!wanted(events)) return
              waiting.delete(look)
              done()
            }
            waiting.add(look)
            void ended.then(() => fail(new Error(`the stream ended with ${JSON.stringify(events)}`)))
            look()
          }),
        cut: () => request.destroy(),
      })
    })
    request.once('error', reject)
  })
}
