import type { Item } from './api.ts'

/** An item counts as seen once it has been on screen for so long. */
const seenAfterMs = 1_000
const maxPauseMs = 30_000

/** Tells of items that stay on screen for a while and were not seen before; ever more rarely where that fails. */
export class Seen {
  readonly #report: (ids: readonly string[]) => Promise<boolean>
  readonly #inSight = new Set<string>()
  #watching: IntersectionObserver | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #pauseMs = seenAfterMs
  #notBefore = 0

  constructor(report: (ids: readonly string[]) => Promise<boolean>) {
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
    this.#wait()
  }

  #wait(): void {
    if (this.#inSight.size > 0)
      this.#timer ??= setTimeout(
        async () => {
          this.#timer = undefined
          if (this.#inSight.size === 0) return
          const done = await this.#report([...this.#inSight])
          this.#pauseMs = done ? seenAfterMs : Math.min(maxPauseMs, this.#pauseMs * 2)
          if (!done) this.#notBefore = Date.now() + this.#pauseMs
          this.#wait()
        },
        Math.max(seenAfterMs, this.#notBefore - Date.now()),
      )
  }
}
