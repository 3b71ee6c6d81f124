import { Stack } from '@mantine/core'
import { useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useMay } from '../../../api/session.tsx'
import { isSameForm, useKeeping, useTaken } from '../../../forms/keeping.ts'
import { Page } from '../../../parts/page.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { emptyDraft, type SendDraft } from './draft.ts'
import { Preview } from './preview.tsx'
import { SendForm } from './send-form.tsx'
import { Snippet } from './snippet.tsx'

const formName = 'send'

/** Sends, schedules or explains a notification: the form, and beside it what would arrive and the call as code. */
export function SendScreen() {
  const t = useTexts()
  const may = useMay()
  const [{ event = '', user = '', like }] = useFilters(['event', 'user', 'like'])
  const kept = useTaken<SendDraft>(formName)
  const empty = { ...emptyDraft, event, user }
  const [draft, setDraft] = useState<SendDraft>({ ...empty, ...kept?.values })
  useKeeping(formName, () => (isSameForm(draft, empty) ? undefined : { values: draft }))
  const change = (changed: Partial<SendDraft>) => setDraft((before) => ({ ...before, ...changed }))
  return (
    <Page title={t.sections.send} lead={may('send') ? t.send.lead : t.send.leadExplain}>
      <div className="beside">
        <SendForm draft={draft} change={change} like={like} isKept={kept !== undefined} />
        <Stack gap="md">
          <Preview draft={draft} />
          <Snippet draft={draft} />
        </Stack>
      </div>
    </Page>
  )
}
