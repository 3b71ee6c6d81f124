import type { SetupStep } from '@gatehouse/client'
import { Anchor, Button, Code, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMay } from '../../api/session.tsx'
import { gather, type SystemAnswer, useSystem } from '../../api/system.ts'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { Id, State, Time } from '../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../texts/settings.tsx'
import { FirstClient } from './first-client.tsx'

/** The order of the steps. */
const order = [
  'first_notification',
  'own_client',
  'sign_in',
  'protected_route',
  'limits',
  'providers',
  'webhook',
  'second_owner',
  'engines',
  'key_and_backup',
] as const

/** What there is to do until the installation serves, with what shows that it is done. */
export function StartScreen() {
  const t = useTexts()
  const { settings, change } = useSettings()
  const query = useSystem('setup')
  return (
    <Page
      title={t.sections.start}
      lead={t.start.lead}
      actions={
        <Button variant="default" onClick={() => change({ showsStart: !settings.showsStart })}>
          {settings.showsStart ? t.start.hide : t.start.show}
        </Button>
      }
    >
      <Answer action="readSetup" query={query}>
        {(answers) => <Steps answers={answers} />}
      </Answer>
    </Page>
  )
}

function Steps({ answers }: { answers: SystemAnswer<{ items: readonly SetupStep[] }> }) {
  const t = useTexts()
  const found = joined(gather(answers, ({ items }) => items))
  const steps = order.flatMap((id) => found.find((step) => step.id === id) ?? [])
  const done = steps.filter((step) => step.done).length
  return (
    <Stack gap="md">
      <div>
        <Text size="sm" mb={6}>
          {t.start.progress(done, steps.length)}
        </Text>
        <Progress value={(100 * done) / Math.max(1, steps.length)} aria-label={t.sections.start} />
      </div>
      <ol className="steps">
        {steps.map((step) => (
          <Step key={step.id} step={step} />
        ))}
      </ol>
      {answers
        .filter(({ answer }) => answer === undefined)
        .map(({ services, problem }) => (
          <Text key={services.join()} size="sm" c="dimmed">
            {services.join(', ')}: {problem?.detail}
          </Text>
        ))}
    </Stack>
  )
}

/** Processes of the same installation say the same of it; what one of them knows to be done is. */
function joined(steps: readonly SetupStep[]): SetupStep[] {
  const groups = Map.groupBy(steps, ({ id }) => id)
  return [...groups.values()].flatMap((some) => some.find(({ done }) => done) ?? some.slice(0, 1))
}

function Step({ step: { id, done, evidence } }: { step: SetupStep }) {
  const t = useTexts()
  const may = useMay()
  const words = t.start.steps[id as keyof typeof t.start.steps]
  if (words === undefined) return null
  const shown = Object.entries(evidence).filter(([, value]) => !Array.isArray(value) || value.length > 0)
  return (
    <li className={done ? 'step done panel' : 'step panel'}>
      <div className="step-head">
        <strong>{words.title}</strong>
        <State tone={done ? 'good' : 'neutral'}>{done ? t.start.done : t.start.open}</State>
      </div>
      <Text size="sm">{words.text}</Text>
      {id === 'first_notification' && <FirstClient />}
      {id === 'own_client' && !done && (
        <Anchor component={Link} to="/new-client" size="sm">
          {t.clients.create}
        </Anchor>
      )}
      {!done && 'command' in words && !(id === 'first_notification' && may('createClient')) && (
        <Id value={words.command}>
          <Code block>{words.command}</Code>
        </Id>
      )}
      {shown.length > 0 && (
        <dl className="evidence">
          {shown.map(([name, value]) => (
            <div key={name}>
              <dt>{t.start.evidence[name as keyof typeof t.start.evidence] ?? name}</dt>
              <dd>{formatEvidence(value, t.common)}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}

function formatEvidence(value: SetupStep['evidence'][string], { yes, no }: { yes: string; no: string }): ReactNode {
  if (typeof value === 'boolean') return value ? yes : no
  if (Array.isArray(value)) return value.join(', ')
  return /^\d{4}-\d\d-\d\dT/.test(String(value)) ? <Time at={String(value)} /> : String(value)
}
