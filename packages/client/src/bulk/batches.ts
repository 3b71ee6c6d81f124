/** Bounds of a batch. */
export interface BatchBounds {
  readonly maxItems: number
  /** In UTF-16 code units of the lines. */
  readonly maxLength: number
}

/** Items with their lines of JSON. */
export interface Batch<Item> {
  readonly items: Item[]
  readonly lines: string[]
}

/** Groups items in their order, each batch within the bounds; an item that is longer alone is a batch by itself. */
export async function* batchesOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  formatLine: (item: Item) => string,
  { maxItems, maxLength }: BatchBounds,
): AsyncGenerator<Batch<Item>, void, undefined> {
  let batch: Batch<Item> = { items: [], lines: [] }
  let length = 0
  for await (const item of items) {
    const line = formatLine(item)
    if (batch.items.length >= maxItems || (batch.items.length > 0 && length + line.length > maxLength)) {
      yield batch
      batch = { items: [], lines: [] }
      length = 0
    }
    batch.items.push(item)
    batch.lines.push(line)
    length += line.length + 1
  }
  if (batch.items.length > 0) yield batch
}
