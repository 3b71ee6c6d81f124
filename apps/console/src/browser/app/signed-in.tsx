import { Container } from '@mantine/core'
import { useEffect } from 'react'
import { isSignedOut } from '../api/problem.ts'
import { onSignedOut, SessionProvider, useSessionQuery } from '../api/session.tsx'
import { followSignOut } from '../api/sign-out.ts'
import { Answer, Loading } from '../parts/states.tsx'
import { Layout } from './layout.tsx'

/** The screens for whoever is signed in; others are taken to the sign-in and come back. */
export function SignedInLayout() {
  const query = useSessionQuery()
  const signedOut = isSignedOut(query.error)
  useEffect(followSignOut, [])
  useEffect(() => {
    if (signedOut) onSignedOut()
  }, [signedOut])
  if (signedOut)
    return (
      <Container p="xl">
        <Loading />
      </Container>
    )
  if (query.data === undefined)
    return (
      <Container p="xl" component="main">
        <Answer action="whoAmI" query={query}>
          {() => null}
        </Answer>
      </Container>
    )
  return (
    <SessionProvider session={query.data}>
      <Layout />
    </SessionProvider>
  )
}
