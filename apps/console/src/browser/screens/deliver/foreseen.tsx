import { Group, Text } from '@mantine/core'
import type { ExplainedChannel } from '../../api/records.ts'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { useWords } from './code-words.ts'

/** What would become of a channel that waits, at the end of its wait: the text of then, with what is known now. */
export function Foreseen({ later }: { later: ExplainedChannel['later'] }) {
  const t = useTexts()
  const words = useWords()
  if (later === undefined) return null
  const { at, outcome, reason_code: code, subject, body } = later
  const isSent = outcome === 'queued'
  return (
    <div className="message foreseen">
      <Group gap="xs">
        <Text size="xs" c="dimmed">
          {t.why.foreseen} <Time at={at} />
        </Text>
        <State tone={isSent ? 'good' : 'bad'}>{isSent ? t.why.wouldSend : words.outcome(outcome)}</State>
      </Group>
      {code !== undefined && <Text size="sm">{words.reason(code)}</Text>}
      {subject !== undefined && <strong>{subject}</strong>}
      {body !== undefined && <p className="message-text">{body}</p>}
    </div>
  )
}
