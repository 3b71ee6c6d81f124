import type { EventType } from '@gatehouse/client'
import { Group, SegmentedControl, Stack, Textarea, TextInput } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useRead } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { findJsonFault } from '../../../forms/json-fault.ts'
import { useJsonWords } from '../../../forms/use-json-words.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { ChannelChoice, channelNames } from '../channel-choice.tsx'
import { EventField } from '../event-field.tsx'
import { BulkForm } from './bulk-form.tsx'
import { isDataBad, isPast, type SendDraft, type SendMode } from './draft.ts'
import { sampleData } from './sample-data.ts'
import { SendButtons } from './send-buttons.tsx'

interface SendFormProps {
  readonly draft: SendDraft
  readonly change: (changed: Partial<SendDraft>) => void
  /** What is written was sent: it is not kept for a reload, and sent again it is something else. */
  readonly finish: () => void
  /** The notification whose data it begins with. */
  readonly like: string | undefined
}

/** The form of a notification. */
export function SendForm(props: SendFormProps) {
  const { draft, change, finish } = props
  const t = useTexts()
  const may = useMay()
  const modes = (['now', 'later', 'bulk'] as const).map((value) => ({ value, label: t.send.modes[value] }))
  return (
    <Stack className="panel" gap="md">
      {may('send') && (
        <SegmentedControl
          aria-label={t.send.mode}
          value={draft.mode}
          onChange={(mode) => change({ mode: mode as SendMode })}
          data={modes}
          fullWidth
        />
      )}
      {draft.mode === 'bulk' ? (
        <BulkForm id={draft.id} events={draft.events} change={(events) => change({ events })} finish={finish} />
      ) : (
        <OneForm {...props} />
      )}
    </Stack>
  )
}

function OneForm(props: SendFormProps) {
  const { draft, change, finish } = props
  const t = useTexts()
  const jsonWords = useJsonWords()
  useSampleData(props)
  return (
    <>
      <Group align="flex-start" gap="md">
        <EventField label={t.send.event} value={draft.event} onChange={(event) => change({ event })} required isSent />
        <TextInput
          label={t.send.user}
          value={draft.user}
          onChange={(event) => change({ user: event.currentTarget.value })}
          required
          autoComplete="off"
          className="grow"
        />
      </Group>
      <Textarea
        label={t.send.data}
        description={t.send.dataLead}
        value={draft.data}
        onChange={(event) => change({ data: event.currentTarget.value, isWritten: true })}
        autosize
        minRows={4}
        maxRows={18}
        spellCheck={false}
        className="code"
        error={isDataBad(draft) ? jsonWords(findJsonFault(draft.data)) : undefined}
      />
      <ChannelChoice
        label={t.send.channels}
        description={t.send.channelsLead}
        value={draft.channels}
        onChange={(channels) => change({ channels })}
      />
      <Group align="flex-start" gap="md">
        <TextInput
          label={t.send.dedupKey}
          description={t.send.dedupKeyLead}
          value={draft.dedupKey}
          onChange={(event) => change({ dedupKey: event.currentTarget.value })}
          maxLength={512}
          className="grow"
        />
        {draft.mode === 'later' && (
          <TextInput
            type="datetime-local"
            label={t.send.at}
            value={draft.at}
            onChange={(event) => change({ at: event.currentTarget.value })}
            required
            error={isPast(draft, Date.now()) ? t.send.past : undefined}
          />
        )}
      </Group>
      <SendButtons draft={draft} finish={finish} />
    </>
  )
}

/** Fills in the data from the variables of the template, or from another notification, until somebody writes it. */
function useSampleData({ draft: { event, isWritten }, change, like }: SendFormProps): void {
  const types = useRead('listEventTypes', { limit: 200 })
  const type = types.data?.items.find((each) => each.event === event.trim())
  const variables = useVariables(type)
  const content = useRead('readContent', { id: like ?? '' }, like !== undefined)
  const copied = like === undefined ? undefined : content.data?.data
  const filled = JSON.stringify(copied ?? (variables && sampleData(variables)), undefined, 2)
  const write = useRef(change)
  write.current = change
  useEffect(() => {
    if (filled !== undefined && !isWritten) write.current({ data: filled })
  }, [filled, isWritten])
}

/** The variables of the texts of an event type, on the channels that it goes to; undefined while they are not known. */
function useVariables(type: EventType | undefined): readonly string[] | undefined {
  const channels = channelNames.filter((channel) => type?.channels.includes(channel))
  const template = type?.template_id ?? type?.event ?? ''
  const preview = useRead('previewTemplate', { template_id: template, channels, data: {} }, channels.length > 0)
  if (type === undefined || preview.data === undefined) return undefined
  return [...new Set(preview.data.items.flatMap(({ variables }) => variables))]
}
