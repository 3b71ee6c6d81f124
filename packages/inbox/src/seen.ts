import type { Item } from './api.ts'

/** An item counts as seen once it has been on screen for so long. */
const seenAfterMs = 1_000

/** Tells of items that stay on screen for a while and were not seen before. */
export class Seen {
  readonly #report: (ids: readonly string[]) => void
  readonly #inSight = new Set<string>()
  #watching: IntersectionObserver | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(report: (ids: readonly string[]) => void) {
    this.#report = report
  }

  /** Watches the items that `root` shows. */
  watch(root: Element | null, items: readonly Item[]): void {
    this.stop()
    const unseen = new Set(items.flatMap(({ id, seen_at: at }) => (at === undefined ? [id] : [])))
    if (unseen.size === 0 || !root) return
    this.#watching = new IntersectionObserver((entries) => this.#observe(entries), { root, threshold: 0.5 })
    for (const item of root.querySelectorAll<HTMLElement>('li.item'))
      if (unseen.has(item.dataset.id ?? '')) this.#watching.observe(item)
  }

  stop(): void {
    this.#watching?.disconnect()
    this.#inSight.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #observe(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const id = (target as HTMLElement).dataset.id ?? ''
      if (isIntersecting) this.#inSight.add(id)
      else this.#inSight.delete(id)
    }
    if (this.#inSight.size > 0)
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        if (this.#inSight.size > 0) this.#report([...this.#inSight])
      }, seenAfterMs)
  }
}
