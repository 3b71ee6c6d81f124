import { useNavigate } from '@tanstack/react-router'
import { OpenById } from '../../parts/open-by-id.tsx'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The way to a notification by its id. */
export function FindNotificationScreen() {
  const t = useTexts()
  const navigate = useNavigate()
  return (
    <Page title={t.sections.notification} lead={t.notification.findLead}>
      <OpenById
        label={t.notification.find}
        button={t.notification.open}
        onOpen={(id) => void navigate({ to: '/notifications/$id', params: { id } })}
      />
    </Page>
  )
}
