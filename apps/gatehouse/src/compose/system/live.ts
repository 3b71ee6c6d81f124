import type { ServerResponse } from 'node:http'
import { type Clock, Problem } from '@gatehouse/kit'

/** What may be followed, with the metrics of each. */
export const liveTopics = {
  notifications: ['notify_outcomes_total', 'notify_attempts_total', 'notify_reports_total'],
  'sign-ins': ['identity_logins_total', 'identity_tokens_issued_total', 'identity_token_errors_total'],
  requests: ['rate_limit_allowed_total', 'rate_limit_rejected_total'],
} as const

/** What may be followed. */
export type LiveTopic = keyof typeof liveTopics

/** A counter with its labels. */
interface LiveCounter {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const everyMs = 2_000
const maxStreams = 100
const maxPerReader = 5
/** A reader that leaves so much untaken is cut off. */
const maxWaitingBytes = 256 * 1024

interface Stream {
  readonly response: ServerResponse
  readonly topics: readonly LiveTopic[]
  readonly reader: string
  readonly end: () => void
}

/** The open streams of counters. The metrics are read once for all of them, and only while there is one. */
export class LiveStreams {
  readonly #readMetrics: () => Promise<string>
  readonly #clock: Clock
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined
  #reading = false

  constructor(readMetrics: () => Promise<string>, clock: Clock) {
    this.#readMetrics = readMetrics
    this.#clock = clock
  }

  /** @throws Problem 429 or 503 where there is no place for one more stream of this reader */
  admit(reader: string): void {
    const retry = { headers: { 'retry-after': '5' } }
    if (this.#streams.size >= maxStreams) throw new Problem(503, 'There are too many open streams here.', retry)
    const mine = [...this.#streams].filter((stream) => stream.reader === reader).length
    if (mine >= maxPerReader) throw new Problem(429, `A caller may follow ${maxPerReader} streams at once.`, retry)
  }

  /** Sends counters to a response until the returned function is called or the connection ends. */
  add(response: ServerResponse, topics: readonly LiveTopic[], reader: string): () => void {
    const end = () => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
      response.end()
    }
    const stream: Stream = { response, topics, reader, end }
    this.#streams.add(stream)
    response.once('close', end)
    this.#timer ??= setInterval(() => void this.#send(), everyMs).unref()
    void this.#send()
    return end
  }

  /** Ends all of them. */
  close(): void {
    for (const { end } of [...this.#streams]) end()
  }

  async #send(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    try {
      const counters = parseCounters(await this.#readMetrics())
      const at = new Date(this.#clock.now()).toISOString()
      for (const { response, topics, end } of [...this.#streams]) {
        const names: ReadonlySet<string> = new Set(topics.flatMap((topic) => liveTopics[topic]))
        const data = JSON.stringify({ at, counters: counters.filter(({ name }) => names.has(name)) })
        if (response.writableLength > maxWaitingBytes) {
          end()
          // It would take what waits first, which it does not.
          response.destroy()
        } else response.write(`event: counters\ndata: ${data}\n\n`)
      }
    } catch {
      // The supervisor did not answer; the next time it may.
      for (const { response } of this.#streams) response.write(': no answer\n\n')
    } finally {
      this.#reading = false
    }
  }
}

const followed: ReadonlySet<string> = new Set(Object.values(liveTopics).flat())
const line = /^([a-z_]+)\{(.*)\} ([0-9.e+]+)$/
const label = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g

/** The counters that may be followed, from the text format of Prometheus. */
export function parseCounters(text: string): LiveCounter[] {
  return text.split('\n').flatMap((row) => {
    const [, name = '', labels = '', value = ''] = line.exec(row) ?? []
    if (!followed.has(name)) return []
    const pairs = [...labels.matchAll(label)].map(([, key = '', text = '']) => [key, text.replace(/\\(.)/g, '$1')])
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }]
  })
}
