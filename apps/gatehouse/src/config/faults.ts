import { StartError } from '@gatehouse/kit'

/** The faults of a configuration, gathered so that all of them can be named at once. */
export class Faults {
  readonly #lines: string[] = []

  /** Notes what is wrong at `place` (a setting's name, or `file:line`) and what was expected there. */
  add(place: string, expected: string): void {
    this.#lines.push(`${place}: ${expected}`)
  }

  /** Throws a {@link StartError} with one line for each fault, if there is any. */
  throwIfAny(): void {
    if (this.#lines.length > 0) throw new StartError(this.#lines.join('\n'))
  }
}
