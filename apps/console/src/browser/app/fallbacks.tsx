import { Alert } from '@mantine/core'
import type { ErrorComponentProps } from '@tanstack/react-router'
import { Page } from '../parts/page.tsx'
import { Empty } from '../parts/states.tsx'
import { useTexts } from '../texts/settings.tsx'

/** A page whose code failed; the others work. */
export function BrokenPage({ error }: ErrorComponentProps) {
  const t = useTexts()
  return (
    <Page title={t.states.broken}>
      <Alert color="red">{String(error)}</Alert>
    </Page>
  )
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
