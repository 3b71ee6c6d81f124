/**
 * What test files that share a process (scripts/test-groups.ts) have in common: the end of the last of them. A file of
 * a group is imported within a suite, so an `after` of its own modules would run at the end of that file.
 */
import { after } from 'node:test'

const ends = new Set<() => void>()
let begun = false

/** Begins a group: before the first of its files. After the last, what keeps the process from ending is reported. */
export function beginGroup(): void {
  begun = true
  after(() => {
    for (const end of ends) end()
    setTimeout(giveUp, 20_000).unref()
  })
}

/** Runs `end` after the last test of the group; false where this process is none. */
export function afterGroup(end: () => void): boolean {
  if (begun) ends.add(end)
  return begun
}

function giveUp(): void {
  console.error('20 s after the last test there is still something open:', process.getActiveResourcesInfo().join(', '))
  process.exit(1)
}
