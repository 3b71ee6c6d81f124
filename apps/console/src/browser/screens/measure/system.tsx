import type { EffectiveValue, SystemStatus } from '@gatehouse/client'
import { Button, CopyButton, Stack, Text, TextInput, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay, useSession } from '../../api/session.tsx'
import { gather, type ProcessAnswer, type SystemAnswer, useSystem } from '../../api/system.ts'
import { useSections } from '../../app/sections.ts'
import { Page } from '../../parts/page.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { Facts, State, Time, Words } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { WarningList } from './attention.tsx'
import { Figures } from './parts.tsx'
import { FileDrift, Storage } from './storage.tsx'

/** What runs, on what, with which configuration; and what the person may do. */
export function SystemScreen() {
  const t = useTexts()
  const may = useMay()
  const query = useSystem('status')
  return (
    <Page title={t.sections.system} lead={t.system.lead} actions={<Diagnosis status={query.data} />}>
      <Answer action="readStatus" query={query}>
        {(answers) => (
          <>
            <Processes answers={answers} />
            <Warnings answers={answers} />
          </>
        )}
      </Answer>
      {may('readDrift') && <FileDrift />}
      {may('readStorage') && <Storage />}
      {may('readConfig') && <Configuration />}
      <Person />
    </Page>
  )
}

/** All that was answered, which holds no secret. */
function Diagnosis({ status }: { status: SystemAnswer<SystemStatus> | undefined }) {
  const t = useTexts()
  const value = JSON.stringify({ at: new Date().toISOString(), status }, undefined, 2)
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? t.common.copied : t.system.copy}
        </Button>
      )}
    </CopyButton>
  )
}

function Processes({ answers }: { answers: SystemAnswer<SystemStatus> }) {
  const t = useTexts()
  const words = t.system
  return (
    <Rows
      label={words.processes}
      rows={answers}
      keyOf={({ services }) => services.join()}
      columns={[
        { label: words.services, render: ({ services, answer }) => <Words values={answer?.services ?? services} /> },
        { label: words.status, render: (process) => <Status process={process} /> },
        { label: words.engines, render: ({ answer }) => answer && <Engines engines={answer.engines} /> },
        { label: words.version, render: ({ answer }) => answer && `${answer.version} (Node ${answer.node})` },
        { label: words.started, render: ({ answer }) => <Time at={answer?.started_at} /> },
      ]}
    />
  )
}

function Status({ process: { answer, problem } }: { process: ProcessAnswer<SystemStatus> }) {
  const t = useTexts()
  if (answer === undefined) return <State tone="bad">{problem?.detail ?? t.system.unreachable}</State>
  const { status } = answer
  const tone = status === 'ready' ? 'good' : status === 'degraded' ? 'careful' : 'bad'
  return <State tone={tone}>{status}</State>
}

function Engines({ engines }: Pick<SystemStatus, 'engines'>) {
  return (
    <Stack gap={4} align="flex-start">
      {engines.map(({ name, state, kind }) => (
        <State key={name} tone={state === 'ok' ? 'good' : 'bad'}>
          {kind === undefined ? name : `${name}: ${kind}`} {state === 'ok' ? '' : state}
        </State>
      ))}
    </Stack>
  )
}

function Warnings({ answers }: { answers: SystemAnswer<SystemStatus> }) {
  const t = useTexts()
  const paths = new Set(useSections().map(({ path }) => path))
  const warnings = gather(answers, (answer) => answer.warnings)
  return (
    <Figures title={t.system.warnings}>
      {warnings.length === 0 ? (
        <State tone="good">{t.overview.calm}</State>
      ) : (
        <WarningList warnings={warnings} paths={paths} />
      )}
      <Text size="sm">
        <Link to="/start">{t.sections.start}</Link>
      </Text>
    </Figures>
  )
}

function Configuration() {
  const t = useTexts()
  const query = useSystem('config')
  return (
    <Figures title={t.system.configuration} note={t.system.configurationNote}>
      <Answer action="readConfig" query={query}>
        {(answers) => answers.map((process) => <Values key={process.services.join()} process={process} />)}
      </Answer>
    </Figures>
  )
}

function Values({
  process: { services, answer, problem },
}: {
  process: ProcessAnswer<{ items: readonly EffectiveValue[] }>
}) {
  const t = useTexts()
  const words = t.system
  const [text, setText] = useState('')
  if (answer === undefined)
    return (
      <Text size="sm">
        {services.join(', ')}: {problem?.detail}
      </Text>
    )
  const wanted = text.trim().toLowerCase()
  const rows = answer.items.filter(({ name }) => name.toLowerCase().includes(wanted))
  return (
    <Stack gap="xs">
      <TextInput
        label={`${words.find} (${services.join(', ')})`}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        maw={360}
      />
      {rows.length === 0 ? (
        <Empty text={t.states.noMatch} />
      ) : (
        <Rows
          label={words.configuration}
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { label: words.name, render: ({ name }) => name },
            { label: words.value, render: (value) => <Value value={value} /> },
            { label: words.origin, render: ({ origin }) => words.origins[origin as keyof typeof words.origins] },
          ]}
        />
      )}
    </Stack>
  )
}

function Value({ value: { value, secret } }: { value: EffectiveValue }) {
  const t = useTexts()
  if (!secret) return String(value)
  return <State tone={value === 'set' ? 'good' : 'neutral'}>{value === 'set' ? t.system.set : t.system.unset}</State>
}

function Person() {
  const t = useTexts()
  const session = useSession()
  return (
    <Stack component="section" className="panel" aria-label={t.system.you}>
      <Title order={2} size="h4">
        {t.system.you}
      </Title>
      <Facts
        facts={[
          [t.system.you, session.user],
          [t.users.roles, <Words key="roles" values={session.roles} />],
          [t.system.until, <Time key="until" at={session.expires_at} />],
        ]}
      />
      <Facts facts={[[t.system.scopes, <Words key="scopes" values={session.scopes} />]]} />
    </Stack>
  )
}
