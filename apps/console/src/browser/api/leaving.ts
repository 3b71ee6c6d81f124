/*
 * What a page does before the browser leaves it to sign in: forms keep what was typed into them, whichever of the page's
 * actions requires the sign-in.
 */

const keepers = new Set<() => void>()
let leaving = false
let signingOut = false

/** Has `keep` called before the browser leaves to sign in. Answers how to take it back. */
export function beforeLeaving(keep: () => void): () => void {
  keepers.add(keep)
  return () => keepers.delete(keep)
}

/** Called before the browser leaves to sign in. What cannot be kept, since the storage is full, keeps nobody here. */
export function leave(): void {
  leaving = true
  // A page that the browser brings back from its cache is as it was before it was left.
  window.addEventListener('pageshow', () => (leaving = false), { once: true })
  for (const keep of keepers) tryToKeep(keep)
}

/**
 * Has `keep` called before the browser unloads the page: for a reload, or for another address in its tab. Answers how to
 * take it back.
 */
export function beforeUnload(keep: () => void): () => void {
  const unload = () => {
    if (!signingOut) tryToKeep(keep)
  }
  window.addEventListener('pagehide', unload)
  return () => window.removeEventListener('pagehide', unload)
}

/** Called before the browser leaves for a sign-out, after which nothing that was typed is there. */
export function leaveForGood(): void {
  signingOut = true
  window.addEventListener('pageshow', () => (signingOut = false), { once: true })
}

/** Called before the browser leaves because another tab signed out: nothing asks whether it may, and nothing is kept. */
export function leaveAtOnce(): void {
  leaving = true
  window.addEventListener('pageshow', () => (leaving = false), { once: true })
  leaveForGood()
}

function tryToKeep(keep: () => void): void {
  try {
    keep()
  } catch (error) {
    console.warn('A form could not be kept.', error)
  }
}

/** Whether the browser is leaving to sign in, or since another tab signed out: then nothing asks whether it may. */
export function isLeaving(): boolean {
  return leaving
}
