import { Stack } from '@mantine/core'
import { useFilters } from '../../../api/filters.ts'
import { useMay } from '../../../api/session.tsx'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Page } from '../../../parts/page.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { emptyDraft, type SendDraft } from './draft.ts'
import { Preview } from './preview.tsx'
import { SendForm } from './send-form.tsx'
import { Snippet } from './snippet.tsx'

/** Sends, schedules or explains a notification: the form, and beside it what would arrive and the call as code. */
export function SendScreen() {
  const t = useTexts()
  const may = useMay()
  const [{ event = '', user = '', like }] = useFilters(['event', 'user', 'like'])
  // What is typed at one address is not there at another, such as that of "Send one like it".
  const name = `send ${JSON.stringify([event, user, like])}`
  const begun: SendDraft = { ...emptyDraft, id: crypto.randomUUID(), event, user }
  const [draft, change, sent] = useKeptState(name, begun, { overReload: true })
  const finish = () => sent({ id: crypto.randomUUID() })
  return (
    <Page title={t.sections.send} lead={may('send') ? t.send.lead : t.send.leadExplain}>
      <div className="beside">
        <SendForm draft={draft} change={change} finish={finish} like={like} />
        <Stack gap="md">
          <Preview draft={draft} />
          <Snippet draft={draft} />
        </Stack>
      </div>
    </Page>
  )
}
