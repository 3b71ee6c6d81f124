import type { ServerResponse } from 'node:http'
import { type Log, Problem } from '@gatehouse/kit'
import type { InboxStreamRules } from '../config/options.ts'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Inbox } from '../store/store.ts'
import type { ShowAllItems, ShowItems } from './record.ts'
import { InboxStream } from './stream.ts'

const itemsAtOnce = 50
const inboxesAtOnce = 200

/** What the streams of a process need. */
export interface InboxStreamsOptions {
  readonly inbox: Inbox
  /** How items are shown to readers who may not read personal data. */
  readonly masked: ShowItems
  /** How they are shown to the others. */
  readonly shown: ShowAllItems
  readonly rules: InboxStreamRules
  readonly log: Log
  readonly metrics: Pick<NotifyMetrics, 'inboxStreams'>
}

interface Opening {
  readonly userId: string
  readonly after: number | undefined
  readonly response: ServerResponse
  /** How long the reader's token still lives, in milliseconds. */
  readonly lifeMs: number
  /** The reader may not read personal data. */
  readonly masked: boolean
}

/**
 * The open streams of this process. A notice of the store names an inbox that changed; what changed is then read by its
 * number, for all such inboxes in one query, and sent to whoever reads them. A notice that is lost costs time, never a
 * change: all that are read are looked at now and then.
 */
export class InboxStreams {
  readonly #options: InboxStreamsOptions
  readonly #byUser = new Map<string, Set<InboxStream>>()
  readonly #changed = new Set<string>()
  #count = 0
  #closed = false
  #reading: Promise<void> | undefined
  #stopListening: (() => Promise<void>) | undefined
  #heart: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined

  constructor(options: InboxStreamsOptions) {
    this.#options = options
  }

  /** @throws Problem 429 or 503 when there are too many, or the process is about to stop */
  admit(userId: string): void {
    const retry = { headers: { 'retry-after': '30' } }
    const { max, maxPerUser } = this.#options.rules
    if (this.#closed || this.#count >= max)
      throw new Problem(503, 'There are too many open streams here; ask again later.', retry)
    if ((this.#byUser.get(userId)?.size ?? 0) >= maxPerUser)
      throw new Problem(429, `A user may have ${maxPerUser} open streams.`, retry)
  }

  /** Sends what changes from now on, and what has changed since `after`, until one of the two sides ends it. Answers how to. */
  open({ userId, after, response, lifeMs, masked }: Opening): () => void {
    this.#begin()
    const mine = this.#byUser.get(userId) ?? new Set()
    this.#byUser.set(userId, mine)
    const onReady = () => this.#markChanged(userId)
    const onClose = () => {
      clearTimeout(ending)
      this.#options.metrics.inboxStreams.set(--this.#count)
      mine.delete(stream)
      if (mine.size === 0) this.#byUser.delete(userId)
    }
    const stream = new InboxStream({ after, response, masked, onReady, onClose })
    const ending = setTimeout(() => stream.end(), Math.max(0, Math.min(lifeMs, this.#options.rules.maxLifeMs)))
    this.#options.metrics.inboxStreams.set(++this.#count)
    mine.add(stream)
    this.#markChanged(userId)
    return () => stream.end()
  }

  /** Ends every stream and opens no more. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#heart)
    clearInterval(this.#poll)
    for (const stream of this.#all()) stream.end()
    await this.#stopListening?.()
    await this.#reading
  }

  /** Listens, and beats, from the first stream on. */
  #begin(): void {
    const all = () => {
      for (const userId of this.#byUser.keys()) this.#markChanged(userId)
    }
    this.#stopListening ??= this.#options.inbox.listen((userId) => this.#markChanged(userId), all)
    this.#poll ??= setInterval(all, this.#options.rules.pollMs).unref()
    this.#heart ??= setInterval(() => {
      for (const stream of this.#all()) stream.beat()
    }, this.#options.rules.heartbeatMs).unref()
  }

  *#all(): Generator<InboxStream> {
    for (const mine of this.#byUser.values()) yield* mine
  }

  #markChanged(userId: string): void {
    if (!this.#byUser.has(userId)) return
    this.#changed.add(userId)
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
  }

  async #readAll(): Promise<void> {
    // What is noticed in one turn of the loop is read together.
    await new Promise(setImmediate)
    while (this.#changed.size > 0 && !this.#closed) {
      const users = [...this.#changed].slice(0, inboxesAtOnce)
      for (const userId of users) this.#changed.delete(userId)
      try {
        await this.#read(users)
      } catch (error) {
        this.#options.log.warn({ err: error }, 'changed inboxes could not be read; their streams are ended')
        this.#endUnread(users)
      }
    }
  }

  /** Their readers come again, and read on from where they were. */
  #endUnread(users: readonly string[]): void {
    for (const userId of users) for (const stream of this.#byUser.get(userId) ?? []) stream.end()
  }

  async #read(users: readonly string[]): Promise<void> {
    const ready = (userId: string) => [...(this.#byUser.get(userId) ?? [])].filter(({ waiting }) => !waiting)
    const requests = users.flatMap((userId) => {
      const streams = ready(userId)
      const after = streams
        .flatMap(({ cursor }) => cursor ?? [])
        .reduce((a, b) => Math.min(a, b), Number.MAX_SAFE_INTEGER)
      return streams.length === 0 ? [] : [{ userId, after }]
    })
    if (requests.length === 0) return
    const news = await this.#options.inbox.news(requests, itemsAtOnce)
    for (const { userId, after } of requests) {
      const found = news.get(userId)
      if (!found) {
        this.#endUnread([userId])
        continue
      }
      const mine = { ...found, items: this.#options.shown(found.items) }
      const maskedMine = ready(userId).some(({ masked }) => masked)
        ? { ...found, items: await this.#options.masked(found.items) }
        : undefined
      // Whoever came while this was read may be further back than it reaches.
      const [reached, late] = partition(
        ready(userId),
        ({ cursor, masked }) => (cursor === undefined || cursor >= after) && !(masked && !maskedMine),
      )
      const more = reached
        .map((stream) => stream.send(stream.masked && maskedMine ? maskedMine : mine, itemsAtOnce))
        .includes(true)
      if (more || late.length > 0) this.#changed.add(userId)
    }
  }
}

function partition<T>(list: readonly T[], wanted: (each: T) => boolean): [T[], T[]] {
  return [list.filter(wanted), list.filter((each) => !wanted(each))]
}
