import { cell, type Ledger } from './ledger.ts'

/** Keys told before the event loop gets its turn. */
const chunk = 256
/** With more keys to tell than this, those that moved little wait for one round in ten. */
const manyDirty = 4_096
const quietRounds = 10
/** No round lasts longer, even when the store never answers. */
const longestRoundMs = 1_000

/**
 * Tells the store what the dirty slots of a ledger have spent, a chunk at a time, each when the one before has been heard:
 * a store that cannot keep up is told less often instead of faster and faster. `round` 0 leaves nothing out.
 */
export async function tellDirty(ledger: Ledger, round: number, tell: (slot: number) => Promise<void>): Promise<void> {
  const slots = ledger.dirty
  ledger.dirty = []
  const quietWait = round > 0 && slots.length > manyDirty
  let timer: NodeJS.Timeout | undefined
  let late = false
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late = true
      resolve()
    }, longestRoundMs).unref()
  })
  let telling: Promise<void>[] = []
  for (const slot of slots) {
    if (late || (quietWait && slot % quietRounds !== round % quietRounds && isQuiet(ledger, slot))) {
      ledger.dirty.push(slot)
      continue
    }
    if (telling.push(tell(slot)) < chunk) continue
    await Promise.race([Promise.all(telling), tooLong])
    telling = []
  }
  await Promise.race([Promise.all(telling), tooLong])
  clearTimeout(timer)
}

/** A slot that has spent but a small part of its share. */
function isQuiet(ledger: Ledger, slot: number): boolean {
  for (let i = 0; i < ledger.windows; i++) {
    const at = ledger.at(slot, i)
    const pending = ledger.cells[at + cell.pending] ?? 0
    if (pending * 4 > (ledger.cells[at + cell.allowance] ?? 0)) return false
  }
  return true
}
