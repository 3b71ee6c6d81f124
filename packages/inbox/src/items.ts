import type { Api, Choices, Counts, Feed, Item } from './api.ts'

/** What a user is shown: part of the feed, newest first, kept as it is told, and their choices. */
export class Items {
  readonly #shown = new Map<string, Item>()
  #complete = true
  onlyUnread = false
  counts: Counts = { sequence: 0, total: 0, unseen: 0, unread: 0 }
  next: string | undefined
  choices: Choices | undefined

  get list(): readonly Item[] {
    return [...this.#shown.values()].sort(
      (a, b) => Number(a.created_at < b.created_at) - Number(a.created_at > b.created_at),
    )
  }

  get query(): string {
    return `limit=20${this.onlyUnread ? '&unread=true' : ''}`
  }

  /** Begins again with a first page, no older than what was told; unless the filter is another by then. */
  async begin(api: Pick<Api, 'feed'>): Promise<void> {
    const { query } = this
    let feed = await api.feed(query)
    for (let more = 2; more > 0 && feed.counts.sequence < this.counts.sequence; more--) feed = await api.feed(query)
    if (query !== this.query) return
    this.#shown.clear()
    this.counts = feed.counts
    this.extend(feed)
  }

  /** Reads on, unless the list is another by then. */
  async readOn(api: Pick<Api, 'feed'>, cursor: string): Promise<void> {
    const { query } = this
    const feed = await api.feed(`${query}&cursor=${cursor}`)
    if (query === this.query && cursor === this.next) this.extend(feed)
  }

  /** What has been told since the page was asked for is newer than the page. */
  extend({ items, next }: Feed): void {
    for (const item of items) if (!this.#shown.has(item.id)) this.#shown.set(item.id, item)
    this.next = next
    this.#complete = next === undefined
  }

  /** Takes items as they are now; answers those that are new. */
  take(items: readonly Item[], counts: Counts): readonly Item[] {
    const oldest = this.list.at(-1)?.created_at ?? ''
    const fresh: Item[] = []
    for (const item of items) {
      const known = this.#shown.has(item.id)
      // One that was read stays in sight until the list is read afresh; it would slip away under the hand.
      if (item.archived_at !== undefined) this.#shown.delete(item.id)
      else if (known || this.#complete || item.created_at >= oldest) this.#shown.set(item.id, item)
      if (!known && item.seen_at === undefined && item.archived_at === undefined) fresh.push(item)
    }
    this.publish(counts)
    return fresh
  }

  /** Shows what was just done at once; the stream tells it too, in its time. */
  did(what: string, ids: readonly string[], counts: Counts): void {
    const now = new Date().toISOString()
    for (const item of ids.flatMap((id) => this.#shown.get(id) ?? [])) {
      const { read_at: _, ...unread } = item
      if (what === 'archived') this.#shown.delete(item.id)
      else if (what === 'unread') this.#shown.set(item.id, unread)
      else this.#shown.set(item.id, { seen_at: now, ...item, ...(what === 'read' && { read_at: now }) })
    }
    this.publish(counts)
  }

  /** Takes counts, unless they are older than those that are known. */
  publish(counts: Counts): void {
    if (counts.sequence >= this.counts.sequence) this.counts = counts
  }
}
