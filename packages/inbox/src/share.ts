import type { News } from './api.ts'

/** What the window that holds the stream tells the others. */
export interface WindowMessage {
  /** Whether the stream is open. */
  readonly open: boolean
  readonly event?: string
  readonly id?: number
  readonly news?: News
}

interface WindowHandlers {
  receive(message: WindowMessage): void
  /** Holds the stream, until another window may try or `signal` ends it. */
  lead(broadcast: (message: WindowMessage) => void): Promise<void>
}

/**
 * Of all windows of an inbox on this origin one leads at a time: a browser opens few connections to one server, and each
 * would take one for good. Where windows can't find one another each leads for itself.
 */
export async function share(inbox: string, signal: AbortSignal, { receive, lead }: WindowHandlers): Promise<void> {
  const { locks } = navigator
  let channel: BroadcastChannel | undefined
  try {
    const others = new BroadcastChannel(inbox)
    channel = others
    let leads = false
    others.onmessage = ({ data }) => leads || receive(data)
    signal.addEventListener('abort', () => others.close())
    const broadcast = (message: WindowMessage) => signal.aborted || others.postMessage(message)
    while (!signal.aborted)
      await locks.request(inbox, { signal }, async () => {
        leads = true
        await lead(broadcast)
        leads = false
      })
  } catch {
    // Missing where the page did not come over https; refused to it in a sandbox, or with cookies blocked.
    channel?.close()
  }
  while (!signal.aborted) await lead(() => {})
}
