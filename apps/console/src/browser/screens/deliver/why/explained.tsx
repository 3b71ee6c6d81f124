import type { NotificationExplanation } from '@gatehouse/client'
import { Group, Stack, Tabs, Text, Title } from '@mantine/core'
import type { InputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import { CopyText } from '../../../parts/values/copy-button.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { dateLocale, useSettings, useTexts } from '../../../texts/settings.tsx'
import { channelNames } from '../channel-choice.tsx'
import { useWords } from '../code-words.ts'
import { Foreseen } from '../foreseen.tsx'
import { CheckList } from './check-list.tsx'
import { checksOf } from './checks.ts'
import { customerAnswer } from './customer-answer.ts'
import type { Question } from './question.ts'

interface ExplainedProps {
  readonly explanation: NotificationExplanation
  readonly question: Question
}

/** What would happen on each channel, check by check. */
export function Explained({ explanation, question }: ExplainedProps) {
  const t = useTexts()
  const { settings } = useSettings()
  const { event, at } = question
  const channels = channelNames.map(
    (name) => [name, explanation.channels.find(({ channel }) => channel === name)] as const,
  )
  const zone = settings.zone === 'utc' ? { timeZone: 'UTC' } : {}
  const format = new Intl.DateTimeFormat(dateLocale(settings.language), {
    timeStyle: 'short',
    dateStyle: 'medium',
    ...zone,
  })
  const formatTime = (instant: string) => format.format(new Date(instant))
  const first = explanation.channels[0]?.channel ?? channelNames[0]
  return (
    <Stack component="section" className="panel" gap="sm" aria-live="polite">
      <Group justify="space-between">
        <Title order={2}>
          {at === undefined ? t.why.now : t.why.later} {at !== undefined && <Time at={at} />}
        </Title>
        <CopyText text={customerAnswer(t, { event, channels, formatTime })} label={t.why.copy} size="xs" />
      </Group>
      <Tabs key={event + question.user_id} defaultValue={first} keepMounted={false}>
        <Tabs.List mb="sm">
          {channelNames.map((name) => (
            <ChannelTab key={name} channel={name} explanation={explanation} />
          ))}
        </Tabs.List>
        {channelNames.map((name) => (
          <Tabs.Panel key={name} value={name}>
            <GatesOfChannel channel={name} explanation={explanation} question={question} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}

const signs = { sent: ['✓', 'good'], waits: ['…', 'careful'], stopped: ['✕', 'bad'] } as const

function ChannelTab({ channel, explanation }: { channel: string; explanation: NotificationExplanation }) {
  const t = useTexts()
  const words = useWords()
  const outcome = explanation.channels.find((each) => each.channel === channel)?.outcome
  const isWaiting = outcome === 'deferred' || outcome === 'aggregated'
  const [sign, tone] = signs[outcome === 'queued' ? 'sent' : isWaiting ? 'waits' : 'stopped']
  const word = outcome === 'queued' ? t.why.wouldSend : words.outcome(outcome ?? 'excluded')
  return (
    <Tabs.Tab value={channel}>
      <span className={`sign ${tone}`} aria-hidden="true">
        {sign}
      </span>{' '}
      {words.channel(channel)}{' '}
      <Text size="xs" c="dimmed" component="span">
        {word}
      </Text>
    </Tabs.Tab>
  )
}

function GatesOfChannel({ channel, explanation, question }: ExplainedProps & { channel: string }) {
  const { event, user_id: user, dedup_key: key } = question
  const t = useTexts()
  const standing = useRead('readStanding', { id: user })
  const types = useRead('listEventTypes', { limit: 200 })
  const providers = useRead('listProviders', { limit: 200 })
  const past = useRead('listNotifications', { user_id: user, event, channel, limit: 1 } as InputOf<'listNotifications'>)
  const explained = explanation.channels.find((each) => each.channel === channel)
  const last = past.data?.items[0]?.deliveries.find((each) => each.channel === channel)
  const checks = checksOf({
    channel,
    explanation,
    eventType: types.data?.items.find((type) => type.event === event),
    hasKey: key !== undefined,
    standing: standing.data,
    providers: providers.data?.items,
    lastState: last?.state ?? last?.outcome,
  })
  return (
    <Stack gap="sm">
      <CheckList checks={checks} event={event} user={user} duplicateOf={explained?.params?.notification_id as string} />
      {explained?.body !== undefined && (
        <div className="message">
          <Text size="xs" c="dimmed">
            {t.why.text}
          </Text>
          {explained.subject !== undefined && <strong>{explained.subject}</strong>}
          <p className="message-text">{explained.body}</p>
        </div>
      )}
      <Foreseen later={explained?.later} />
    </Stack>
  )
}
