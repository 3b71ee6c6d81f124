import { events } from '@gatehouse/client'
import { useDocumentVisibility } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { consoleConnection } from './call.ts'

/** A counter at a moment. */
export interface LiveCounter {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Counters as they were sent: the last two, by which a rate is known. */
export interface LiveCounters {
  readonly at: string
  readonly counters: readonly LiveCounter[]
  readonly before?: { readonly at: string; readonly counters: readonly LiveCounter[] }
}

/**
 * The counters of a service as they change, while the page is shown; undefined until there are some. A stream that ends is
 * opened again.
 */
export function useCounters(service: string, topics: string, enabled: boolean): LiveCounters | undefined {
  const [live, setLive] = useState<LiveCounters>()
  const isShown = useDocumentVisibility() === 'visible'
  useEffect(() => {
    if (!enabled || !isShown) return
    const leaving = new AbortController()
    const follow = async () => {
      const request = { method: 'GET', path: `/live/${service}`, query: { topics } } as const
      for await (const { data } of events<LiveCounters>(consoleConnection, request, { signal: leaving.signal }))
        setLive((before) => ({ ...data, ...(before && { before: { at: before.at, counters: before.counters } }) }))
    }
    // Without the stream the page has its other figures.
    follow().catch(() => {})
    return () => leaving.abort()
  }, [service, topics, enabled, isShown])
  return live
}

/** How much is counted a second of what matches, by the last two moments; undefined while there is but one. */
export function rateOf(live: LiveCounters | undefined, match: (counter: LiveCounter) => boolean): number | undefined {
  if (live?.before === undefined) return undefined
  const seconds = (Date.parse(live.at) - Date.parse(live.before.at)) / 1_000
  const total = (counters: readonly LiveCounter[]) => counters.filter(match).reduce((sum, { value }) => sum + value, 0)
  return seconds > 0 ? Math.max(0, (total(live.counters) - total(live.before.counters)) / seconds) : undefined
}
