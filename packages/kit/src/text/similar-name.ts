/** Longer names are not compared: the work grows with the product of both lengths. */
const maxLength = 64

/**
 * The known name that somebody may have meant by one that is unknown: the same letters and digits (`userId` for
 * `user_id`), or one difference for each four characters (`tier` for `tiers`). Undefined where none is that close.
 */
export function findSimilarName(name: string, known: readonly string[]): string | undefined {
  if (name.length > maxLength) return undefined
  const letters = lettersOf(name)
  const same = known.find((candidate) => lettersOf(candidate) === letters)
  if (same !== undefined) return same
  const [closest] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((one, other) => one.distance - other.distance)
  return closest !== undefined && closest.distance <= Math.floor(name.length / 4) ? closest.candidate : undefined
}

const lettersOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** How many characters are inserted, removed or replaced to make one text of another (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1]
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === other ? 0 : 1)
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
