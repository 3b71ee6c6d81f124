import type { Column } from './column.ts'

/** The generation of the shared store in which each slot was last compared with it. */
export class GenerationColumn implements Column {
  #cells = new Uint32Array(0)

  /** Records the generation; true when it differs from the one before. */
  renew(slot: number, generation: number): boolean {
    const newer = this.#cells[slot] !== generation
    this.#cells[slot] = generation
    return newer
  }

  grow(capacity: number): void {
    const cells = new Uint32Array(capacity)
    cells.set(this.#cells)
    this.#cells = cells
  }

  clear(slot: number): void {
    this.#cells[slot] = 0
  }

  isIdle(): boolean {
    return true
  }

  isBlocking(): boolean {
    return false
  }
}
