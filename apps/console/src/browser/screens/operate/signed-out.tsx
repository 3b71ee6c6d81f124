import { Alert, Button, Stack, Title } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { signIn } from '../../api/session.tsx'
import { useTexts } from '../../texts/settings.tsx'

const faults = ['expired', 'denied', 'no-role', 'unreachable', 'limited'] as const

/** Where a sign-out and a failed sign-in end. */
export function SignedOutScreen() {
  const t = useTexts()
  const { fault } = useSearch({ strict: false }) as { fault?: string }
  const known = faults.find((name) => name === fault)
  useEffect(() => {
    document.title = `${t.signedOut.title} · ${t.product}`
  }, [t])
  return (
    <main className="center">
      <Stack className="panel" maw={420} gap="md">
        <div className="brand">
          <span className="mark" aria-hidden="true">
            G
          </span>
          {t.product}
        </div>
        <Title order={1}>{t.signedOut.title}</Title>
        {known !== undefined && <Alert color="yellow">{t.signedOut[known]}</Alert>}
        <Button onClick={() => signIn(known === 'no-role')}>{t.signedOut.signIn}</Button>
      </Stack>
    </main>
  )
}
