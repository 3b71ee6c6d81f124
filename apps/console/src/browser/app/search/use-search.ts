import { useDebouncedValue } from '@mantine/hooks'
import { useQueries } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { actions, mayDo, serviceOf } from '../../../actions/index.ts'
import { useSession } from '../../api/session.tsx'
import { sections } from '../navigation.ts'
import type { Hit } from './search-hits.ts'
import { type Source, type SourceName, sources } from './search-sources.ts'
import { classifySearch, type SearchTarget } from './search-target.ts'

/** A source that has not answered by then is named as slow, in milliseconds. */
const slowMs = 300
const debounceMs = 120

/** What a search found so far. */
export interface Search {
  readonly target: SearchTarget | undefined
  readonly found: readonly { readonly source: Source; readonly hits: readonly Hit[] }[]
  readonly slow: readonly SourceName[]
  readonly failed: readonly SourceName[]
  /** What the role of the person may not search. */
  readonly forbidden: readonly SourceName[]
}

/** Searches every source that fits the text, all at once: a slow one keeps none of the others. */
export function useSearch(text: string): Search {
  const { scopes, services } = useSession()
  const [settled] = useDebouncedValue(text, debounceMs)
  const target = classifySearch(settled)
  const fitting = sources.filter(
    ({ kinds, section, action }) =>
      target !== undefined &&
      kinds.includes(target.kind) &&
      sections.some(({ path }) => path === section) &&
      services.includes(serviceOf(actions[action].operation)),
  )
  const allowed = fitting.filter(({ action }) => mayDo(action, scopes))
  const isSlow = useElapsed(settled)
  const answers = useQueries({
    queries: allowed.map(({ name, find }) => ({
      queryKey: ['search', name, target],
      queryFn: ({ signal }: { signal: AbortSignal }) => (target === undefined ? [] : find(target, signal)),
      // What was looked for is not kept.
      gcTime: 0,
      retry: false,
    })),
  })
  const named = (is: (answer: (typeof answers)[number]) => boolean) =>
    allowed.flatMap(({ name }, index) => {
      const answer = answers[index]
      return answer !== undefined && is(answer) ? [name] : []
    })
  const users = new Set<string>()
  const found = allowed.map((source, index) => {
    const hits = answers[index]?.data ?? []
    // A user of both services is shown once.
    const fresh = hits.filter(({ id, open }) => open.to !== '/users/$id' || !users.has(id))
    for (const { id, open } of hits) if (open.to === '/users/$id') users.add(id)
    return { source, hits: fresh }
  })
  return {
    target,
    found: found.filter(({ hits }) => hits.length > 0),
    slow: isSlow ? named(({ isPending }) => isPending) : [],
    failed: named(({ isError }) => isError),
    forbidden: fitting.filter(({ action }) => !mayDo(action, scopes)).map(({ name }) => name),
  }
}

/** Whether the time of a fast answer is over since the text was entered. */
function useElapsed(text: string): boolean {
  const [elapsed, setElapsed] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(text), slowMs)
    return () => clearTimeout(timer)
  }, [text])
  return text !== '' && elapsed === text
}
