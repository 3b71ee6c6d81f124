/** First in, first out; both ends in constant time on average. */
export class Queue<Item> {
  #items: Item[] = []
  #first = 0

  get length(): number {
    return this.#items.length - this.#first
  }

  /** All items, the first one first. */
  all(): Item[] {
    return this.#items.slice(this.#first)
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  /** Puts an item before all others. */
  unshift(item: Item): void {
    if (this.#first > 0) this.#items[--this.#first] = item
    else this.#items.unshift(item)
  }

  shift(): Item | undefined {
    if (this.#first >= this.#items.length) return undefined
    const item = this.#items[this.#first++]
    if (this.#first > 1_024 && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return item
  }

  takeAll(): Item[] {
    const all = this.#items.slice(this.#first)
    this.#items = []
    this.#first = 0
    return all
  }
}
