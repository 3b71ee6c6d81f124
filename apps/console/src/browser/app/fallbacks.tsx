import { ApiError } from '@gatehouse/client'
import { Alert, Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ErrorComponentProps } from '@tanstack/react-router'
import { useEffect } from 'react'
import { callConsole } from '../api/call.ts'
import { Page } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { useTexts } from '../texts/settings.tsx'
import { claimReload, ScreenNotLoadedError } from './load-screen.ts'

/** A page whose code failed; the others work. */
export function BrokenPage({ error }: ErrorComponentProps) {
  const t = useTexts()
  if (error instanceof ScreenNotLoadedError) return <NotLoaded />
  return (
    <Page title={t.states.broken}>
      <Alert color="red">{String(error)}</Alert>
    </Page>
  )
}

/** How often it is tried whether the server is there again, in milliseconds. */
const probeMs = 3_000

/** A page whose code could not be fetched. It comes by itself when the server is there again. */
function NotLoaded() {
  const t = useTexts()
  const { data: isThere, refetch } = useQuery({
    queryKey: ['server is there'],
    queryFn: async ({ signal }) => isAnswering(signal),
    refetchInterval: ({ state }) => (state.data === true ? false : probeMs),
    gcTime: 0,
  })
  useEffect(() => {
    const { pathname } = window.location
    if (isThere === true && claimReload(sessionStorage, pathname, Date.now())) window.location.reload()
  }, [isThere])
  const retry = () => (isThere === true ? window.location.reload() : void refetch())
  return (
    <Page title={t.states.failed}>
      <Alert color="red" role="alert">
        <Text size="sm">{isThere === true ? t.states.notLoaded : t.states.offline}</Text>
        <Button size="xs" variant="default" mt="sm" onClick={retry}>
          {t.common.retry}
        </Button>
      </Alert>
    </Page>
  )
}

/** Whether the server of the console answers, whatever it says. */
async function isAnswering(signal: AbortSignal): Promise<boolean> {
  try {
    await callConsole('GET', '/session', signal)
    return true
  } catch (error) {
    return error instanceof ApiError
  }
}

/** An address that no page has. */
export function MissingPage() {
  const t = useTexts()
  return (
    <Page title={t.states.notFound}>
      <Empty text={t.common.nothingFound} />
    </Page>
  )
}
