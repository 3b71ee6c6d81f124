import { Group, Stack, Text, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { useRead } from '../../../api/queries.ts'
import type { ExplainedChannel } from '../../../api/records.ts'
import { Answer } from '../../../parts/states.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { Foreseen } from '../foreseen.tsx'
import { isDataBad, requestOfDraft, type SendDraft } from './draft.ts'

/** It is explained when nothing was written for so long, in milliseconds. */
const settleMs = 400

/** What would happen to what is written, channel by channel, with the texts that would arrive. */
export function Preview({ draft }: { draft: SendDraft }) {
  const t = useTexts()
  const at = draft.mode === 'later' && draft.at !== '' ? { at: new Date(draft.at).toISOString() } : {}
  const request = requestOfDraft(draft)
  const [written] = useDebouncedValue(JSON.stringify(request && { ...request, ...at }), settleMs)
  const asked = written === undefined ? undefined : (JSON.parse(written) as NonNullable<typeof request>)
  const query = useRead('explain', asked, asked !== undefined)
  if (draft.mode === 'bulk') return null
  return (
    <Stack component="section" className="panel" gap="sm" aria-live="polite">
      <Group justify="space-between">
        <Title order={2}>{t.send.preview}</Title>
        {asked !== undefined && (
          <Link to="/why" search={{ event: asked.event, user: asked.user_id } as never}>
            {t.sections.why}
          </Link>
        )}
      </Group>
      {asked === undefined || request === undefined ? (
        <Text c="dimmed">{isDataBad(draft) ? t.send.previewBad : t.send.previewEmpty}</Text>
      ) : (
        <Answer action="explain" query={query.error === null ? query : { ...query, data: undefined }}>
          {({ channels }) =>
            channels.length === 0 ? (
              <State tone="careful">{t.send.nobody}</State>
            ) : (
              channels.map((channel) => <ChannelPreview key={channel.channel} explained={channel} />)
            )
          }
        </Answer>
      )}
    </Stack>
  )
}

function ChannelPreview({ explained }: { explained: ExplainedChannel }) {
  const t = useTexts()
  const words = useWords()
  const { channel, outcome, reason_code: code, reason, until, subject, body, later } = explained
  const isSent = outcome === 'queued'
  return (
    <div className="message">
      <Group gap="xs">
        <strong>{words.channel(channel)}</strong>
        <State tone={isSent ? 'good' : until === undefined ? 'bad' : 'careful'}>
          {isSent ? t.why.wouldSend : words.outcome(outcome)}
        </State>
        {until !== undefined && (
          <Text size="sm">
            {t.notification.until} <Time at={until} />
          </Text>
        )}
      </Group>
      {code !== undefined && <Text size="sm">{words.reason(code)}</Text>}
      {code !== undefined && /^template_/.test(code) && <Text size="sm">{reason}</Text>}
      {subject !== undefined && <strong>{subject}</strong>}
      {body !== undefined && <p className="message-text">{body}</p>}
      <Foreseen later={later} />
    </div>
  )
}
