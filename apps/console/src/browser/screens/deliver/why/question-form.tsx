import { Button, Group, Stack, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { findJsonFault, type JsonFault } from '../../../forms/json-fault.ts'
import { useJsonWords } from '../../../forms/use-json-words.ts'
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
  const [fault, setFault] = useState<JsonFault>()
  const jsonWords = useJsonWords()
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    // As it was typed: a place in a text that was trimmed is another one.
    const typed = String(form.get('data') ?? '')
    const data = parseObject(typed.trim() || '{}')
    setFault(data === undefined ? findJsonFault(typed) : undefined)
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
        <details open={fault !== undefined}>
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
              error={jsonWords(fault)}
            />
          </Stack>
        </details>
      </Stack>
    </form>
  )
}
