import type { NotificationExplanation } from '@gatehouse/client'
import { Alert, Button, Code, Group, Stack, Text, Textarea, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import { useFilters } from '../../api/filters.ts'
import { useAction, useRead } from '../../api/queries.ts'
import type { ExplainedChannel } from '../../api/records.ts'
import { Page } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { Facts, Json, State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** What would happen to an event now, and why. */
export function WhyScreen() {
  const t = useTexts()
  const [input, remember] = useFilters(['event', 'user'])
  const mutation = useAction('explain')
  const [badJson, setBadJson] = useState(false)
  const types = useRead('listEventTypes')
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const data = parseObject(text('data') || '{}')
    setBadJson(data === undefined)
    if (data === undefined) return
    const [event, user, key] = [text('event'), text('user'), text('dedup_key')]
    remember({ event, user })
    const at = text('at')
    const optional = {
      ...(key === '' ? {} : { dedup_key: key }),
      ...(at === '' ? {} : { at: new Date(at).toISOString() }),
    }
    mutation.mutate({ event, user_id: user, data, ...optional })
  }
  return (
    <Page title={t.sections.why} lead={t.why.lead}>
      <form
        className="panel"
        onSubmit={(event) => {
          event.preventDefault()
          submit(new FormData(event.currentTarget))
        }}
      >
        <Stack>
          <Group align="flex-start" gap="md">
            <TextInput
              name="event"
              label={t.why.event}
              defaultValue={input.event ?? ''}
              list="event-types"
              required
              className="grow"
            />
            <datalist id="event-types">
              {types.data?.items.map(({ event }) => (
                <option key={event} value={event} />
              ))}
            </datalist>
            <TextInput name="user" label={t.why.user} defaultValue={input.user ?? ''} required className="grow" />
            <TextInput name="dedup_key" label={t.why.dedupKey} className="grow" />
            <TextInput name="at" type="datetime-local" label={t.why.at} className="grow" />
          </Group>
          <Textarea
            name="data"
            label={t.why.data}
            defaultValue="{}"
            autosize
            minRows={3}
            maxRows={12}
            error={badJson ? t.why.badJson : undefined}
          />
          <Group>
            <Button type="submit" loading={mutation.isPending}>
              {t.why.ask}
            </Button>
          </Group>
        </Stack>
      </form>
      {mutation.error !== null && (
        <Failed
          action="explain"
          error={mutation.error}
          retry={() => mutation.variables && mutation.mutate(mutation.variables)}
        />
      )}
      {mutation.data !== undefined && <Explained explanation={mutation.data} />}
    </Page>
  )
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

function Explained({ explanation: { channels, decisions, cap } }: { explanation: NotificationExplanation }) {
  const t = useTexts()
  if (channels.length === 0) return <Alert color="yellow">{t.why.noChannels}</Alert>
  return (
    <Stack aria-live="polite">
      {channels.map((channel) => (
        <ChannelAnswer key={channel.channel} answer={channel} />
      ))}
      <details className="panel">
        <summary>{t.why.decisions}</summary>
        <Json label={t.why.decisions} value={decisions} />
      </details>
      <details className="panel">
        <summary>{t.why.cap}</summary>
        <Json label={t.why.cap} value={cap} />
      </details>
    </Stack>
  )
}

function ChannelAnswer({ answer }: { answer: ExplainedChannel }) {
  const t = useTexts()
  const { channel, outcome, reason_code: code, reason, until, subject, body, locale } = answer
  return (
    <Stack component="section" className="panel marked" gap="sm">
      <Group gap="sm">
        <Title order={2}>{channel}</Title>
        <State tone={outcome === 'queued' ? 'good' : 'careful'}>{outcome}</State>
        {code !== undefined && <Code>{code}</Code>}
        {until !== undefined && (
          <Text size="sm">
            {t.why.until} <Time at={until} />
          </Text>
        )}
      </Group>
      {reason !== undefined && <Text>{reason}</Text>}
      {body !== undefined && (
        <Facts
          facts={[
            [
              `${t.why.text}${locale === undefined ? '' : ` (${locale})`}`,
              <Message key="text" subject={subject} body={body} />,
            ],
          ]}
        />
      )}
    </Stack>
  )
}

function Message({ subject, body }: { subject: string | undefined; body: string }) {
  return (
    <>
      {subject !== undefined && <strong>{subject}</strong>}
      <pre className="json">{body}</pre>
    </>
  )
}
