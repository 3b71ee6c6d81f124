import type { ServerResponse } from 'node:http'
import type { InboxNews } from '../store/store.ts'
import { countsRecord, itemRecord, type ShownItem } from './record.ts'

/** A stream further behind than this many changes is told to read the feed afresh. */
const maxBehind = 1_000

/** What has changed, as a reader is shown it. */
interface ShownNews extends Omit<InboxNews, 'items'> {
  readonly items: ReadonlyArray<InboxNews['items'][number] & ShownItem>
}

/** What one stream needs. */
export interface StreamOptions {
  /** The number up to which its reader knows everything; undefined for one that has just read nothing. */
  readonly after: number | undefined
  readonly response: ServerResponse
  /** Its reader may not read personal data. */
  readonly masked: boolean
  readonly onClose: () => void
  /** The reader has taken what it was sent. */
  readonly onReady: () => void
}

/**
 * One reader of an inbox, as server-sent events (WHATWG HTML §9.2). It holds the number of the last change it sent and
 * nothing else: a reader that is slow is sent nothing more until it has taken what is on its way.
 */
export class InboxStream {
  #cursor: number | undefined
  #hasSent = false
  #waiting = false
  #missedBeat = false
  readonly masked: boolean
  readonly #response: ServerResponse
  readonly #onReady: () => void

  constructor({ after, response, masked, onClose, onReady }: StreamOptions) {
    this.#cursor = after
    this.masked = masked
    this.#response = response
    this.#onReady = onReady
    response.once('close', onClose)
  }

  /** Where to read on; undefined where it begins with what is now. */
  get cursor(): number | undefined {
    return this.#cursor
  }

  /** Whether it takes no more for now. */
  get waiting(): boolean {
    return this.#waiting
  }

  /** Sends what is new to its reader, read with room for `limit` items. True when there may be more to read. */
  send({ counts, items }: ShownNews, limit: number): boolean {
    const after = this.#cursor ?? counts.sequence
    if (after > counts.sequence || counts.sequence - after > maxBehind) {
      this.#event('reset', counts.sequence, { counts: countsRecord(counts) })
      return false
    }
    const fresh = items.filter(({ changed }) => changed > after)
    const full = items.length >= limit
    const upTo = full ? Math.max(after, items.at(-1)?.changed ?? after) : counts.sequence
    if (upTo > after || !this.#hasSent)
      this.#event('change', upTo, { items: fresh.map(itemRecord), counts: countsRecord(counts) })
    return full
  }

  /** Sends a comment, which keeps the way open. A reader that took nothing since the last one is cut off. */
  beat(): void {
    if (this.#waiting && this.#missedBeat) this.#response.destroy()
    else if (this.#waiting) this.#missedBeat = true
    else this.#write(':\n\n')
  }

  /** Ends it; its reader comes again. */
  end(): void {
    if (this.#waiting) this.#response.destroy()
    else this.#response.end()
  }

  #event(name: string, id: number, data: object): void {
    this.#cursor = id
    this.#hasSent = true
    this.#write(`event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #write(text: string): void {
    if (this.#response.write(text) || this.#response.destroyed) return
    this.#waiting = true
    this.#missedBeat = false
    this.#response.once('drain', () => {
      this.#waiting = false
      this.#onReady()
    })
  }
}
