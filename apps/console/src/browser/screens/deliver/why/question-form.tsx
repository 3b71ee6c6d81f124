import { Button, Group, Stack, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTexts } from '../../../texts/settings.tsx'
import { ChannelChoice, type ChannelName } from '../channel-choice.tsx'
import { parseObject } from '../event-data.ts'
import { EventField } from '../event-field.tsx'
import type { Question } from './question.ts'

interface QuestionFormProps {
  readonly event: string | undefined
  readonly user: string | undefined
  readonly ask: (question: Question) => void
  readonly isPending: boolean
}

/** The form of a question: event and user; another time, key, data or channels are behind a summary. */
export function QuestionForm({ event, user, ask, isPending }: QuestionFormProps) {
  const t = useTexts()
  const [channels, setChannels] = useState<ChannelName[]>([])
  const [badJson, setBadJson] = useState(false)
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const data = parseObject(text('data') || '{}')
    setBadJson(data === undefined)
    if (data === undefined) return
    const [key, at] = [text('dedup_key'), text('at')]
    ask({
      event: text('event'),
      user_id: text('user'),
      data,
      ...(key === '' ? {} : { dedup_key: key }),
      ...(at === '' ? {} : { at: new Date(at).toISOString() }),
      ...(channels.length === 0 ? {} : { channels }),
    })
  }
  return (
    <form
      className="panel"
      onSubmit={(submitted) => {
        submitted.preventDefault()
        submit(new FormData(submitted.currentTarget))
      }}
    >
      <Stack gap="sm">
        <Group align="flex-end" gap="md">
          <EventField name="event" label={t.why.event} defaultValue={event ?? ''} required />
          <TextInput name="user" label={t.why.user} defaultValue={user ?? ''} required className="grow" />
          <Button type="submit" loading={isPending}>
            {t.why.ask}
          </Button>
        </Group>
        <details open={badJson}>
          <summary>{t.why.further}</summary>
          <Stack gap="sm" mt="xs">
            <Group align="flex-start" gap="md">
              <TextInput name="at" type="datetime-local" label={t.why.at} className="grow" />
              <TextInput name="dedup_key" label={t.why.dedupKey} className="grow" />
            </Group>
            <ChannelChoice label={t.why.channels} value={channels} onChange={setChannels} />
            <Textarea
              name="data"
              label={t.why.data}
              defaultValue="{}"
              autosize
              minRows={2}
              maxRows={12}
              className="code"
              error={badJson ? t.why.badJson : undefined}
            />
          </Stack>
        </details>
      </Stack>
    </form>
  )
}
