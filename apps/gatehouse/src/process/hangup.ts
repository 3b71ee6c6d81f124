let reload: (() => void) | undefined
let isPending = false

/** Keeps SIGHUP from ending the process, as it does by default: one that comes during the start is followed after it. */
export function keepHangups(): void {
  process.on('SIGHUP', () => {
    isPending = true
    follow()
  })
}

/** Runs `handler` on each SIGHUP from now on, and at once where one came before. */
export function onHangup(handler: () => void): void {
  reload = handler
  follow()
}

function follow(): void {
  if (!isPending || !reload) return
  isPending = false
  reload()
}
