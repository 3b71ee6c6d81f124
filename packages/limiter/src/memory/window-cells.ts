/** 32-bit numbers stored for one window: its index, the previous count, the current count. */
const perWindow = 3

/**
 * The windows of all families of a table, those of one slot side by side: a check of several windows reads
 * one cache line of the processor.
 */
export class WindowCells {
  cells = new Int32Array(0)
  stride = 0
  #capacity = 0

  /** Makes room for one more window in every slot, and returns its offset in a slot. */
  addWindow(): number {
    const offset = this.stride
    const from = this.cells
    const stride = offset + perWindow
    this.cells = new Int32Array(this.#capacity * stride)
    for (let slot = 0; slot < this.#capacity; slot++)
      this.cells.set(from.subarray(slot * offset, (slot + 1) * offset), slot * stride)
    this.stride = stride
    return offset
  }

  grow(capacity: number): void {
    const cells = new Int32Array(capacity * this.stride)
    cells.set(this.cells)
    this.cells = cells
    this.#capacity = capacity
  }
}
