/*
 * Whether somebody is at the page. What it reads by itself while nobody is there does not keep the session alive.
 */

/** Whoever pressed no key and moved no pointer for so long is not at the page, in milliseconds. */
const awayMs = 60_000
/** Screen readers click without a key and without a pointer. */
const signs = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'click'] as const

/** When there was the last sign of a person; to open the page, and to come back to it, is one. In Unix milliseconds. */
let seenAt = Date.now()

function see({ isTrusted }: Event): void {
  if (isTrusted && document.visibilityState === 'visible') seenAt = Date.now()
}

for (const sign of signs) window.addEventListener(sign, see, { capture: true, passive: true })
window.addEventListener('visibilitychange', see, { capture: true })

/** Whether somebody is at the page, or was a moment ago. */
export function isAttended(): boolean {
  return Date.now() - seenAt < awayMs
}
