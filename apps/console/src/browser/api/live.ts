import { connect, events } from '@gatehouse/client'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { LiveChannel, type LiveEvent, type LiveHandlers } from './live-channel.ts'

export type { LiveEvent } from './live-channel.ts'

/** A tab that nobody looked at for so long rests, in milliseconds. */
const hiddenMs = 60_000
/** The server gives a sign of life every 15 s. */
const silenceMs = 20_000

let opened: LiveChannel | undefined

/** The channel of this tab, opened when it is first used. */
function liveChannel(): LiveChannel {
  if (opened !== undefined) return opened
  const locks = navigator.locks as LockManager | undefined
  const tabs = locks === undefined ? undefined : new BroadcastChannel('gatehouse-console-live')
  const channel = new LiveChannel({ locks, tabs, connect: follow, silenceMs, pollMs: 10_000, forgetMs: 45_000 })
  let resting: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(resting)
    if (document.visibilityState === 'visible') channel.resume()
    else resting = setTimeout(() => channel.pause(), hiddenMs)
  }
  document.addEventListener('visibilitychange', look)
  window.addEventListener('pagehide', () => channel.pause())
  window.addEventListener('pageshow', look)
  look()
  opened = channel
  return channel
}

async function follow(
  topics: readonly string[],
  lastEventId: string,
  { onBeat, onEvent, onLost }: LiveHandlers,
  signal: AbortSignal,
): Promise<void> {
  const headers = { 'x-console': '1' }
  const connection = connect({ baseUrl: '/console', headers, allowInsecureHttp: true, hooks: { onRetry: onLost } })
  const request = { method: 'GET', path: '/live', query: { topic: topics } }
  const stream = events<LiveEvent>(connection, request, { lastEventId, silenceMs: 2 * silenceMs, signal })
  for await (const { event, id, data } of stream) {
    if (event === 'beat') onBeat()
    else onEvent(id, data)
  }
}

/**
 * Follows a topic while the component is shown: `notification:{id}`, `notifications`, `dead-letters`,
 * `providers`, `limits`, `overview`.
 * `onEvent` gets the events of a notification, `changed` for the others, and `poll` every 10 s where there is no live
 * connection: both mean that it is to be read again. Returns whether there is one.
 *
 * @example
 * const live = useLive('providers', () => void query.refetch())
 */
export function useLive(topic: string | undefined, onEvent: (event: LiveEvent) => void): boolean {
  const latest = useRef(onEvent)
  useEffect(() => {
    latest.current = onEvent
  })
  useEffect(
    () => (topic === undefined ? undefined : liveChannel().subscribe(topic, (event) => latest.current(event))),
    [topic],
  )
  return useSyncExternalStore(
    (watcher) => liveChannel().watch(watcher),
    () => liveChannel().isLive,
  )
}
