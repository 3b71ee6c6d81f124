import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

/** Reading a page again, by somebody who wants to know whether it is still so. */
export interface ReadAgain {
  read(): void
  readonly isReading: boolean
  /** When the last such reading ended well, in Unix milliseconds. */
  readonly readAt: number | undefined
}

/**
 * Reads again whatever the page shows, also what is not old yet. What fails says so where it is shown. `shown` names what
 * that is, such as its filters: the reading of something else is forgotten.
 */
export function useReadAgain(shown: string): ReadAgain {
  const client = useQueryClient()
  const [state, setState] = useState({ shown, isReading: false, readAt: undefined as number | undefined })
  const read = async () => {
    setState({ shown, isReading: true, readAt: undefined })
    const isOfPage = ({ queryKey: [name] }: { queryKey: readonly unknown[] }) => name !== 'session'
    const isRead = await client.refetchQueries({ type: 'active', predicate: isOfPage }, { throwOnError: true }).then(
      () => true,
      () => false,
    )
    setState({ shown, isReading: false, readAt: isRead ? Date.now() : undefined })
  }
  const isOfShown = state.shown === shown
  return {
    read: () => void read(),
    isReading: isOfShown && state.isReading,
    readAt: isOfShown ? state.readAt : undefined,
  }
}
