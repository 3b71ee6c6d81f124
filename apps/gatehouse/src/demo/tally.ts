/** Counts things by name, and compares what was counted with what was expected. */
export class Tally {
  readonly #counts = new Map<string, number>()

  add(name: string, count: number = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count)
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  names(): string[] {
    return [...this.#counts.keys()].sort()
  }
}
