const slots = 16_384
const maxTags = 1_024

/** CRC16 as Redis Cluster hashes keys: polynomial 0x1021, most significant bit first, starting from 0. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** The slot of Redis Cluster that an ASCII text hashes to. */
export function slotOf(text: string): number {
  let crc = 0
  for (let i = 0; i < text.length; i++)
    crc = ((crc << 8) ^ (crcTable[((crc >> 8) ^ text.charCodeAt(i)) & 0xff] ?? 0)) & 0xffff
  return crc % slots
}

/**
 * Hash tags for Redis Cluster. A script call reaches one slot only, so identifiers with slots of their own would need a
 * call for each check. Here each group of identifiers shares a slot, and its checks travel together. The tags divide the
 * 16,384 slots evenly, so that primaries with equal ranges of slots have equally many groups.
 */
export class KeyTags {
  readonly #tags: readonly string[]

  /** @throws RangeError for a number of tags that is not an integer from 1 to 1,024 */
  constructor(count: number) {
    if (!Number.isInteger(count) || count < 1 || count > maxTags)
      throw new RangeError(`tags must be an integer from 1 to ${maxTags}, got ${count}`)
    this.#tags = tagsFor(count)
  }

  /** The tag of an encoded id, in braces: that of the group to which the id's own slot belongs. */
  of(id: string): string {
    return this.#tags[Math.floor((slotOf(id) * this.#tags.length) / slots)] ?? ''
  }
}

/** For each range of slots the smallest number whose slot lies in the middle half of that range. */
function tagsFor(count: number): readonly string[] {
  const tags = new Array<string>(count).fill('')
  const width = slots / count
  for (let number = 0, found = 0; found < count; number++) {
    const slot = slotOf(String(number))
    const range = Math.floor(slot / width)
    if (tags[range] !== '' || Math.abs(slot + 0.5 - (range + 0.5) * width) > width / 4) continue
    tags[range] = `{${number}}`
    found++
  }
  return tags
}
