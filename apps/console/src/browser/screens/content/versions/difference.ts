/** A line of two texts: in both, or in one of them. */
export interface DifferenceLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Beyond this many comparisons the middle is shown as replaced, since nobody reads such a difference line by line. */
const maxComparisons = 4_000_000

/** The lines that lead from one text to another, by their longest common subsequence. */
export function compareLines(from: string, to: string): DifferenceLine[] {
  const [before, after] = [from.split('\n'), to.split('\n')]
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++
  const same = (lines: readonly string[]) => lines.map((text) => ({ kind: 'same', text }) as const)
  const middle = compareMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end))
  return [...same(before.slice(0, start)), ...middle, ...same(before.slice(before.length - end))]
}

function compareMiddle(before: readonly string[], after: readonly string[]): DifferenceLine[] {
  const removed = (text = ''): DifferenceLine => ({ kind: 'removed', text })
  const added = (text = ''): DifferenceLine => ({ kind: 'added', text })
  if (before.length * after.length > maxComparisons) return [...before.map(removed), ...after.map(added)]
  const lengths = commonLengths(before, after)
  const lines: DifferenceLine[] = []
  let [row, column] = [0, 0]
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      lines.push({ kind: 'same', text: before[row] ?? '' })
      row++
      column++
    } else if ((lengths[row + 1]?.[column] ?? 0) >= (lengths[row]?.[column + 1] ?? 0))
      lines.push(removed(before[row++]))
    else lines.push(added(after[column++]))
  }
  return [...lines, ...before.slice(row).map(removed), ...after.slice(column).map(added)]
}

/** How long the common subsequence of the rests behind each pair of lines is. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array[] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1))
  for (let row = before.length - 1; row >= 0; row--)
    for (let column = after.length - 1; column >= 0; column--) {
      const [here, below] = [lengths[row], lengths[row + 1]]
      if (here === undefined || below === undefined) continue
      const isEqual = before[row] === after[column]
      here[column] = isEqual ? (below[column + 1] ?? 0) + 1 : Math.max(below[column] ?? 0, here[column + 1] ?? 0)
    }
  return lengths
}
