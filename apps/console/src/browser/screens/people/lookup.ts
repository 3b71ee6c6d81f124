import { useLocation, useNavigate } from '@tanstack/react-router'
import { classifySearch } from '../../app/search/search-target.ts'

/** A person who is looked for by what no address, log or saved view may have: it stays in the state of the history. */
export interface Lookup {
  readonly email?: string
  readonly phone_number?: string
}

/** The lookup of a search text, if it is a mail address or a phone number. */
export function lookupOf(text: string): Lookup | undefined {
  const target = classifySearch(text)
  if (target?.kind === 'mail') return { email: target.email }
  return target?.kind === 'phone' ? { phone_number: target.phone_number } : undefined
}

/** The lookup that the present entry of the history has, and how to open the list with another. */
export function useLookup(): readonly [lookup: Lookup | undefined, open: (lookup: Lookup) => void] {
  const navigate = useNavigate()
  const state = useLocation({ select: ({ state }) => state as { readonly lookup?: Lookup } })
  return [state.lookup, (lookup) => void navigate({ to: '/users', search: {}, state: { lookup } as object })]
}
