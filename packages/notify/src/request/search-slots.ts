import { Problem } from '@gatehouse/kit'

const maxRunning = 4
const maxWaiting = 40

/**
 * Lets a few searches of a process run at once, the others wait for their turn: whatever is searched, most connections to
 * the database stay free for what is accepted and delivered.
 */
export class SearchSlots {
  #running = 0
  readonly #waiting: Array<() => void> = []

  /** Runs a search when it is its turn. @throws Problem 503 when too many wait already */
  async run<Result>(search: () => Promise<Result>): Promise<Result> {
    if (this.#running >= maxRunning) await this.#turn()
    else this.#running++
    try {
      return await search()
    } finally {
      const next = this.#waiting.shift()
      // The slot goes to the next one: nobody who comes meanwhile gets it.
      if (next) next()
      else this.#running--
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= maxWaiting)
      throw new Problem(503, 'Too much is searched at once; try again in a few seconds.', {
        headers: { 'retry-after': '5' },
      })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
