import { useQuery } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { type ActionId, actions, mayDo, serviceOf } from '../../actions/index.ts'
import { removeStaleForms } from '../forms/kept.ts'
import { isAttended } from './attendance.ts'
import { callConsole } from './call.ts'
import { leave } from './leaving.ts'
import { NobodyError } from './problem.ts'
import { isSigningOut } from './sign-out.ts'

/** Who is signed in, and what there is for them. */
export interface Session {
  readonly user: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly services: readonly string[]
  readonly expires_at: string
  /** Where users sign in, and where programs call the APIs. */
  readonly issuer: string
  readonly api_url: string
}

const SessionContext = createContext<Session | undefined>(undefined)

/** Reads the session from the server. */
export function useSessionQuery() {
  return useQuery({
    queryKey: ['session'],
    queryFn: async ({ signal }) => {
      const answer = await callConsole<Session | { readonly user: null }>('GET', '/session', signal)
      if (answer.user === null) throw new NobodyError('Nobody is signed in.')
      return answer
    },
    staleTime: 60_000,
  })
}

/** Provides the session to the screens, in a tab without what others typed into it. */
export function SessionProvider({ session, children }: { session: Session; children: ReactNode }) {
  useEffect(() => removeStaleForms(sessionStorage, session.user, Date.now()), [session.user])
  return <SessionContext value={session}>{children}</SessionContext>
}

/** The session. Only within {@link SessionProvider}. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('there is no session here')
  return session
}

/** Whether the person sees personal data as it is: whoever does not finds nothing by it. */
export function useSeesPersonalData(): boolean {
  const { scopes } = useSession()
  return scopes.includes('read:personal-data') || scopes.includes('admin:privacy')
}

/** Tells whether the person may do an action: by their scopes, and whether its service is there. */
export function useMay(): (id: ActionId) => boolean {
  const { scopes, services } = useSession()
  return (id) => mayDo(id, scopes) && services.includes(serviceOf(actions[id].operation))
}

const signedOutPath = '/console/signed-out'

/**
 * Goes to the sign-in when the session has ended. While nobody is at the page it is not begun: identity may know them
 * still, and the page would go on by itself. The same goes for the end that a sign-out brings.
 */
export function onSignedOut(): void {
  if (isAttended() && !isSigningOut()) signIn()
  else {
    leave()
    window.location.assign(`${signedOutPath}?${new URLSearchParams({ return_to: presentAddress() })}`)
  }
}

/** Where to come back to after a sign-in. The server takes no address outside of the console. */
function presentAddress(): string {
  const { pathname, search } = window.location
  if (!pathname.startsWith(signedOutPath)) return `${pathname}${search}`
  return new URLSearchParams(search).get('return_to') ?? '/console/'
}

/** Goes to the sign-in and comes back to the present address, with what was typed. `recent` asks to sign in again now. */
export function signIn(recent = false): void {
  const query = new URLSearchParams({ return_to: presentAddress(), ...(recent ? { max_age: '60' } : {}) })
  leave()
  window.location.assign(`/console/login?${query}`)
}
