import { Button, Group, Progress, Stack, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { OutputOf } from '../../../../actions/index.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Answer } from '../../../parts/states.tsx'
import { Facts, Id, State, Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { usePolled } from '../polled.ts'
import { wordOf } from '../words.ts'

type Replay = OutputOf<'readReplay'>

const everyMs = 2_000

/** What becomes of the letters that were replayed together, until each has an outcome; and the way to stop it. */
export function ReplayProgress({ batchId, hide }: { batchId: string; hide: () => void }) {
  const t = useTexts()
  const client = useQueryClient()
  const query = usePolled('readReplay', { batch_id: batchId }, (replay) =>
    replay === undefined || replay.waiting > 0 ? everyMs : false,
  )
  const { waiting, dead } = query.data ?? {}
  // biome-ignore lint/correctness/useExhaustiveDependencies: the letters are read again whenever some have an outcome
  useEffect(() => {
    for (const name of ['deadLetters.list', 'deadLetters.summary.get'])
      void client.invalidateQueries({ queryKey: [name] })
  }, [client, waiting, dead])
  return (
    <Stack component="section" className="panel marked" gap="sm" aria-labelledby="replay">
      <Group justify="space-between">
        <Title order={2} id="replay">
          {t.replays.progress}
        </Title>
        <Group gap="xs">
          {waiting !== undefined && waiting > 0 && (
            <Act
              action="stopReplay"
              input={{ batch_id: batchId }}
              label={t.replays.stop}
              text={t.replays.stopText}
              done={t.replays.stoppedDone}
            />
          )}
          <Button size="xs" variant="default" onClick={hide}>
            {t.replays.hide}
          </Button>
        </Group>
      </Group>
      <Answer action="readReplay" query={query}>
        {(replay) => <Outcomes replay={replay} />}
      </Answer>
    </Stack>
  )
}

function Outcomes({ replay }: { replay: Replay }) {
  const t = useTexts()
  const { settings } = useSettings()
  const { total, sent, waiting, dead, created_at, stopped_at, first } = replay
  const ended = Math.max(0, total - sent - waiting - dead)
  const share = (count: number) => (total === 0 ? 0 : (count / total) * 100)
  const format = (count: number) => count.toLocaleString(settings.language)
  const parts = [
    [t.replays.sent, sent, 'teal'],
    [t.replays.dead, dead, 'red'],
    [t.replays.ended, ended, 'gray'],
  ] as const
  return (
    <>
      <Progress.Root size="lg">
        {parts.map(([label, count, color]) => (
          <Progress.Section key={label} value={share(count)} color={color} aria-label={`${label}: ${count}`} />
        ))}
      </Progress.Root>
      <Facts
        facts={[
          [t.replays.total, format(total)],
          ...parts.map(([label, count]) => [label, <strong key={label}>{format(count)}</strong>] as const).slice(0, 2),
          [t.replays.waiting, format(waiting)],
          ...(ended > 0 ? [[t.replays.ended, format(ended)] as const] : []),
          [t.replays.begunAt, <Time key="begun" at={created_at} />],
          [t.replays.stopped, stopped_at === undefined ? undefined : <Time key="stopped" at={stopped_at} />],
        ]}
      />
      <Text size="sm" c="dimmed" role="log" aria-live="polite">
        {waiting === 0 ? t.replays.finished : t.replays.goesOn}
      </Text>
      <details open={total <= first.length}>
        <summary>{t.replays.first}</summary>
        <Stack gap={4} mt="xs">
          {first.map((letter) => (
            <Group key={letter.id} gap="sm">
              <State tone={toneOf(letter.status)}>{wordOf(t.replays.status, letter.status) ?? letter.status}</State>
              <Letter letter={letter} />
            </Group>
          ))}
        </Stack>
      </details>
    </>
  )
}

function Letter({ letter: { id, notification_id } }: { letter: Replay['first'][number] }) {
  if (notification_id === undefined) return <Id value={id} />
  return (
    <Text size="sm">
      <Link to="/notifications/$id" params={{ id: notification_id }}>
        {notification_id}
      </Link>
    </Text>
  )
}

function toneOf(status: Replay['first'][number]['status']) {
  if (status === 'sent') return 'good'
  return status === 'dead' ? 'bad' : 'neutral'
}
