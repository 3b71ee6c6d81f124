import type { SigningKey } from '@gatehouse/client'
import { Alert, Code, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { Id, State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { overdueCause, type Timeline, timelinesOf } from './key-timeline.ts'
import { TimelineChart } from './timeline-chart.tsx'

/** The keys that sign tokens: on a line of time for each algorithm, with what is still valid under each. */
export function SigningKeysScreen() {
  const t = useTexts()
  const query = useRead('listSigningKeys')
  const [now] = useState(() => Date.now())
  return (
    <Page title={t.sections.signingKeys} lead={t.signingKeys.lead}>
      <Answer action="listSigningKeys" query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t.signingKeys.empty} />
          ) : (
            <Stack>
              {timelinesOf(items, now).map((timeline) => (
                <Algorithm key={timeline.alg} timeline={timeline} />
              ))}
            </Stack>
          )
        }
      </Answer>
    </Page>
  )
}

function Algorithm({ timeline }: { timeline: Timeline }) {
  const t = useTexts()
  const { alg, lines } = timeline
  const keys = lines.map(({ key }) => key)
  const rotation = { alg: alg as InputOf<'rotateSigningKey'>['alg'] }
  return (
    <section className="panel" aria-label={alg}>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {alg}
          </Title>
          <Group gap="xs">
            <Act
              action="rotateSigningKey"
              input={rotation}
              label={t.signingKeys.rotate}
              about={alg}
              text={t.signingKeys.rotateText}
              word={alg}
              done={t.signingKeys.rotated}
            />
            <Act
              action="rotateSigningKey"
              input={{ ...rotation, compromised: true }}
              label={t.signingKeys.compromised}
              about={alg}
              text={t.signingKeys.compromisedText(alg)}
              word={t.signingKeys.compromisedWord(alg)}
              done={t.signingKeys.rotated}
            />
          </Group>
        </Group>
        {lines.some(({ isOverdue }) => isOverdue) && <Overdue keys={keys} alg={alg} />}
        <TimelineChart timeline={timeline} />
        <KeyTable alg={alg} keys={keys} />
      </Stack>
    </section>
  )
}

function Overdue({ keys, alg }: { keys: readonly SigningKey[]; alg: string }) {
  const t = useTexts()
  return (
    <Alert color="red" title={t.signingKeys.overdue}>
      <Text size="sm">{t.signingKeys.causes[overdueCause(keys)]}</Text>
      <Code>{`identity_signing_key_age_seconds{alg="${alg}"}`}</Code>
    </Alert>
  )
}

function KeyTable({ alg, keys }: { alg: string; keys: readonly SigningKey[] }) {
  const t = useTexts()
  return (
    <Rows
      label={`${t.sections.signingKeys} ${alg}`}
      rows={keys}
      keyOf={({ kid }) => kid}
      columns={[
        { label: t.signingKeys.kid, render: ({ kid }) => <Id value={kid} /> },
        { label: t.signingKeys.state, render: (key) => <KeyState signingKey={key} /> },
        { label: t.signingKeys.activates, render: (key) => <Time at={key.activates_at} /> },
        { label: t.signingKeys.tokens, render: (key) => <Tokens signingKey={key} /> },
        { label: t.signingKeys.expires, render: (key) => <Removal signingKey={key} /> },
      ]}
    />
  )
}

function KeyState({ signingKey: { state, unreadable } }: { signingKey: SigningKey }) {
  const t = useTexts()
  const known = (['next', 'active'] as const).find((one) => one === state) ?? 'retiring'
  return (
    <Group gap={4}>
      <State tone={known === 'active' ? 'good' : 'neutral'}>{t.signingKeys[known]}</State>
      {unreadable === true && <State tone="bad">{t.signingKeys.unreadable}</State>}
    </Group>
  )
}

function Tokens({ signingKey: { state, last_token_expires_at: until } }: { signingKey: SigningKey }) {
  const t = useTexts()
  if (state === 'next') return t.signingKeys.noTokens
  if (until === undefined) return t.signingKeys.newTokens
  if (Date.parse(until) <= Date.now()) return t.signingKeys.allExpired
  return (
    <span>
      {t.signingKeys.validUntil} <Time at={until} />
    </span>
  )
}

function Removal({ signingKey: { expires_at: removed, due_at: due } }: { signingKey: SigningKey }) {
  const t = useTexts()
  if (removed !== undefined) return <Time at={removed} />
  return due === undefined ? null : (
    <span className="dim">
      {t.signingKeys.successor} <Time at={due} />
    </span>
  )
}
